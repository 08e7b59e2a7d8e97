"""Training from Python with nothing but NumPy: arrays, files, batches; budgets; what is refused; processes and threads."""

import gc
import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import plimsoll
from plimsoll import _native

SANITIZED = "libasan" in os.environ.get("LD_PRELOAD", "")


def digits(count=96, seed=0):
    """Images that a small network can learn."""
    generator = np.random.default_rng(seed)
    labels = generator.integers(0, 10, count)
    x = generator.normal(size=(count, 784)).astype("f4") * 0.1
    x[np.arange(count), labels * 70] += 3
    return x, labels


def small(**options):
    return plimsoll.Trainer("mlp", **dict(dict(batch=16, width=16, threads=2, learning_rate=1e-2), **options))


def test_arrays_train_evaluate_and_predict():
    x, y = digits()
    trainer = small()
    history = trainer.fit((x, y), epochs=5, validation=digits(32, 1), verbose=0)
    assert history.epoch == list(range(5)) and len(history.history["val_accuracy"]) == 5
    assert history.history["loss"][-1] < history.history["loss"][0]
    scores = trainer.predict(x)
    assert scores.shape == (96, 10)
    measured = trainer.evaluate((x, y))
    assert measured["accuracy"] == pytest.approx((scores.argmax(1) == y).mean())
    shifted = scores - scores.max(1, keepdims=True)
    losses = np.log(np.exp(shifted).sum(1)) - shifted[np.arange(96), y]
    assert measured["loss"] == pytest.approx(losses.mean(), rel=1e-4)


def test_a_batch_of_python_is_the_same_step():
    x, y = digits(64)
    one, two = small(seed=3), small(seed=3)
    one.fit((x, y), shuffle=False, verbose=0)
    two.fit([(x[i:i + 16], y[i:i + 16]) for i in range(0, 64, 16)], verbose=0)
    for name, value in one.state_dict().items():
        assert np.array_equal(value, two.state_dict()[name]), name


def test_weights_of_samples_multiply_their_losses():
    x, y = digits(64)
    weights = np.random.default_rng(0).uniform(0, 2, 64)
    trainer = small()
    scores = trainer.predict(x)
    losses = np.log(np.exp(scores).sum(1)) - scores[np.arange(64), y]
    assert trainer.evaluate((x, y, weights))["loss"] == pytest.approx((losses * weights).mean(), rel=1e-4)
    assert trainer.evaluate([(x, y, weights)])["loss"] == pytest.approx((losses * weights).mean(), rel=1e-4)
    assert trainer.evaluate((x, y))["loss"] == pytest.approx(losses.mean(), rel=1e-4)
    by_arrays, by_batches, by_name, plain = (small(seed=3) for _ in range(4))
    by_arrays.fit((x, y), sample_weight=weights, shuffle=False, verbose=0)
    by_batches.fit([(x[i:i + 16], y[i:i + 16], weights[i:i + 16]) for i in range(0, 64, 16)], verbose=0)
    by_name.fit({by_name.inputs[0]: x, "target": y, "sample_weight": weights}, shuffle=False, verbose=0)
    plain.fit((x, y), shuffle=False, verbose=0)
    for name, value in by_arrays.state_dict().items():
        assert np.array_equal(value, by_batches.state_dict()[name]) and np.array_equal(value, by_name.state_dict()[name])
        assert not np.array_equal(value, plain.state_dict()[name])
    plain.fit((x, y), sample_weight=np.ones(64), shuffle=False, verbose=0)  # goes on with the same weights and counters
    assert plain.updates == 8


@pytest.mark.parametrize("weights,error,words", [
    (np.ones(63), ValueError, "sample_weight has 63 samples, the target has 64"), (2.0, ValueError, "single number"),
    (np.ones((64, 2)), ValueError, r"shape \(64, 2\), and the targets are \(64,\)"), (np.array(["a"] * 64), TypeError, "numbers"),
    (np.full(64, np.nan), ValueError, "NaN in 'plimsoll.sample_weights'")])
def test_weights_that_do_not_fit_are_refused(weights, error, words):
    x, y = digits(64)
    trainer = small()
    with pytest.raises(error, match=words):
        trainer.fit((x, y), sample_weight=weights, verbose=0)
    trainer.fit((x, y), verbose=0)


