"""Exports of today's frameworks train the network that the user wrote.

usage: exports.py make FOLDER [--only GLOB,...] [--form F,...] [--conditions C] [--minutes M]
           exports models, and writes what the framework computes beside them; goes on where an earlier call stopped
       exports.py check PLIMSOLL FOLDER [--only GLOB,...] [--form F,...] [--results FILE] [--minutes M]
           trains the exported files and compares; prints the table; exits 1 below the bars, 2 when stopped before its end
       exports.py budget PLIMSOLL FOLDER [--only GLOB,...] [--minutes M]
           trains in memory cgroups at the least budget that plan names, writes gradients within it, tries 1 MiB less, the largest
           batch and one above

`make` runs each model in a process of its own, and needs torch, onnx, onnxscript, onnxruntime, and what the models need
(torchvision, timm, transformers); with --only 'keras.*' tensorflow, keras and tf2onnx instead. `check` needs numpy. With --results
one table comes out of several calls, as long as the program is the same. The models of the table in docs/exports.md are in exports.list:
--only "$(paste -sd, bench/exports.list)". Forms of a PyTorch model:

  default      torch.onnx.export(model.eval(), args, path, dynamic_shapes=...): what people do
  baked        the same without dynamic_shapes: a batch of 2 is part of the file; trained with a batch of 4
  recommended  torch.onnx.export(model.train(), args, path, dynamic_shapes=..., optimize=False)

A model of Keras has two: default is model.export(path, format="onnx") with TensorFlow, recommended is plimsoll.export(model, path).
Their files have other layouts than the model, and the first has other names: tensors go back as plimsoll.load takes them.

Compared are: the outputs with onnxruntime's (1e-5 of the largest), the names of what is trained with the framework's parameters, the
gradients of the first batch (1e-4 of the largest entry of each), the weights after three updates (1e-3 of what they moved, or the
rounding of the weight itself), and whether the trained weights go back by name (strict load_state_dict: the same names and shapes).
A tensor whose gradient is 0 (in float64 below 1e-9 of the model's largest, as that of a key's bias in attention) is compared within
1e-5 of the model's largest. Dropout and stochastic depth are set to 0, and what the module froze (requires_grad=False), which no file
says, is frozen with --freeze. The rate is the first of RATES at which the framework repeats its own updates: from weights that are
off by one rounding, and in float64, nine of ten tensors move the same within 1 %; where it does so at none (batch norms over four
numbers), the rate at which most do. A model whose gradients or updates PyTorch's float32 has farther than a third of the limits off
its own float64 is judged under other conditions (export_reference.py): the first of a fixed list under which PyTorch does repeat
itself, which alone decides. Forms that fold norms are then judged with norms that can be put back. A name with "+smooth" behind it
(--only torchvision.resnet18+smooth) is that model with SiLU in place of its bends.

A result is `right`; `float64`: a number is beyond these limits of the framework's float32, and every such number within the same limits
of what the framework computes in float64; `smooth`: right under a condition that has SiLU in place of bends, and with "pools" mean pools
in place of max pools: all of the network but these themselves; `rounding`: a number is beyond both, and so is the framework's own in float32: ours is from
its float64 at most twice as far as the farthest of its float32 runs (from the weights, from weights off by one rounding, and with the
images' channels last) is, so that nothing can be told of such a model under any of the conditions; `said`: it differs, and warnings before the first step name
what is lost (each parameter that is not trained is counted by one of them, and what they name is lost) or a refusal names the remedy;
`refused`: an operator or size that is not supported, with a message; or `WRONG`: silently different. The bar of the recommended form
(95 of 100) is over models that the framework's own rounding tells something of.
"""
import argparse
import fnmatch
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import time

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from export_reference import (BATCH, BENT, GRADIENT_LIMIT, KNOWN, MORE_RUNS, OUTPUT_LIMIT, RATES, STEPS, WEIGHT_LIMIT, ZERO_LIMIT, conditioned, distances, first_of,  # noqa: E402
                              nudged, put_under, repeats_itself, reproducible, smooth, torch_reference, train)  # noqa: E402,F401

FORMS = ("default", "baked", "recommended")
ROUNDINGS = 2  # times the farthest that a float32 run of the framework is from its own float64, ours may be from that
SMOOTH = "+smooth"
GOES_THROUGH = "gradients go through it here, also to what is before it"  # which the warning does not name
UNTRAINED = "untrained"  # the folder of forms that fold norms, beside those of a model whose norms were moved
ROUNDED_END = "off what it is in float64)"
ROUNDED = "(the framework's float32 is up to %.1e, and ours %.1e, off what it is in float64)"
KERAS = ["keras." + n for n in re.findall(r'@model\("(\w+)"', open(os.path.join(HERE, "export_keras.py")).read())]


# --- make: in a process of its own, with PyTorch --------------------------------------------------------------------------


def chosen(name, globs):
    return any(fnmatch.fnmatch(name, one) for one in globs.split(","))


