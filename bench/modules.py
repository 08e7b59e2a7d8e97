"""Modules of PyTorch through plimsoll.Trainer, beside PyTorch itself.

usage: modules.py [--only GLOB]... [--budget SIZE] [--least N]

Each model of export_models.py goes through plimsoll.Trainer(module): it is exported, predicts (1e-4 of the largest output of
the module in evaluation mode), is planned, is trained for three updates, and its weights come back into the module by a
strict load_state_dict. The first loss (1e-4) and the weights (limits and rates as in exports.py) are those of PyTorch from
the same start. Each model runs in a process of its own, forked from one that has imported the frameworks. Needs the package,
torch, onnx, onnxscript and what the models need; a model whose library is missing is left out. Exits 1 when a model differs,
or when fewer than --least of them work.

A result is `right`; `said`: a warning names what differs, since ONNX cannot say it; `refused`, with the message, which names module and line or operator; or `WRONG`.
"""
import argparse
import copy
import fnmatch
import io
import os
import pickle
import sys
import time
import warnings

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import exports  # noqa: E402  pylint: disable=wrong-import-position

OUTPUT_LIMIT, LOSS_LIMIT = 1e-4, 1e-4
STEPS = ("export", "infer", "plan", "train", "back")


def batches(xs, ys):
    size = exports.BATCH
    return [(xs[s * size:(s + 1) * size], ys[s * size:(s + 1) * size]) for s in range(exports.STEPS)]


class Losses:
    """A callback that keeps the loss of every update."""

    def __init__(self):
        self.seen = []

    def on_train_batch_end(self, _batch, logs):
        self.seen.append(logs["loss"])

    def on_epoch_end(self, _epoch, _logs):
        pass


def reference_of(torch, module, x, y):
    """What PyTorch trains; only its first loss where its own updates are not reproducible."""
    try:
        return exports.torch_reference(torch, module, x, y)
    except ValueError:
        start = copy.deepcopy(module.state_dict())
        loss, _, _ = exports.train(torch, module.float(), start, x, y, exports.RATES[-1], False)
        return {"rate": exports.RATES[-1], "loss": loss}


def train_beside(torch, plimsoll, module, draw, budget, note):
    """Everything a user does with one module; note(step) says how far it came. Returns what differs."""
    generator = torch.Generator().manual_seed(1)
    exports.quiet(torch, module)
    x = draw(exports.BATCH * exports.STEPS, generator)
    with torch.no_grad():
        expected = exports.first_of(module.eval()(x[:exports.BATCH])).numpy()
    y = torch.randn((len(x),) + expected.shape[1:], generator=generator)
    reference = reference_of(torch, copy.deepcopy(module), x, y)
    module.train()
    trainer = plimsoll.Trainer(module, loss="mse", optimizer="sgd", learning_rate=float(reference["rate"]), budget=budget, threads=1,
                               batch=exports.BATCH, sample=x[:1])
    problems = []
    trainer.inputs  # exports
    note("infer")
    ours = trainer.predict(x[:exports.BATCH])
    ours = ours[0] if isinstance(ours, tuple) else ours
    far = float(np.abs(ours - expected).max(initial=0) / max(np.abs(expected).max(initial=0), 1e-30)) \
        if ours.shape == expected.shape else float("inf")
    if not far <= OUTPUT_LIMIT:
        problems.append("outputs %s differ by %.1e from %s" % (ours.shape, far, expected.shape))
    note("plan")
    plan = trainer.plan(page=False)
    if not plan.fits or plan.process_bytes <= plan.arena_bytes:
        problems.append("the plan does not fit")
    note("train")
    seen = Losses()
    trainer.fit(batches(x, y), epochs=1, callbacks=seen, verbose=0)
    if abs(seen.seen[0] - reference["loss"]) > LOSS_LIMIT * abs(reference["loss"]):
        problems.append("the first loss is %g, not %g" % (seen.seen[0], reference["loss"]))
    note("back")
    module.load_state_dict(trainer.state_dict())
    after = {name: value.detach().numpy() for name, value in module.state_dict().items() if value.is_floating_point()}
    compared = [name for name in after if "after:" + name in reference]
    return problems + exports.check_weights(reference, compared, after), plan.process_bytes, len(compared)


def run_one(name, budget, pipe):
    """In a child: (verdict, how far, why, seconds, bytes)"""
    import torch
    import plimsoll
    import export_models
    torch.set_num_threads(1)
    torch.manual_seed(0)
    started, reached = time.process_time(), ["export"]
    need = 0
    try:
        module, draw = export_models.MODELS[name]()
    except ImportError as error:
        pickle.dump(("none", "", str(error), 0.0, 0), pipe)
        return
    except Exception as error:  # pylint: disable=broad-except
        pickle.dump(("none", "", "PyTorch does not make it: %r" % error, 0.0, 0), pipe)
        return
    try:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            problems, need, compared = train_beside(torch, plimsoll, module, draw, budget, reached.append)
        said = [str(w.message) for w in said if str(w.message).startswith(type(module).__name__ + ": ")]
        why = "; ".join(problems) or ("" if compared else "weights not compared: PyTorch's own updates are not reproducible")
        verdict = "right" if not problems else "said" if said else "WRONG"
        why += "".join(" | " + text for text in said if problems)
    except plimsoll.Error as error:
        verdict, why = "refused", "%s: %s" % (type(error).__name__, error)
    except Exception as error:  # pylint: disable=broad-except
        verdict, why = "WRONG", "%s: %s" % (type(error).__name__, error)
    pickle.dump((verdict, reached[-1], why, time.process_time() - started, need), pipe)


def forked(name, options):
    read, write = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        child = os.fork()
    if child == 0:
        try:
            os.close(read)
            quiet = open(os.devnull, "w", encoding="utf-8")
            os.dup2(quiet.fileno(), 1)
            os.dup2(quiet.fileno(), 2)
            warnings.simplefilter("ignore")
            answer = io.BytesIO()
            run_one(name, options.budget, answer)
            os.write(write, answer.getvalue())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        data = pipe.read()
    _, status = os.waitpid(child, 0)
    return pickle.loads(data) if data else ("WRONG", "", "the process ended with status %d" % status, 0.0, 0)


def import_once():
    """What every model imports; exporting one imports what the exporter needs. One thread: children are forked."""
    import logging
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    import torch
    import plimsoll
    import export_models
    torch.set_num_threads(1)
    for needed in (export_models.need_torchvision, lambda: __import__("timm"), lambda: __import__("transformers")):
        try:
            needed()
        except ImportError:
            pass
    plimsoll.Trainer(torch.nn.Linear(2, 2), sample=torch.zeros(1, 2), threads=1).inputs
    return export_models


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append")
    parser.add_argument("--budget")
    parser.add_argument("--least", type=int, default=0)
    options = parser.parse_args()
    export_models = import_once()
    counts = {}
    for name in export_models.MODELS:
        if not any(fnmatch.fnmatch(name, pattern) for pattern in options.only or ["*"]):
            continue
        verdict, reached, why, seconds, need = forked(name, options)
        counts[verdict] = counts.get(verdict, 0) + 1
        print("%-44s %-8s %-7s %6.1f s %8.1f MiB  %s" % (name, verdict, reached if verdict != "right" else "", seconds,
                                                        need / 2**20, why[:400].replace("\n", " ")), flush=True)
    print(", ".join("%d %s" % (count, verdict) for verdict, count in sorted(counts.items())))
    return 1 if counts.get("WRONG") or counts.get("right", 0) < options.least else 0


if __name__ == "__main__":
    sys.exit(main())