def test_arrays_are_read_where_they_are():
    x, y = digits(64)
    x[:] = 0
    trainer = small(optimizer="sgd", learning_rate=1e-30)
    source = _native.Data.arrays([("image", x, False), ("target", y, True)], batch=16, epochs=1, in_order=1)
    trainer.fit([(x[:16], y[:16])], verbose=0)
    before = trainer._native.evaluate(source)["loss"]
    x[:] = 5  # no copy was made: the library sees it
    source.seek(0, 0)
    assert trainer._native.evaluate(source)["loss"] != before


class Tensor:
    """An array of another library: nothing but DLPack."""

    def __init__(self, array):
        self.array, self.shape, self.dtype = array, array.shape, array.dtype

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_dlpack_and_buffers_cross_without_a_copy():
    from plimsoll._arrays import for_field, to_numpy
    x, y = digits(32)
    field = ("image", "float32", (1, 28, 28), False, 0)
    assert np.shares_memory(for_field(x[:16], field), x)
    assert np.shares_memory(to_numpy(memoryview(x)), x)
    if hasattr(np, "from_dlpack"):
        assert np.shares_memory(to_numpy(Tensor(x)), x)
        trainer = small()
        trainer.fit((Tensor(x), Tensor(y)), verbose=0)
        assert trainer.updates == 2


@pytest.mark.parametrize("kind", ["list", "generator", "callable", "dict", "sequence", "memoryview", "float64"])
def test_data_of_every_kind(kind):
    x, y = digits(40)
    batches = [(x[i:i + 16], y[i:i + 16]) for i in range(0, 40, 16)]

    class Samples:
        def __len__(self):
            return 40

        def __getitem__(self, index):
            return x[index], y[index]
    data = {"list": lambda: batches, "generator": lambda: iter(batches), "callable": lambda: (lambda: iter(batches)),
            "dict": lambda: {"image": x, "label": y}, "sequence": Samples,
            "memoryview": lambda: (memoryview(x), memoryview(y)),
            "float64": lambda: (x.astype("f8"), y.astype("i4"))}[kind]()
    trainer = small()
    trainer.fit(data, epochs=1, verbose=0)
    assert trainer.updates == 3


def test_a_short_batch_may_come_first():
    x, y = digits(40)
    sizes = [(0, 8), (8, 24), (24, 40)]
    one, two = small(seed=1), small(seed=1)
    one.fit([(x[a:b], y[a:b]) for a, b in sizes], verbose=0)
    two._make(16, {"irregular_batches": 1})
    two.fit([(x[a:b], y[a:b]) for a, b in sizes], verbose=0)
    assert one.updates == two.updates == 3
    for mine, right in zip(one.get_weights(), two.get_weights()):
        np.testing.assert_allclose(mine, right, atol=1e-6)


def test_what_was_trained_survives_a_batch_that_does_not_fit():
    trainer = small(width=64, threads=1)
    trainer.fit(digits(32), verbose=0)
    weights, updates = trainer.get_weights(), trainer.updates
    trainer._options["budget"] = 1 << 20
    with pytest.raises(plimsoll.BudgetError):
        trainer.fit(digits(32), batch=32, verbose=0)
    assert trainer.updates == updates
    assert all(np.array_equal(a, b) for a, b in zip(weights, trainer.get_weights()))


def test_a_file_and_its_share_for_validation(tmp_path):
    x, y = digits(80)
    np.savez(tmp_path / "data.npz", image=x, label=y)
    trainer = small()
    history = trainer.fit(tmp_path / "data.npz", epochs=2, validation=0.25, verbose=0)
    assert trainer.updates == 2 * 4 and "val_loss" in history.history


EXPORTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "run", "exports")


def test_what_an_exporter_lost_is_a_warning_at_the_users_line():
    with pytest.warns(UserWarning, match="norms_trained.onnx") as seen:
        plimsoll.Trainer(os.path.join(EXPORTS, "norms_trained.onnx"))
    assert seen[0].filename == __file__


def test_a_batch_that_is_part_of_a_file_is_opened():
    trainer = plimsoll.Trainer(os.path.join(EXPORTS, "baked.onnx"), loss="mse", optimizer="sgd", batch=6)
    x = np.random.default_rng(0).normal(size=(18, 1, 4, 4)).astype("f4")
    y = np.zeros((18,) + trainer.predict(x).shape[1:], "f4")
    trainer.fit((x, y), verbose=0)
    assert trainer.updates == 3