def export(torch, model, form, x, path):
    if hasattr(model, "write"):
        return model.train(form == "recommended").write(path, x, form)
    options = {"dynamo": True, "external_data": False, "verbose": False}
    if form == "recommended":
        options["optimize"] = False
    model.train(form == "recommended")
    if form == "baked":
        return torch.onnx.export(model, (x[:2],), path, **options)
    try:
        torch.onnx.export(model, (x,), path, dynamic_shapes=({0: torch.export.Dim("batch")},), **options)
    except Exception:  # the batch is not quite free: PyTorch finds what it may be
        torch.onnx.export(model, (x,), path, dynamic_shapes=({0: torch.export.Dim.AUTO},), **options)


def quiet(torch, model):
    """Nothing is drawn at random: dropout of all kinds, stochastic depth of torchvision, timm and transformers."""
    for part in model.modules():
        kind = type(part).__name__
        if "Drop" in kind or "StochasticDepth" in kind or isinstance(part, torch.nn.modules.dropout._DropoutNd):
            for key in ("p", "drop_prob", "drop_rate"):
                if isinstance(getattr(part, key, None), float):
                    setattr(part, key, 0.0)
        elif isinstance(getattr(part, "dropout", None), float):  # recurrent and attention layers
            part.dropout = 0.0
        if isinstance(getattr(part, "drop_rate", None), float):  # timm's networks, which drop without a module of its own
            part.drop_rate = 0.0


def exact_outputs(model, reference, x, expected):
    """The outputs in float64; those in float32 where the module has no such form."""
    import torch
    try:
        model.load_state_dict({k[len("start:"):]: torch.from_numpy(v) for k, v in reference.items() if k.startswith("start:")})
        with torch.no_grad():
            return first_of(model.double().eval()(x[:BATCH].double() if x.is_floating_point() else x[:BATCH])).numpy()
    except (RuntimeError, TypeError, ValueError):
        return expected.numpy()


def make_one(folder, name, forms=FORMS, first=0, others_too=True):
    """The forms of a model; where norms had to be moved for PyTorch to repeat itself, those that fold norms once more, with norms that
    can be put back, in a folder of their own: under no condition without `others_too`."""
    import warnings
    warnings.filterwarnings("ignore")
    import logging
    logging.disable(logging.WARNING)
    import torch
    torch.set_num_threads(1)
    report, others = make_forms(torch, folder, name, forms, first=first), [form for form in forms if form != "recommended"]
    if others and (report.get("condition") or {}).get("norms"):
        make_forms(torch, os.path.join(folder, UNTRAINED), name, others, others_too, None)
    json.dump(report, open(os.path.join(folder, "report.json"), "w"))  # last: it says that the folder is whole


def make_forms(torch, folder, name, forms, vague=False, first=0):
    """The files, data and reference of some forms, under the first condition under which PyTorch repeats itself; `vague`: it is known
    not to do so under that of all models; `first`: the first condition that is tried, None for no condition at all."""
    import export_models

    def build():
        torch.manual_seed(0)
        smooth(torch, "bends" if name.endswith(SMOOTH) else None)
        model, draw = export_models.MODELS[name.removesuffix(SMOOTH)]()
        quiet(torch, model)
        return model, draw

    model, draw = build()
    generator = torch.Generator().manual_seed(1)
    x, report = draw(BATCH * STEPS, generator), {"name": name}
    with torch.no_grad():
        y = torch.randn((BATCH * STEPS,) + tuple(first_of(model.eval()(x[:BATCH])).shape[1:]), generator=generator)
    reference, better = None if vague else torch_reference(torch, model, x, y), None
    if reference:
        report["distances"] = [round(d, 3) for d in distances(reference)]
    if vague or first is not None and not repeats_itself(reference):
        better = conditioned(torch, build, "recommended" in forms, first or 0)
    if better:
        report["condition"], x, y, reference = better
        report["conditioned"] = [round(d, 3) for d in distances(reference)]
    reference = reference or torch_reference(torch, model, x, y)
    model = build()[0]
    if better:
        put_under(torch, model, report["condition"])
    os.makedirs(folder, exist_ok=True)
    export_forms(torch, model, folder, x, forms, report)
    with torch.no_grad():
        expected = first_of(model.eval()(x[:BATCH]))
    reference["eval"], reference["eval64"] = expected.numpy(), exact_outputs(model, reference, x, expected)
    np.savez(os.path.join(folder, "torch.npz"), **reference)
    np.savez(os.path.join(folder, "data.npz"), x=x.numpy(), y=y.numpy())
    np.save(os.path.join(folder, "x.npy"), x[:BATCH].numpy())
    json.dump(report, open(os.path.join(folder, "report.json"), "w"))
    return report


def export_forms(torch, model, folder, x, forms, report):
    """The files, what onnxruntime computes from the default one, and in the report what became of each."""
    import onnxruntime
    with torch.no_grad():
        expected = first_of(model.eval()(x[:BATCH]))
    for form in FORMS:
        path = os.path.join(folder, form + ".onnx")
        if form not in forms:
            report[form] = "not made"
            if form != "default":
                continue
        try:
            export(torch, model, form, x[:BATCH], path)
        except Exception as e:
            np.save(os.path.join(folder, "runtime.npy"), expected.numpy()) if form == "default" else None
            report[form] = "not exported: " + str(e).strip().splitlines()[0][:150]
            continue
        report[form] = "exported" if form in forms else report[form]
        if form != "default":
            continue
        try:
            session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
            got = session.run(None, {session.get_inputs()[0].name: x[:BATCH].numpy()})[0]
        except Exception as e:  # it lacks some operators of bfloat16
            got, report["judge"] = expected.numpy(), "PyTorch, since onnxruntime says: " + str(e)[:150]
        np.save(os.path.join(folder, "runtime.npy"), got)