def test_an_onnx_file_goes_in_and_out(tmp_path):
    _native.Graph.zoo("lenet").save(tmp_path / "lenet.onnx")
    trainer = plimsoll.Trainer(tmp_path / "lenet.onnx", batch=4, optimizer="sgd")
    name, _, shape = trainer._need_graph().inputs()[0]
    x = np.random.default_rng(0).normal(size=[8] + shape[1:]).astype("f4")
    trainer.fit({name: x, "label": np.arange(8) % 10}, verbose=0)
    trainer.save(tmp_path / "trained.onnx")
    trainer.save(tmp_path / "trained.safetensors")
    again = plimsoll.Trainer(str(tmp_path / "trained.onnx"), batch=4)
    np.testing.assert_allclose(again.predict(x), trainer.predict(x), atol=1e-6)


def test_the_budget_holds_and_names_what_does_not_fit(tmp_path):
    code = """
        import numpy as np, plimsoll
        from plimsoll import _native
        _native.prepare(2)
        budget = _native.resident()[0] + (90 << 20)
        trainer = plimsoll.Trainer("mlp", batch=256, width=64, budget=budget, threads=2, optimizer="sgd")
        shape = trainer._need_graph().inputs()[0][2]
        x = np.zeros([512] + shape[1:], np.uint8)
        trainer.fit((x, np.arange(512) % 10), verbose=0, validation=(x[:64], np.arange(64) % 10))
        print(budget, _native.resident()[1], trainer.stats["process_bytes"])
        try:
            plimsoll.Trainer("mlp", budget=20 << 20).fit((x, np.arange(512) % 10), verbose=0)
        except plimsoll.BudgetError as error:
            assert isinstance(error, MemoryError) and "smallest budget" in str(error) and "NumPy" in str(error), error
            print("refused")
    """
    if SANITIZED:
        pytest.skip("the sanitizer's own memory is not the budget's")
    file = tmp_path / "budget.py"
    file.write_text(textwrap.dedent(code))
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.split("\n")
    budget, peak, planned = map(int, lines[0].split())
    assert peak <= budget and planned <= budget and lines[1] == "refused"


def test_a_plan_prints_and_shows():
    trainer = small()
    plan = trainer.plan()
    assert plan.fits and plan.process_bytes > plan.arena_bytes > 0
    assert "resident before training" in str(plan) and "NumPy" in str(plan)
    assert "<iframe" in plan._repr_html_()
    assert not small(budget="1MiB").plan(page=False).fits


# --- callbacks, progress, interruption --------------------------------------------------------------------------------

def test_callbacks_are_called_as_by_keras():
    seen = []

    class Callback:
        def __getattr__(self, name):
            if not name.startswith("on_"):
                raise AttributeError(name)
            return lambda *args: seen.append((name, args[0] if args else None))

        def set_model(self, model):
            self.trainer = model

        def on_train_batch_end(self, batch, logs):
            assert "loss" in logs
            seen.append(("on_train_batch_end", batch))

        def on_epoch_end(self, epoch, logs):
            seen.append(("on_epoch_end", epoch))
            self.trainer.state_dict()  # the trainer can be used between epochs
            self.trainer.stop_training = epoch == 1
    x, y = digits(32)
    trainer = small()
    history = trainer.fit((x, y), epochs=5, callbacks=[Callback()], verbose=0)
    assert history.epoch == [0, 1]
    names = [name for name, _ in seen]
    assert names[0] == "on_train_begin" and names[-1] == "on_train_end"
    assert names.count("on_train_batch_end") == 4 and names.count("on_epoch_begin") == 2


def test_an_exception_of_a_callback_comes_out():
    def fail(_epoch, _logs):
        raise ZeroDivisionError("mine")
    trainer = small()
    with pytest.raises(ZeroDivisionError):
        trainer.fit(digits(), callbacks=fail, verbose=0)
    trainer.fit(digits(), verbose=0)  # and it can go on
    with pytest.raises(TypeError):
        trainer.fit(digits(), callbacks=[3], verbose=0)


def test_patience_ends_and_the_best_is_saved(tmp_path):
    x, y = digits()
    trainer = small(optimizer="sgd", learning_rate=1e-30)
    history = trainer.fit((x, y), epochs=20, validation=(x, y), patience=2, best=tmp_path / "best.onnx", verbose=0)
    assert len(history.epoch) == 3 and (tmp_path / "best.onnx").exists()


def test_progress_is_a_line_an_epoch_elsewhere(capsys):
    small().fit(digits(), epochs=2)
    lines = capsys.readouterr().out.strip().split("\n")
    assert len(lines) == 2 and lines[1].startswith("epoch 2/2") and "loss" in lines[1]


@pytest.mark.frameworks
def test_tables_are_data_and_a_history_is_one():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    x, y = pandas.DataFrame(np.random.randn(32, 784)), pandas.Series(np.arange(32) % 10)
    one, two = (plimsoll.Trainer("mlp", width=4, batch=8, threads=1) for _ in range(2))
    history = one.fit((x, y), epochs=2, verbose=0)
    two.fit((np.ascontiguousarray(x, "f4"), y.to_numpy()), epochs=2, verbose=0)
    np.testing.assert_allclose(one.predict(x), two.predict(np.ascontiguousarray(x, "f4")), atol=1e-6)
    table = history.to_frame()
    assert list(table.index) == [0, 1] and list(table["loss"]) == history.history["loss"]


@pytest.mark.frameworks
def test_bars_of_tqdm_and_ours_know_of_each_other(tmp_path):
    pytest.importorskip("tqdm", reason="tqdm is not installed")
    file = tmp_path / "program.py"
    file.write_text("import tqdm, numpy as np, plimsoll\n"
                    "for _ in tqdm.tqdm(range(2), desc='trials'):\n"
                    "    trainer = plimsoll.Trainer('mlp', width=4, batch=8)\n"
                    "    trainer.fit((np.zeros((64, 784), 'f4'), np.arange(64) % 10), epochs=2, verbose=1)\n")
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, timeout=120, check=True)
    lines = done.stdout.replace("\r", "\n").split("\n")
    assert sum(line.startswith("epoch 2/2  loss") for line in lines) == 2 and "trials: 100%" in done.stderr


@pytest.mark.parametrize("kind", ["arrays", "batches"])
def test_ctrl_c_is_keyboard_interrupt_with_everything_saved(kind, tmp_path):
    code = """
        import numpy as np, os, plimsoll, signal, sys
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
        x, y = np.zeros((4096, 784), "f4"), np.arange(4096) % 10
        trainer = plimsoll.Trainer("mlp", batch=16, threads=1)
        data = (x, y) if sys.argv[1] == "arrays" else [(x[:16], y[:16])] * 256
        class Ready:
            def on_train_batch_end(self, batch, logs):
                if batch == 3 and not os.path.exists("ready"):
                    open("ready", "w").close()
            def on_epoch_end(self, epoch, logs):
                pass
        try:
            trainer.fit(data, epochs=10000, checkpoint="run.checkpoint", verbose=0, callbacks=Ready())
        except KeyboardInterrupt:
            print("interrupted", trainer.updates, os.path.getsize("run.checkpoint") > 0)
            again = plimsoll.Trainer("mlp", batch=16, threads=1)
            again.fit(data, epochs=1, steps=trainer.updates, checkpoint="run.checkpoint", resume=True, verbose=0)
            same = all(np.array_equal(a, b) for a, b in zip(trainer.get_weights(), again.get_weights()))
            print(same)
    """
    file = tmp_path / "program.py"
    file.write_text(textwrap.dedent(code))
    child = subprocess.Popen([sys.executable, str(file), kind], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             cwd=tmp_path)
    for _ in range(600):
        if (tmp_path / "ready").exists() or child.poll() is not None:
            break
        time.sleep(0.1)
    child.send_signal(signal.SIGINT)
    try:
        out, err = child.communicate(timeout=120)
    finally:
        child.kill()
    assert out.startswith("interrupted") and "True" in out.split("\n")[0], out + err
    if kind == "arrays":
        assert out.split("\n")[1] == "True", out + err


@pytest.mark.parametrize("kind", ["arrays", "batches"])
def test_a_checkpoint_is_written_epoch_after_epoch_and_never_over_another(kind, tmp_path):
    x, y = digits(64)
    data = (x, y) if kind == "arrays" else [(x[:16], y[:16])] * 4
    trainer, path = small(), str(tmp_path / "run")
    assert len(trainer.fit(data, epochs=3, checkpoint=path, verbose=0).epoch) == 3
    before = open(path, "rb").read()
    with pytest.raises(ValueError, match="already"):
        small().fit(data, epochs=3, checkpoint=path, verbose=0)
    assert open(path, "rb").read() == before
    again = small()
    again.fit(data, epochs=5, checkpoint=path, resume=True, verbose=0)
    assert again.updates == 20