def keras_double(build, start, x, y, rate):
    """The same model in float64: gradients and variables in the order of the model's own; None where Keras has no such form."""
    import keras
    try:
        keras.config.set_floatx("float64"), keras.config.set_dtype_policy("float64")
        model = build()[0]
        if [v.shape for v in model.variables] != [v.shape for v in start]:
            return None
        return keras_train(model, start, x.astype(np.float64) if x.dtype.kind == "f" else x, y.astype(np.float64), rate)
    except Exception:
        return None
    finally:
        keras.config.set_floatx("float32"), keras.config.set_dtype_policy("float32")


def keras_train(model, start, x, y, rate):
    import keras
    import tensorflow as tf
    for variable, value in zip(model.variables, start):
        variable.assign(value)
    optimizer, first, gradients = keras.optimizers.SGD(rate), None, {}
    for s in range(STEPS):
        rows = slice(s * BATCH, (s + 1) * BATCH)
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x[rows], training=True) - y[rows]) ** 2)
        found = tape.gradient(loss, model.trainable_variables)
        if s == 0:
            first, gradients = float(loss), {v.path: tf.convert_to_tensor(g).numpy() for v, g in zip(model.trainable_variables, found) if g is not None}
        optimizer.apply(found, model.trainable_variables)
    return first, gradients, {v.path: v.numpy().copy() for v in model.variables}


def keras_export(model, path, form, report):
    """Writes one form, and how the tensors of the trained file become the model's variables: indices into each, found by name."""
    try:
        import plimsoll
        from plimsoll import _files, _native
    except ImportError:
        plimsoll = None
    try:
        if form == "default":
            model.export(path, format="onnx", verbose=False)
        elif plimsoll:
            plimsoll.export(model, path)
        else:
            raise ImportError("the Python package of plimsoll is not installed")
    except Exception as e:
        report[form] = "not exported: " + str(e).strip().splitlines()[0][:150]
        return {}
    report[form] = "exported"
    if not plimsoll:
        return {}
    trainer = _native.Trainer(_native.Graph.load(path), batch=BATCH, loss="mse", optimizer="sgd", threads=1, **({} if form == "default" else {"loss_output": "output"}))
    shapes = {name: shape for name, role, _, shape in trainer.tensors() if role != "optimizer"}
    trainer.close()
    places = {}
    for name, found in _files.keras_places(model, shapes).items():
        for variable, turn in found:  # 1, 2, 3 ... : a sign tells what is negated
            places["%s:place:%s" % (form, variable.path)] = turn(np.arange(1, int(np.prod(shapes[name])) + 1, dtype=np.float64).reshape(shapes[name])).astype(np.int64)
            places["%s:name:%s" % (form, variable.path)] = np.array(name)
    return places


def keras_make_one(folder, name, forms=FORMS):
    sys.path.insert(0, HERE)
    import export_keras
    import onnxruntime
    export_keras.keras.utils.set_random_seed(0)
    model, draw = export_keras.MODELS[name]()
    generator = np.random.default_rng(1)
    x = draw(BATCH * STEPS, generator)
    expected = model(x[:BATCH], training=False).numpy()
    y = generator.standard_normal((BATCH * STEPS,) + expected.shape[1:]).astype(np.float32)
    os.makedirs(folder, exist_ok=True)
    report, places = {"name": name, "baked": "no such form"}, {}
    for form in ("default", "recommended"):
        path = os.path.join(folder, form + ".onnx")
        if os.path.exists(path):
            os.remove(path)
        places.update(keras_export(model, path, form, report))
    np.save(os.path.join(folder, "runtime.npy"), expected)
    if report["default"] == "exported":
        session = onnxruntime.InferenceSession(os.path.join(folder, "default.onnx"), providers=["CPUExecutionProvider"])
        np.save(os.path.join(folder, "runtime.npy"), session.run(None, {session.get_inputs()[0].name: x[:BATCH]})[0])
    start = [v.numpy().copy() for v in model.variables]
    def nudge():
        return [v * (1 + np.float32(6e-8) * np.sign(generator.standard_normal(v.shape)).astype(np.float32)) if v.ndim > 1 else v for v in start]
    best = (-1.0,)
    for rate in RATES:  # as torch_reference does
        one, other, double = keras_train(model, start, x, y, rate), keras_train(model, nudge(), x, y, rate), keras_double(export_keras.MODELS[name], start, x, y, rate)
        same = reproducible({v.path: value for v, value in zip(model.variables, start)}, one[2], [other[2], *([dict(zip(one[2], double[2].values()))] if double else [])])
        best = max(best, (same, rate, one, other, double), key=lambda b: b[0])
        if same >= 0.9:
            break
    same, rate, one, other, double = best
    (loss, gradients, after), singles = one, [one, other]
    if same < 1 or any(np.abs(g - other[1][k]).max(initial=0) > GRADIENT_LIMIT * np.abs(g).max(initial=0) for k, g in gradients.items()):
        singles += [keras_train(model, nudge(), x, y, rate) for _ in range(MORE_RUNS)]
    report["float64"] = "yes" if double else "no such form: PyTorch's rounding is never said of it"
    double = [one[0], *(dict(zip(mine, theirs.values())) for mine, theirs in zip(one[1:], double[1:]))] if double else one
    out = {"rate": np.array(rate), "repeats": np.array(same), "loss": np.array(loss), "names": np.array(sorted(gradients)), "tied": np.array("[]"), "eval": expected, "eval64": expected, **places}
    for k, g in gradients.items():
        out["grad:" + k], out["grad64:" + k] = g, double[1][k].astype(np.float32)
        out["grad-noise:" + k] = np.array(max(np.abs(d[k] - double[1][k]).max(initial=0) for _, d, _ in singles))
    for v, value in zip(model.variables, start):
        if np.asarray(value).dtype.kind == "f":
            out["start:" + v.path], out["after:" + v.path], out["after64:" + v.path] = value, after[v.path], double[2][v.path].astype(np.float32)
            out["after-noise:" + v.path] = np.array(max(np.abs(a[v.path] - double[2][v.path]).max(initial=0) for _, _, a in singles))
    np.savez(os.path.join(folder, "torch.npz"), **out)
    np.savez(os.path.join(folder, "data.npz"), x=x, y=y)
    np.save(os.path.join(folder, "x.npy"), x[:BATCH])
    json.dump(report, open(os.path.join(folder, "report.json"), "w"))