def test_a_checkpoint_of_batches_goes_on_exactly(tmp_path):
    x, y = digits(64)
    batches = [(x[i:i + 16], y[i:i + 16]) for i in range(0, 64, 16)]
    whole = small()
    whole.fit(batches, epochs=4, verbose=0)
    small().fit(batches, epochs=2, checkpoint=tmp_path / "c.npz", verbose=0)
    rest = small()
    rest.fit(batches, epochs=4, checkpoint=tmp_path / "c.npz", resume=True, verbose=0)
    assert rest.updates == 16
    for one, two in zip(whole.get_weights(), rest.get_weights()):
        assert np.array_equal(one, two)
    with pytest.raises(ValueError, match="another model"):
        small(optimizer="sgd").fit(batches, checkpoint=tmp_path / "c.npz", resume=True, verbose=0)


def test_fp16_skips_what_overflows_and_a_checkpoint_remembers_the_scale(tmp_path):
    x, y = digits(64)
    batches = [(x[i:i + 16] * np.float32(1e8 if i == 16 else 1), y[i:i + 16]) for i in range(0, 64, 16)]
    whole = small(precision="fp16")
    whole.fit(batches, epochs=4, verbose=0)
    small(precision="fp16").fit(batches, epochs=2, checkpoint=tmp_path / "c.npz", verbose=0)
    rest = small(precision="fp16")
    rest.fit(batches, epochs=4, checkpoint=tmp_path / "c.npz", resume=True, verbose=0)
    assert whole._native.progress() == rest._native.progress() == (16, 4, 0, 2, 65536 / 2 ** 4)
    for one, two in zip(whole.get_weights(), rest.get_weights()):
        assert np.array_equal(one, two)


# --- what is refused -----------------------------------------------------------------------------------------------------

class ForeignDevice:
    shape, dtype = (16, 784), np.dtype("f4")

    def __dlpack__(self, **_):
        raise AssertionError("its memory must not be read")

    def __dlpack_device__(self):
        return (2, 0)  # CUDA


def wrong(kind):
    x, y = digits(32)
    return {"shape": (x[:, :100].copy(), y), "dtype": (x.astype("c8"), y), "objects": (x.astype(object), y),
            "texts": (np.array(["a"] * 32), y), "not contiguous": (np.asfortranarray(x), y),
            "strided": (np.zeros((64, 784), "f4")[::2], y), "empty": (x[:0], y[:0]), "number": (np.float32(3), y),
            "lengths": (x, y[:20]), "float labels": [(x[:16], y[:16].astype("f4"))], "labels": (x, y + 100),
            "one": (x,), "three": [(x, x, y)], "four": [(x, x, x, y)], "foreign": (ForeignDevice(), y), "nan": (x * np.nan, y),
            "nothing": [], "object": object(), "batch lengths": [(x[:16], y[:8])],
            "rows": (list(x), y), "other rows": [(x[:16], y[:16]), (x[:16, :5], y[:16])],
            "path": "there/is/nothing.npz", "float labels in arrays": (x, y.astype("f4")),
            "one-hot": (x, np.eye(10, dtype="f4")[y]), "whole numbers": ((x * 50).astype("i4"), y),
            "lists": (x[:4].tolist(), y[:4].tolist())}[kind]


@pytest.mark.parametrize("kind,error,words", [
    ("shape", ValueError, "28"), ("dtype", TypeError, "complex|kind"), ("objects", TypeError, "object"),
    ("texts", TypeError, "numbers"), ("not contiguous", ValueError, "contiguous"), ("strided", ValueError, "contiguous"),
    ("empty", ValueError, "empty"), ("number", ValueError, "single number"), ("lengths", ValueError, "32"),
    ("float labels", TypeError, "int64"), ("labels", ValueError, "class|label"), ("one", ValueError, "targets"),
    ("three", TypeError, "'target' is float32; the model needs int64"), ("four", ValueError, "2 arrays"),
    ("foreign", ValueError, "another device"), ("nan", ValueError, "finite|nan"),
    ("nothing", ValueError, "empty"), ("object", TypeError, "cannot train"), ("batch lengths", ValueError, "samples"),
    ("rows", TypeError, "numpy.stack"), ("other rows", plimsoll.ShapeError, "16 samples of"),
    ("path", (OSError, LookupError), "nothing"), ("float labels in arrays", TypeError, "int64"),
    ("one-hot", TypeError, "argmax"), ("whole numbers", TypeError, "float32"), ("lists", TypeError, "asarray")])
def test_bad_data_is_an_exception_of_the_right_class(kind, error, words):
    trainer = small()
    with pytest.raises(error, match="(?i)" + words):
        trainer.fit(wrong(kind), verbose=0)
    trainer.fit(digits(32), verbose=0)  # the trainer is as good as before


def test_read_only_arrays_are_fine_and_outputs_need_memory_that_can_be_written():
    x, y = digits(32)
    x.flags.writeable = y.flags.writeable = False
    trainer = small()
    trainer.fit((x, y), verbose=0)
    trainer.fit([(x[:16], y[:16])], verbose=0)
    index = 0
    array = np.empty(trainer._native.tensors()[index][3], "f4")
    array.flags.writeable = False
    with pytest.raises(ValueError, match="written"):
        trainer._native.read(index, array)


@pytest.mark.parametrize("options,error", [
    ({"loss": "perceptual"}, ValueError), ({"optimizer": "magic"}, ValueError), ({"optimizer": 3}, TypeError),
    ({"batch": 0}, ValueError), ({"batch": True}, ValueError), ({"batch": 1.5}, ValueError), ({"allow": "all"}, ValueError),
    ({"unknown_option": 3}, TypeError), ({"threads": -1}, ValueError), ({"learning_rate": float("nan")}, ValueError),
    ({"learning_rate": "fast"}, plimsoll.InvalidError),
    ({"freeze": ["nothing.*"]}, LookupError)])
def test_options_that_make_no_sense_are_refused(options, error):
    with pytest.raises(error):
        small(**options).fit(digits(32), verbose=0)


@pytest.mark.parametrize("options,known", [({"precision": "float3"}, "bf16"), ({"allow": "everything"}, "lossy"), ({"base": "int3"}, "nf4"),
                                           ({"precision": 16}, "fp16")])
def test_a_word_that_is_none_of_its_options_is_refused_at_once_with_those_that_are(options, known):
    with pytest.raises(plimsoll.InvalidError, match="not known.*" + known):
        small(**options)


@pytest.mark.parametrize("model,error", [("no-such-network", plimsoll.NoFileError), ("none.onnx", plimsoll.NoFileError),
                                         (3, TypeError), (None, TypeError), (np.zeros(3), TypeError)])
def test_what_is_no_model_is_refused(model, error):
    with pytest.raises(error):
        plimsoll.Trainer(model)


def test_a_file_that_is_not_there_is_also_pythons_own_error():
    with pytest.raises(FileNotFoundError, match="nowhere.npz"):
        small().fit("nowhere.npz", verbose=0)
    with pytest.raises(LookupError) as other:
        plimsoll.Trainer("mlp", freeze=["nothing.*"]).plan(page=False)
    assert not isinstance(other.value, FileNotFoundError)


@pytest.mark.parametrize("budget,error,words", [
    ("lots", plimsoll.InvalidError, "lots"), ("0", plimsoll.InvalidError, "none"), (0, plimsoll.InvalidError, "none"),
    (-5, plimsoll.InvalidError, "none"), ("-1GiB", plimsoll.InvalidError, "-1GiB"), (1.5, TypeError, "float"),
    ("10 bananas", plimsoll.InvalidError, "bananas"), (1 << 80, plimsoll.SizeOverflowError, "more than any machine"), ("", plimsoll.InvalidError, "number of bytes"),
    (True, TypeError, "bool"), ([1], TypeError, "list"), ("99999999999999TiB", (ValueError, OverflowError), "TiB")])
def test_a_budget_that_is_none_is_refused_with_the_librarys_message(budget, error, words):
    with pytest.raises(error, match=words):
        plimsoll.Trainer("mlp", budget=budget)


class OfGpu:
    """As CuPy's arrays are seen from outside."""

    shape, dtype = (32, 784), np.dtype("f4")
    __cuda_array_interface__ = {"shape": (32, 784), "typestr": "<f4", "data": (4096, False), "version": 3}

    def __len__(self):
        return 32