def libraries():
    """What models need, loaded before the processes that export them are made: it takes longer than most exports."""
    import onnxruntime  # noqa: F401
    import onnxscript  # noqa: F401
    import torch
    sys.path.insert(0, HERE)
    import export_models
    import export_modules  # noqa: F401
    import export_drawn  # noqa: F401
    import export_families  # noqa: F401
    import export_unusual  # noqa: F401
    import export_written  # noqa: F401
    torch.set_num_threads(1)
    try:
        export_models.need_torchvision()
        import transformers.modeling_utils  # noqa: F401
    except ImportError:
        pass
    with tempfile.TemporaryDirectory() as work:  # the first export loads more, and takes five times as long as the next
        torch.onnx.export(torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU()).eval(), (torch.zeros(2, 2),), os.path.join(work, "x.onnx"), dynamo=True, external_data=False, verbose=False)
    train(torch, torch.nn.Linear(2, 2), torch.nn.Linear(2, 2).state_dict(), torch.zeros(BATCH * STEPS, 2), torch.zeros(BATCH * STEPS, 2), 0.1, False)
    return list(export_models.MODELS)


def make_apart(function, *arguments):
    """Makes one model in a process of its own, which writes to its log; returns its number."""
    folder = arguments[0]
    os.makedirs(folder, exist_ok=True)
    sys.stdout.flush()
    child = os.fork()
    if child:
        return child
    log = os.open(os.path.join(folder, "log.txt"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    os.dup2(log, 1), os.dup2(log, 2)
    code = 1
    try:
        function(*arguments)
        code = 0
    except BaseException:
        import traceback
        traceback.print_exc()
    sys.stdout.flush(), sys.stderr.flush()
    os._exit(code)


def make(options):
    """Keras and PyTorch need not be installed in one environment: each makes its own models."""
    begin, keras = time.monotonic(), options.only.startswith("keras.")
    names = [n for n in (KERAS if keras else libraries()) if chosen(n, options.only)] + [n for n in options.only.split(",") if n.endswith(SMOOTH)]
    running = []
    for name in names:
        folder = os.path.join(options.folder, name)
        if os.path.exists(os.path.join(folder, "report.json")) and not options.again:
            continue
        if time.monotonic() - begin > 60 * options.minutes:
            print("stopped after %g minutes: the same call goes on" % options.minutes)
            break
        while len(running) >= options.jobs:
            os.waitpid(running.pop(0), 0)
        first = {"known": KNOWN.get(name, 0), "all": 0, "smooth": BENT, "none": None}[options.conditions]
        forms = options.form.split(",") if options.form else FORMS
        running.append(make_apart(keras_make_one, folder, name, forms) if keras else make_apart(make_one, folder, name, forms, first, options.conditions == "all"))
    for child in running:
        os.waitpid(child, 0)
    for name in names:
        path = os.path.join(options.folder, name, "report.json")
        print(name, open(path).read() if os.path.exists(path) else "NOT MADE", flush=True)


# --- budget: the least that is named, gradients within it, the largest batch ------------------------------------------------


def plan_of(program, path, folder, batch, *more):
    data = [] if "--data" in more else ["--data", os.path.join(folder, "data.npz")]
    code, out, said = run([program, "plan", path, *data, "--loss", "mse", "--optimizer", "sgd", "--batch", str(batch), "--threads", "2", "--json", *more])
    return json.loads(out) if out.strip().startswith("{") else {"said": last_line(said)}


def within(group, budget, command):
    """(exit code, what it said, largest resident bytes; None where it did not get to its end), in a memory cgroup of the budget"""
    done = group.run(budget, command + ["--budget", str(budget), "--json"])
    return done.returncode, done.stderr, json.loads(done.stdout)["peak_resident_bytes"] if done.returncode == 0 else None


def budget_one(program, group, folder, work):
    """Problems at the least budget that is named: with three updates, with gradients too, with less, with a batch above the largest."""
    path, problems = os.path.join(folder, "recommended.onnx"), []
    least = plan_of(program, path, folder, BATCH).get("minimum_budget_bytes")
    if not least:
        return None, ["no plan"]
    train = [program, "train", path, "--data", os.path.join(folder, "data.npz"), "--no-shuffle", "--loss", "mse", "--optimizer", "sgd", "--batch", str(BATCH), "--steps", str(STEPS), "--threads", "2",
             "--out", os.path.join(work, "w.safetensors")]
    dump = os.path.join(work, "g.safetensors")
    for what, command, bytes_, must in (("train", train, least, True), ("gradients", train + ["--dump-gradients", dump], least, False), ("1 MiB less", train, least - 2**20, False)):
        for written in (dump, os.path.join(work, "w.safetensors")):
            if os.path.exists(written):
                os.remove(written)
        code, said, used = within(group, bytes_, command)
        if code < 0 or (used or 0) > bytes_ or code and (must or "budget" not in said):
            problems.append("%s: %s of %d bytes, exit %d, %s" % (what, used, bytes_, code, last_line(said)))
        elif what == "1 MiB less" and code == 0:
            problems.append("works with 1 MiB less (%.1f MiB)" % (used / 2**20))
    room = ["--budget", str(2 * least), "--allow", "exact", "--data", "synthetic", "--steps", "3"]  # in one piece, of more samples than a batch has
    largest = plan_of(program, path, folder, BATCH, *room).get("largest_batch")
    for batch, whole in ((largest, True), (largest + 1, False)) if largest else ():
        got = plan_of(program, path, folder, batch, *room)
        if (got.get("fits", False) and got.get("micro_batch") == batch) != whole:
            problems.append("the largest batch in %d bytes is said to be %d, and %d %s" % (2 * least, largest, batch, "does not fit" if whole else "fits"))
    return least, problems


def budget(options):
    sys.path.insert(0, HERE)
    from budgets import Group
    begin, bad, group = time.monotonic(), 0, Group()
    os.environ.update(PLIMSOLL_COSTS="default", OMP_WAIT_POLICY="passive")
    print("in a memory cgroup" if group.path else "no memory cgroup can be made here: runs are not held inside one")
    names = sorted(n for n in os.listdir(options.folder) if chosen(n, options.only) and os.path.exists(os.path.join(options.folder, n, "recommended.onnx")))
    try:
        with tempfile.TemporaryDirectory() as work:
            for name in names:
                if time.monotonic() - begin > 60 * options.minutes:
                    print("stopped after %g minutes" % options.minutes)
                    return 2
                least, problems = budget_one(os.path.realpath(options.program), group, os.path.join(options.folder, name), work)
                bad += bool(problems)
                print("%-42s %s %s" % (name, "%.1f MiB" % (least / 2**20) if least else "-", "; ".join(problems) or "held"), flush=True)
    finally:
        group.remove()
    return 1 if bad else 0


# --- check: without PyTorch -----------------------------------------------------------------------------------------------


def read_safetensors(path):
    data = open(path, "rb").read()
    (length,) = struct.unpack("<Q", data[:8])
    types = {"F32": np.float32, "F64": np.float64, "F16": np.float16, "I64": np.int64, "I32": np.int32, "BOOL": np.bool_, "U8": np.uint8}
    tensors = {}
    for name, entry in json.loads(data[8:8 + length]).items():
        if name != "__metadata__" and entry["dtype"] in types:
            begin, end = entry["data_offsets"]
            tensors[name] = np.frombuffer(data[8 + length + begin:8 + length + end], types[entry["dtype"]]).reshape(entry["shape"])
    return tensors


def run(command):
    environment = dict(os.environ, OMP_WAIT_POLICY="passive", PLIMSOLL_COSTS="default")
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, timeout=600)
    return done.returncode, done.stdout, done.stderr


def last_line(text):
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return lines[-1][:260] if lines else ""


def check_outputs(program, folder, path, work):
    """What differs between our outputs and onnxruntime's; None when nothing does."""
    out = os.path.join(work, "out.npy")
    expected = np.load(os.path.join(folder, "runtime.npy"))
    got = run([program, "infer", path, "--batch", str(BATCH), "--input", os.path.join(folder, "x.npy"), "--output", out, "--threads", "1"])
    if got[0] != 0 and ("one output" in got[2] or "expected NAME=FILE" in got[2]):
        name = re.findall(r"'([^']+)'", got[2])
        first = json.loads(run([program, "inspect", path, "--batch", str(BATCH), "--json"])[1])["outputs"][0]["name"]
        got = run([program, "infer", path, "--batch", str(BATCH), "--input", os.path.join(folder, "x.npy"), "--output", first + "=" + out, "--threads", "1"])
    if got[0] != 0:
        return "infer: " + last_line(got[2])
    ours = np.load(out)
    if ours.shape != expected.shape:
        return "outputs are %s, not %s" % (ours.shape, expected.shape)
    largest, data = max(np.abs(expected).max(), 1e-30), np.load(os.path.join(folder, "torch.npz"))
    far, noise = np.abs(ours - expected).max() / largest, np.abs(data["eval"] - data["eval64"]).max()
    if far <= OUTPUT_LIMIT:
        return None
    exact = np.abs(ours - data["eval64"]).max()
    limit = OUTPUT_LIMIT * largest
    return "outputs are %.1e limits off%s" % (far / OUTPUT_LIMIT, " " + ROUNDED % (noise / limit, exact / limit) if exact <= ROUNDINGS * noise else "")


def tied_names(folder):
    return {n for names in json.loads(str(np.load(os.path.join(folder, "torch.npz"))["tied"])) for n in names}


def with_tied(data, ours):
    """Tied parameters have several names in the state, and one of them in the file: they are one tensor."""
    ours = dict(ours)
    for names in json.loads(str(data["tied"])):
        present = [n for n in names if n in ours]
        for n in names if len(present) == 1 else ():
            ours.setdefault(n, ours[present[0]])
    return ours


class Distance:
    """How far tensors are off the framework's: the farthest that is explained by its rounding, and the farthest that is not."""

    def __init__(self):
        self.rounded, self.wrong, self.names = ("", 0.0, 0.0, 0.0), ("", 0.0, 0.0, 0.0), set()

    def add(self, name, ours, theirs, exact, noise, allowed):
        """`allowed` is the limit, `noise` how far float32 runs of the framework are off its own in float64, which is `exact`."""
        ours = ours.astype(np.float64)
        far = float(np.abs(ours - exact).max(initial=0))
        one = name, float(np.abs(ours - theirs).max(initial=0) / allowed), float(noise / allowed), far / allowed
        if one[1] <= 1:
            return
        if far <= ROUNDINGS * noise:
            self.rounded = max(self.rounded, one, key=lambda w: w[3])
        else:
            self.wrong = max(self.wrong, one, key=lambda w: w[1])
            self.names.add(name)

    def problems(self, what):
        return [what % worst[:2] + more for worst, more in ((self.wrong, " (float32 runs of the framework are %.1e off its float64)" % self.wrong[2]),
                                                           (self.rounded, " " + ROUNDED % self.rounded[2:])) if worst[0]]


def keras_layer(name):
    """functional_1/dense_1_2/Cast/ReadVariableOp:0 → dense_1: the scopes of TensorFlow have a number of their own."""
    return [re.sub(r"_\d+$", "", part) for part in name.split("/")[1:]]


def in_names_of_keras(data, form, tensors):
    """Tensors of a file under the names and in the layouts of the model, as plimsoll.load puts them there; others as they are."""
    made, taken = {}, set()
    for key in data:
        if key.startswith(form + ":place:"):
            path = key.split(":", 2)[2]
            name = str(data["%s:name:%s" % (form, path)])
            if name in tensors:
                place = data[key]
                made[path] = np.sign(place) * tensors[name].reshape(-1)[np.abs(place) - 1]
                taken.add(name)
    return {**made, **{name: t for name, t in tensors.items() if name not in taken}}


def check_training(program, folder, form, path, work):
    """(problems, parameters that are not trained as the framework does, those that it does not train either, what the program said)"""
    data = np.load(os.path.join(folder, "torch.npz"))
    gradients, weights = os.path.join(work, "g.safetensors"), os.path.join(work, "w.safetensors")
    command = [program, "train", path, "--data", os.path.join(folder, "data.npz"), "--no-shuffle", "--loss", "mse", "--optimizer", "sgd", "--lr", str(data["rate"]), "--batch",
               str(BATCH), "--steps", str(STEPS), "--threads", "2", "--dump-gradients", gradients, "--out", weights]
    for output in (gradients, weights):
        if os.path.exists(output):
            os.remove(output)
    for name in data["frozen"] if "frozen" in data else ():  # no file says it
        command += ["--freeze", re.sub(r"([][*?])", r"[\1]", str(name))]
    code, out, said = run(command)
    while code and (found := re.search(r"no parameter matches '(.*)' \(--freeze\)", said)):  # it is not trained anyway: a table
        at = command.index(found.group(1))
        command[at - 1:at + 1] = []
        code, out, said = run(command)
    if code != 0:
        return ["train: " + last_line(said)], [], [], said
    ours, after = read_safetensors(gradients), with_tied(data, read_safetensors(weights))
    if os.path.basename(folder) in KERAS:
        after, ours = in_names_of_keras(data, form, after), in_names_of_keras(data, form, ours)
    problems, names = [], [str(n) for n in data["names"] if "grad:" + str(n) in data]
    tied = tied_names(folder)
    ours = with_tied(data, ours)
    missing, extra = sorted(set(names) - set(ours)), sorted(set(ours) - set(names))
    extra = [n for n in extra if n not in tied]
    if missing:
        problems.append("%d not trained: %s" % (len(missing), " ".join(missing[:3])))
    if extra:
        problems.append("%d trained wrongly: %s" % (len(extra), " ".join(extra[:3])))
    distance, zero = Distance(), 1e-9 * max((np.abs(data["grad64:" + n]).max(initial=0) for n in names), default=0)
    for name in sorted(set(names) & set(ours)):
        reference = data["grad:" + name]
        if ours[name].shape != reference.shape:
            problems.append("%s is %s, not %s" % (name, ours[name].shape, reference.shape))
            continue
        largest = np.abs(data["grad64:" + name]).max(initial=0)
        distance.add(name, ours[name], reference, data["grad64:" + name], float(data["grad-noise:" + name]), (GRADIENT_LIMIT * largest if largest > zero else ZERO_LIMIT * zero / 1e-9) + 1e-12)
    problems += distance.problems("gradient of %s is %.1e limits off")
    wrong = distance.names
    state = names if os.path.basename(folder) in KERAS and form == "default" else [k[len("start:"):] for k in data if k.startswith("start:") and data[k].dtype.kind == "f"]
    unused = {str(n) for n in data["names"]} - set(names)  # parameters that the module does not use: no gradient, no move, not in files
    state = [n for n in state if n not in unused]
    still = {n for n in state if n not in names and np.array_equal(data["start:" + n], data["after:" + n], equal_nan=True)}
    absent = [n for n in state if n not in after and n not in still]  # a constant that was computed away is as it was in the module
    if absent:
        problems.append("%d of the state not in the file: %s" % (len(absent), " ".join(absent[:3])))
    problems += check_weights(data, state, after)
    lost = set(missing) | set(absent) & {str(n) for n in data["names"]} or set(absent)  # a norm without parameters has statistics
    neutral = unused | set(absent) - lost  # statistics go with their norm
    if GOES_THROUGH in said:
        wrong &= set(re.search(r"and trained here: (.*?)(?: and \d+ more)?; " + GOES_THROUGH, said).group(1).split(", "))
    if "batch norm" in said or "give other results than the whole batch" in said or lost and "merged" in said and "which then get their gradients" in said:
        wrong = set()  # gradients of the parameters beside them differ
        if not lost and "folded" in said:  # a norm that is called twice, and folded once
            lost = set(re.findall(r"statistics to follow the data: ([^;,]+);", said)) & {n.rsplit(".", 1)[0] for n in state}
    return problems, sorted(lost | wrong | set(extra)), sorted(neutral - set(extra)), said


def check_weights(data, state, after):
    """The shapes of the state, and what it is after the updates."""
    problems, distance = [], Distance()
    moves = {n: np.abs(data["after64:" + n] - data["start:" + n]).max(initial=0) for n in state}
    largest = max(moves.values(), default=0)
    for name in state:
        if name not in after:
            continue
        start, theirs = data["start:" + name], data["after:" + name]
        if after[name].shape != start.shape:
            problems.append("%s is %s in the file, not %s" % (name, after[name].shape, start.shape))
            continue
        allowed = max(WEIGHT_LIMIT * moves[name] if moves[name] > 1e-9 * largest else ZERO_LIMIT * largest, 2e-7 * np.abs(start).max(initial=0)) + 1e-12
        distance.add(name, after[name], theirs, data["after64:" + name], float(data["after-noise:" + name]), allowed)
    return problems + distance.problems("%%s after %d updates is %%.1e limits off" % STEPS)


def explains(warnings, lost, tied, neutral=()):
    """Whether warnings count every name of `lost`, and what they name is lost: a tensor, or the module of one."""
    counted = 0
    for text in warnings:
        found = re.fullmatch(r"(.*?)(?: and (\d+) more)?", text.split(";")[0].rsplit(": ", 1)[-1])
        names = ["/".join(keras_layer(n)) if any("/" in m for m in lost) else n for n in found.group(1).split(", ")]
        if "computed constants from" in text or GOES_THROUGH in text:  # a part may be 0: 0 · W
            counted += sum(name in lost for name in names)
            continue
        if not all(any(n == name or n.startswith(name + ".") or n.startswith(name + "/") for n in [*lost, *neutral]) or name in tied for name in names):
            continue
        total = sum(name not in tied and name not in neutral for name in names) + int(found.group(2) or 0)
        modules = "batch norm" in text
        total += total if "lost the name" in text else 0  # the module's, and what it is in the file
        left = min(2 * total, sum("/batchnorm/" in n for n in lost))  # what of a folded norm is there still, as a scale or an offset
        counted += 2 * total + left + sum(n.endswith(("/kernel", "bias")) for n in lost) if modules else total
    return counted >= len(lost) > 0


def judge(program, folder, form, work):
    apart = os.path.join(folder, UNTRAINED)
    folder = apart if form != "recommended" and os.path.exists(os.path.join(apart, "report.json")) else folder
    report = json.load(open(os.path.join(folder, "report.json")))
    if report[form] != "exported":
        return "none", report[form]
    path = os.path.join(folder, form + ".onnx")
    outputs = check_outputs(program, folder, path, work) if form != "baked" else None
    training, lost, neutral, said = check_training(program, folder, form, path, work)
    problems = ([outputs] if outputs else []) + training
    warned = [line.split("warning: ", 1)[1] for line in said.splitlines() if ": warning: " in line]
    if problems and all(p.endswith(ROUNDED_END) for p in problems):
        near = all(float(re.search(r"and ours ([0-9.e+-]+), off", p).group(1)) <= 1 for p in problems)
        return "float64" if near else "rounding", "; ".join(problems)
    if not problems:
        return "smooth" if (report.get("condition") or {}).get("smooth") else "right", (" | " + warned[0][:120]) if warned else ""
    if not outputs and any("give other results than the whole batch" in w for w in warned) and (not lost or explains(warned, lost, tied_names(folder), neutral)):
        return "said", "; ".join(problems)[:200] + " | " + [w for w in warned if "give other results" in w][0][:200]
    if not outputs and explains(warned, lost, tied_names(folder), neutral):
        return "said", "; ".join(problems) + " | " + warned[0][:200]
    if all(p.startswith(("train: ", "infer: ")) for p in problems):
        return "said" if "export" in problems[-1] else "refused", "; ".join(problems)
    return "WRONG", "; ".join(problems) + "".join(" | " + w for w in warned)


def build_of(program):
    """Which program it is: results of several slices are put into one table only when it is the same."""
    import hashlib
    return hashlib.sha256(open(program, "rb").read()).hexdigest()[:12]


def results_of(options):
    """{(name, form): (verdict, why)} that this build has had."""
    found = {}
    if options.results and os.path.exists(options.results):
        for line in open(options.results):
            one = json.loads(line)
            if one["build"] == build_of(options.program):
                found[one["name"], one["form"]] = one["verdict"], one["why"]
    return found


def repeats(folder):
    """The part of a model's tensors whose updates the framework repeats."""
    data = np.load(os.path.join(folder, "torch.npz"))
    return float(data["repeats"]) if "repeats" in data else 1.0


def check(options):
    names = sorted(n for n in os.listdir(options.folder) if chosen(n, options.only) and os.path.exists(os.path.join(options.folder, n, "report.json")))
    forms, begin = options.form.split(",") if options.form else FORMS, time.monotonic()
    results = results_of(options)
    with tempfile.TemporaryDirectory() as work:
        for name, form in [(n, f) for n in names for f in forms if (n, f) not in results]:
            if time.monotonic() - begin > 60 * options.minutes:
                print("stopped after %g minutes: the same call goes on" % options.minutes)
                return 2
            try:
                verdict, why = judge(options.program, os.path.join(options.folder, name), form, work)
            except subprocess.TimeoutExpired:
                verdict, why = "refused", "more than 600 s"
            results[name, form] = verdict, why
            if options.results:
                with open(options.results, "a") as out:
                    out.write(json.dumps({"build": build_of(options.program), "name": name, "form": form, "verdict": verdict, "why": why}) + "\n")
            print("%-42s %-12s %-8s %s" % (name, form, verdict, why), flush=True)
    code = table({key: v for key, v in results.items() if key[0] in names and key[1] in forms}, forms)
    vague = [n for n in names if repeats(os.path.join(options.folder, n)) < 0.9]
    if vague:
        print("\nPyTorch repeats its own updates of these in part only: " + ", ".join(vague))
    return code


ROWS = (("PyTorch, recommended call", "recommended", False), ("PyTorch, default call", "default", False), ("PyTorch, default call, a batch of 2 in the file", "baked", False),
        ("Keras, plimsoll.export", "recommended", True), ("Keras, model.export", "default", True))


def table(results, forms):
    """The table of docs/exports.md; 1 when a bar is missed."""
    good = True
    print("\n| | exported | right | right beside its float64 only | right with smooth bends | its own rounding | said what is lost | refused | silently different |\n|---|---|---|---|---|---|---|---|---|")
    for title, form, keras in ROWS:
        found = [v for (n, f), (v, _) in results.items() if f == form and (n in KERAS) == keras and v != "none"]
        right, exact, bends, rounding, said, refused, wrong = (found.count(v) for v in ("right", "float64", "smooth", "rounding", "said", "refused", "WRONG"))
        if not found or form not in forms:
            continue
        print("| %s | %d | %d | %d | %d | %d | %d | %d | %d |" % (title, len(found), right, exact, bends, rounding, said, refused, wrong))
        good &= wrong == 0 and (right + exact + bends >= 0.95 * (len(found) - rounding) if form == "recommended" else right + exact + bends + rounding + said + refused >= 0.9 * len(found))
    return 0 if good else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["make", "check", "budget"])
    parser.add_argument("paths", nargs="+")
    parser.add_argument("--only", default="*")
    parser.add_argument("--form", help="some of: " + ",".join(FORMS))
    parser.add_argument("--conditions", choices=["known", "all", "smooth", "none"], default="known",
                        help="of models that PyTorch does not repeat: begin with the first that it is known to repeat, with the first, with those without bends; have none")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--results", help="a file that verdicts are added to, and not made again from")
    parser.add_argument("--minutes", type=float, default=1e9, help="begin no further model after this time")
    options = parser.parse_args()
    options.folder = options.paths[-1]
    options.program = options.paths[0]
    return {"make": make, "check": check, "budget": budget}[options.what](options)


if __name__ == "__main__":
    sys.exit(main())