@pytest.mark.parametrize("change,error,words", [
    (lambda x: x.astype("c8"), plimsoll.DtypeError, "complex64: real numbers"),
    (lambda x: x.astype(object), plimsoll.DtypeError, "object"), (lambda x: x.astype("U3"), plimsoll.DtypeError, "<U3"),
    (lambda x: x.astype(">f4"), plimsoll.InvalidError, "byte order"), (lambda x: x[:, ::-1], plimsoll.InvalidError, "contiguous"),
    (lambda x: x[:0], plimsoll.InvalidError, "empty"), (lambda x: x[:, :700].copy(), plimsoll.ShapeError, "700"),
    (lambda x: OfGpu(), plimsoll.InvalidError, "memory of a GPU")])
def test_arrays_that_cannot_be_taken_are_refused_by_name_or_kind(change, error, words):
    x, y = digits(32)
    with pytest.raises(error, match=words):
        small().fit((change(x), y), verbose=0)


def test_a_file_that_is_no_model_is_corrupt(tmp_path):
    (tmp_path / "bad.onnx").write_bytes(b"\xff" * 300)
    with pytest.raises(plimsoll.CorruptError):
        plimsoll.Trainer(tmp_path / "bad.onnx")


@pytest.mark.parametrize("epochs", [0, -1, 1.5, True])
def test_epochs_are_whole_numbers(epochs):
    with pytest.raises(ValueError):
        small().fit(digits(32), epochs=epochs)


@pytest.mark.parametrize("options,error,words", [
    ({"batch": 0}, ValueError, "batch"), ({"batch": "8"}, ValueError, "batch"), ({"steps": -1}, ValueError, "steps"),
    ({"batchsize": 8}, TypeError, "batchsize"), ({"validation": 2}, TypeError, "int"), ({"validation": 1.5}, ValueError, "share"),
    ({"resume": True}, ValueError, "checkpoint")])
def test_options_of_fit_that_make_no_sense_are_refused(options, error, words):
    with pytest.raises(error, match=words):
        small().fit(digits(32), verbose=0, **options)


@pytest.mark.parametrize("options,meant", [({"batch_size": 8}, "batch"), ({"lr": 0.1}, "learning_rate"),
                                           ({"weight_decays": 0.1}, "weight_decay"), ({"frezze": ["a"]}, "freeze")])
def test_a_mistyped_option_is_refused_at_once_and_the_right_one_named(options, meant):
    with pytest.raises(TypeError, match="'%s' meant" % meant):
        plimsoll.Trainer("mlp", **options)


@pytest.mark.parametrize("options,meant", [({"batch_size": 8}, "batch"), ({"validation_data": 0.1}, "validation"),
                                           ({"epoch": 3}, "epochs")])
def test_a_mistyped_option_of_fit_is_refused_and_the_right_one_named(options, meant):
    x, y = digits(32)
    for data in ((x, y), [(x[:16], y[:16])]):
        with pytest.raises(TypeError, match="'%s' meant" % meant):
            small().fit(data, verbose=0, **options)


def test_a_generator_that_is_used_up_says_so():
    x, y = digits(32)
    trainer = small()
    with pytest.warns(UserWarning, match="used up after 1 of 3 epochs"):
        trainer.fit(((x[i:i + 16], y[i:i + 16]) for i in (0, 16)), epochs=3, verbose=0)
    assert trainer.updates == 2


def test_inputs_and_targets_are_one_argument():
    x, y = digits(32)
    with pytest.raises(TypeError, match=r"fit\(\(inputs, targets\)\)"):
        small().fit(x, y)
    trainer = small()
    trainer.fit([x, y], validation=[x, y], verbose=0)  # as Keras' lists
    assert trainer.updates == 2


def test_saving_where_nothing_can_be_written_is_refused(tmp_path):
    trainer = small()
    trainer.fit(digits(32), verbose=0)
    with pytest.raises((OSError, ValueError, LookupError)):
        trainer.save(tmp_path / "no" / "such" / "folder.onnx")
    with pytest.raises((OSError, ValueError, LookupError)):
        trainer.fit(digits(32), validation=0.5, best=tmp_path / "no" / "best.onnx")


def test_a_closed_trainer_says_so():
    trainer = small()
    trainer.fit(digits(32), verbose=0)
    native = trainer._native
    trainer.close()
    with pytest.raises(RuntimeError, match="closed"):
        native.stats()
    for use in (lambda: trainer.fit(digits(32)), lambda: trainer.predict(digits(32)[0]), trainer.plan, trainer.state_dict):
        with pytest.raises(RuntimeError, match="closed"):
            use()
    trainer.close()


# --- many objects, threads, processes ------------------------------------------------------------------------------------

def test_ten_thousand_objects_are_freed():
    graph = _native.Graph.zoo("mlp", width=4)
    x, y = digits(8)

    def cycle(count):
        for _ in range(count):
            _native.Data.arrays([("image", x, False), ("target", y, True)], batch=4)
            g = _native.Graph()
            g.constant("c", x)
            with pytest.raises(ValueError):
                _native.bytes_parse("lots")
        for _ in range(count // 100):
            _native.Explanation(b"CUDA out of memory. Tried to allocate 2.00 GiB")
            _native.Trainer(graph, batch=4, threads=1)
        gc.collect()
    cycle(500)
    before = _native.resident()[0]
    cycle(10000 if not SANITIZED else 1000)
    grown = _native.resident()[0] - before
    assert grown < (24 << 20 if not SANITIZED else 400 << 20), grown


def test_arrays_are_released_with_their_data():
    x, y = digits(8)
    before = sys.getrefcount(x)
    data = _native.Data.arrays([("image", x, False), ("target", y, True)], batch=4)
    assert sys.getrefcount(x) > before
    del data
    gc.collect()
    assert sys.getrefcount(x) == before


def test_threads_train_beside_each_other_and_the_interpreter_goes_on():
    results, ticks = {}, []

    def work(number):
        trainer = small(seed=7, threads=1)
        trainer.fit(digits(), epochs=3, verbose=0)
        results[number] = trainer.get_weights()
    threads = [threading.Thread(target=work, args=(n,)) for n in range(3)]
    for thread in threads:
        thread.start()
    while any(t.is_alive() for t in threads):
        ticks.append(time.monotonic())
        time.sleep(0.001)
    for thread in threads:
        thread.join()
    for one in results.values():
        assert all(np.array_equal(a, b) for a, b in zip(one, results[0]))
    assert len(results) == 3 and len(ticks) > 3


def test_one_trainer_in_two_threads_is_refused_not_broken():
    trainer = small(width=256, threads=1)
    x, y = digits(512)
    trainer.fit((x, y), verbose=0)
    failures = []
    started = threading.Event()

    class Started:
        def on_train_batch_end(self, _batch, _logs):
            started.set()

        def on_epoch_end(self, _epoch, _logs):
            pass
    thread = threading.Thread(target=lambda: trainer.fit((x, y), epochs=30, verbose=0, callbacks=Started()))
    thread.start()
    started.wait(60)
    for _ in range(50):
        try:
            trainer._native.stats()
        except RuntimeError as error:
            failures.append(str(error))
        time.sleep(0.0005)
    thread.join()
    assert any("another thread" in f for f in failures)


def _child(queue, inherited):
    try:
        if inherited is not None:
            try:
                inherited.stats()
                queue.put("an object of the parent was used")
                return
            except RuntimeError as error:
                assert "another process" in str(error)
            with pytest.raises(RuntimeError, match="spawn"):
                small(threads=2)
        trainer = plimsoll.Trainer("mlp", batch=16, width=16)
        trainer.fit(digits(32), verbose=0)
        queue.put(trainer.updates)
    except BaseException as error:  # pylint: disable=broad-except
        queue.put(repr(error))


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_made_both_ways_train(method):
    trainer = small(threads=2)
    trainer.fit(digits(32), verbose=0)
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    child = context.Process(target=_child, args=(queue, trainer._native if method == "fork" else None))
    child.start()
    assert queue.get(timeout=120) == 2
    child.join(30)
    assert child.exitcode == 0
    assert trainer.updates == 2


def test_an_interpreter_that_ends_during_training_ends(tmp_path):
    code = """
        import threading, numpy as np, plimsoll, time
        x, y = np.zeros((4096, 784), "f4"), np.arange(4096) % 10
        def work():
            plimsoll.Trainer("mlp", batch=16, threads=1).fit((x, y), epochs=100000, verbose=0)
        def steps():
            plimsoll.Trainer("mlp", batch=16, threads=1).fit([(x[:16], y[:16])] * 10**6, epochs=100000, verbose=0)
        for target in (work, steps):
            threading.Thread(target=target, daemon=True).start()
        time.sleep(2)
        print("end")
    """
    file = tmp_path / "program.py"
    file.write_text(textwrap.dedent(code))
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0 and done.stdout.strip() == "end", done.stderr
