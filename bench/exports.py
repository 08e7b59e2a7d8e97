"""Exports of today's frameworks train the network that the user wrote.

usage: exports.py make FOLDER [--only GLOB] [--jobs N]            exports models and writes what PyTorch computes beside them
       exports.py check PLIMSOLL FOLDER [--only GLOB] [--form F]  trains the exported files and compares; exits 1 below the bars

`make` runs each model in a process of its own, and needs torch, onnx, onnxscript, onnxruntime, and what the models need
(torchvision, timm, transformers, keras); `check` needs numpy. Forms of a PyTorch model:

  default      torch.onnx.export(model.eval(), args, path, dynamic_shapes=...): what people do
  baked        the same without dynamic_shapes: a batch of 2 is part of the file; trained with a batch of 4
  recommended  torch.onnx.export(model.train(), args, path, dynamic_shapes=..., optimize=False)

A model of Keras has one form: model.export(path, format="onnx"), with TensorFlow. Its file has other names and layouts than the
model: tensors are matched by their numbers and layers.

Compared are: the outputs with onnxruntime's (1e-5 of the largest), the names of what is trained with the framework's
parameters, the gradients of the first batch (1e-4 of the largest entry of each, or the framework's own rounding: ten times what
changes in float64, or when the weights change by one rounding), the weights after three updates likewise (1e-3 of what they
moved), and whether the trained weights go back by name (strict load_state_dict: the same names and shapes). Dropout and
stochastic depth are set to 0. The rate is the largest of RATES at which the framework's own updates are reproducible.

A result is `right`; `said`: it differs, and warnings before the first step name what is lost (each parameter that is not
trained is counted by one of them, and what they name is lost) or a refusal names the remedy; `refused`: an operator or size that
is not supported, with a message; or `WRONG`: silently different.
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

import numpy as np

BATCH, STEPS = 4, 3
RATES = (1e-2, 1e-3, 1e-4)
FORMS = ("default", "baked", "recommended")
OUTPUT_LIMIT, GRADIENT_LIMIT, WEIGHT_LIMIT = 1e-5, 1e-4, 1e-3
HERE = os.path.dirname(os.path.abspath(__file__))
KERAS = ["keras." + n for n in re.findall(r'@model\("(\w+)"', open(os.path.join(HERE, "export_keras.py")).read())]


# --- make: in a process of its own, with PyTorch --------------------------------------------------------------------------


def first_of(out):
    while not hasattr(out, "shape"):
        out = next(iter(out.values())) if isinstance(out, dict) else out[0]
    return out


def export(torch, model, form, x, path):
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


def train(torch, model, start, xs, ys, rate, double):
    """The first loss, the first gradients, and all state after STEPS updates."""
    model.load_state_dict(start)
    model = model.double() if double else model.float()
    model.train()
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    gradients, first = {}, None
    for s in range(STEPS):
        x, y = xs[s * BATCH:(s + 1) * BATCH], ys[s * BATCH:(s + 1) * BATCH]
        if x.is_floating_point() and double:
            x = x.double()
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(first_of(model(x)), y.double() if double else y)
        loss.backward()
        if s == 0:
            first = loss.item()
            gradients = {k: p.grad.detach().numpy().copy() for k, p in model.named_parameters() if p.grad is not None}
        optimizer.step()
    return first, gradients, {k: v.detach().numpy().copy() for k, v in model.state_dict(keep_vars=True).items()}


def nudged(torch, start):
    """Every weight off by one rounding: what a correct program may start from that reads it from another form."""
    generator = torch.Generator().manual_seed(7)
    import copy
    made = copy.copy(start)  # with what it says of versions
    for k, v in start.items():
        if v.is_floating_point() and v.dim() > 1:
            made[k] = v * (1 + 6e-8 * torch.sign(torch.randn(v.shape, generator=generator)))
    return made


def reproducible(start, after, others):
    """Whether nine of ten tensors that move are the same within 1 % of that in the other runs."""
    good = total = 0
    for k, v in after.items():
        moved = np.abs(v - start[k].numpy()).max(initial=0) if v.dtype.kind == "f" else 0
        if moved > 1e-6 * np.abs(v).max(initial=0):
            total += 1
            good += all(np.abs(v - o[k]).max() <= 1e-2 * moved for o in others)
    return good >= 0.9 * total


def torch_reference(torch, model, xs, ys):
    import copy
    start = copy.deepcopy(model.state_dict())
    names = {k for k, p in model.named_parameters()}
    for rate in RATES:
        loss, gradients, after = train(torch, model, start, xs, ys, rate, False)
        _, gradients2, after2 = train(torch, model, nudged(torch, start), xs, ys, rate, False)
        _, gradients64, after64 = train(torch, model, start, xs, ys, rate, True)
        if reproducible(start, after, (after2, after64)):
            break
    else:
        raise ValueError("the module's own updates are not reproducible at any rate")
    out = {"rate": np.array(rate), "loss": np.array(loss), "names": np.array(sorted(names))}
    for k, v in gradients.items():
        out["grad:" + k], out["grad-noise:" + k] = v, np.array(max(np.abs(v - g[k]).max(initial=0) for g in (gradients2, gradients64)))
    for k, v in start.items():
        out["start:" + k], out["after:" + k] = v.numpy(), after[k]
        out["after-noise:" + k] = np.array(max(np.abs(after[k] - a[k]).max(initial=0) for a in (after2, after64)) if after[k].dtype.kind == "f" else 0)
    places = {}
    for k, p in model.named_parameters(remove_duplicate=False):
        places.setdefault(id(p), []).append(k)
    out["tied"] = np.array(json.dumps([names for names in places.values() if len(names) > 1]))
    return out


def make_one(folder, name):
    import warnings
    warnings.filterwarnings("ignore")
    import logging
    logging.disable(logging.WARNING)
    import onnxruntime
    import torch
    sys.path.insert(0, HERE)
    import export_models
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model, draw = export_models.MODELS[name]()
    quiet(torch, model)
    generator = torch.Generator().manual_seed(1)
    x = draw(BATCH * STEPS, generator)
    model.eval()
    with torch.no_grad():
        expected = first_of(model(x[:BATCH]))
        y = torch.randn((BATCH * STEPS,) + tuple(expected.shape[1:]), generator=generator)
    os.makedirs(folder, exist_ok=True)
    report = {"name": name}
    for form in FORMS:
        path = os.path.join(folder, form + ".onnx")
        try:
            export(torch, model, form, x[:BATCH], path)
        except Exception as e:
            report[form] = "not exported: " + str(e).strip().splitlines()[0][:150]
            continue
        report[form] = "exported"
        if form != "default":
            continue
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        got = session.run(None, {session.get_inputs()[0].name: x[:BATCH].numpy()})[0]
        np.save(os.path.join(folder, "runtime.npy"), got)
    reference = torch_reference(torch, model, x, y)
    reference["eval"] = expected.numpy()
    np.savez(os.path.join(folder, "torch.npz"), **reference)
    np.savez(os.path.join(folder, "data.npz"), x=x.numpy(), y=y.numpy())
    np.save(os.path.join(folder, "x.npy"), x[:BATCH].numpy())
    json.dump(report, open(os.path.join(folder, "report.json"), "w"))


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


def keras_make_one(folder, name):
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
    path = os.path.join(folder, "default.onnx")
    report = {"name": name, "default": "exported", "baked": "no such form", "recommended": "no such form"}
    try:
        model.export(path, format="onnx", verbose=False)
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        np.save(os.path.join(folder, "runtime.npy"), session.run(None, {session.get_inputs()[0].name: x[:BATCH]})[0])
    except Exception as e:
        report["default"] = "not exported: " + str(e).strip().splitlines()[0][:150]
    start = [v.numpy().copy() for v in model.variables]
    nudge = [v * (1 + np.float32(6e-8) * np.sign(generator.standard_normal(v.shape)).astype(np.float32)) if v.ndim > 1 else v for v in start]
    loss, gradients, after = keras_train(model, start, x, y, RATES[0])
    _, gradients2, after2 = keras_train(model, nudge, x, y, RATES[0])
    out = {"rate": np.array(RATES[0]), "loss": np.array(loss), "names": np.array(sorted(gradients)), "tied": np.array("[]"), "eval": expected}
    for k, g in gradients.items():
        out["grad:" + k], out["grad-noise:" + k] = g, np.abs(g - gradients2[k]).max(initial=0)
    for v, value in zip(model.variables, start):
        if np.asarray(value).dtype.kind == "f":
            out["start:" + v.path], out["after:" + v.path], out["after-noise:" + v.path] = value, after[v.path], np.abs(after[v.path] - after2[v.path]).max(initial=0)
    np.savez(os.path.join(folder, "torch.npz"), **out)
    np.savez(os.path.join(folder, "data.npz"), x=x, y=y)
    np.save(os.path.join(folder, "x.npy"), x[:BATCH])
    json.dump(report, open(os.path.join(folder, "report.json"), "w"))


def make(options):
    sys.path.insert(0, HERE)
    import export_models
    names = [n for n in list(export_models.MODELS) + KERAS if fnmatch.fnmatch(n, options.only)]
    running = []
    for name in names:
        folder = os.path.join(options.folder, name)
        if os.path.exists(os.path.join(folder, "report.json")) and not options.again:
            continue
        while len(running) >= options.jobs:
            running[0][1].wait()
            running.pop(0)
        os.makedirs(folder, exist_ok=True)
        log = open(os.path.join(folder, "log.txt"), "w")
        command = [sys.executable, os.path.abspath(__file__), "make-one", options.folder, "--only", name]
        running.append((name, subprocess.Popen(command, stdout=log, stderr=log, env=dict(os.environ, OMP_NUM_THREADS="1"))))
    for name, process in running:
        process.wait()
    for name in names:
        path = os.path.join(options.folder, name, "report.json")
        print(name, open(path).read() if os.path.exists(path) else "NOT MADE", flush=True)


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
    if got[0] != 0 and "one output" in got[2]:
        name = re.findall(r"'([^']+)'", got[2])
        first = json.loads(run([program, "inspect", path, "--batch", str(BATCH), "--json"])[1])["outputs"][0]["name"]
        got = run([program, "infer", path, "--batch", str(BATCH), "--input", os.path.join(folder, "x.npy"), "--output", first + "=" + out, "--threads", "1"])
    if got[0] != 0:
        return "infer: " + last_line(got[2])
    ours = np.load(out)
    if ours.shape != expected.shape:
        return "outputs are %s, not %s" % (ours.shape, expected.shape)
    far = float(np.abs(ours - expected).max() / max(np.abs(expected).max(), 1e-30))
    return None if far <= OUTPUT_LIMIT else "outputs differ by %.1e" % far


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


def farthest(ours, theirs, noise, limit):
    """By how much `ours` is off, in units of what is allowed."""
    allowed = max(limit * np.abs(theirs).max(initial=0), 10 * noise) + 1e-12
    return float(np.abs(ours.astype(np.float64) - theirs).max(initial=0) / allowed)


def layouts(ours, shape, negated):
    """How `ours` may be in a layout of this shape: its axes in another order, reshaped; gates of a recurrent layer's direction."""
    import itertools
    for d in range(ours.shape[0] if ours.ndim in (2, 3) and ours.shape[0] <= 2 else 0):
        if ours[d].size == int(np.prod(shape)) and ours.shape[1] % 4 == 0:  # i, o, f, c → i, f, c, o
            def gates(a, d=d):
                blocks = np.split(a[d], 4)
                return np.concatenate([blocks[k] for k in (0, 2, 3, 1)]).T.reshape(shape)
            yield d, gates
    for order in itertools.permutations(range(ours.ndim)) if ours.ndim <= 4 else [range(ours.ndim)]:
        if ours.size == int(np.prod(shape)):
            if negated:
                yield 0, lambda a, order=order: -a.transpose(order).reshape(shape)
                continue
            yield 0, lambda a, order=order: a.transpose(order).reshape(shape)


def keras_layer(name):
    """functional_1/dense_1_2/Cast/ReadVariableOp:0 → dense_1: the scopes of TensorFlow have a number of their own."""
    return [re.sub(r"_\d+$", "", part) for part in name.split("/")[1:]]


def keras_names(data, starts):
    """{name of Keras: (our name, how it becomes Keras's layout)}, by the numbers at the start and the names of layers."""
    found, used = {}, set()
    names = [str(n) for n in data["names"]]
    for strict in (True, False):  # layers that are named first
        for name in names:
            theirs = data["start:" + name]
            for our, value in starts.items():
                if name in found or strict and name.split("/")[:-1] != keras_layer(our)[:len(name.split("/")) - 1]:
                    continue
                for part, layout in layouts(value, theirs.shape, our.endswith("/Neg:0")):
                    if (our, part) not in used and np.allclose(layout(value), theirs, 1e-6, 1e-9):
                        found[name] = (our, layout)
                        used.add((our, part))
                        break
    return found


def in_names_of_keras(data, starts, tensors):
    found = keras_names(data, starts)
    taken = {our for our, _ in found.values()}
    renamed = {name: layout(tensors[our]) for name, (our, layout) in found.items() if our in tensors}
    return {**renamed, **{our: t for our, t in tensors.items() if our not in taken}}


def check_training(program, folder, path, work):
    """(problems, parameters of the framework's that are not trained or not in the file, what the program said)"""
    data = np.load(os.path.join(folder, "torch.npz"))
    gradients, weights = os.path.join(work, "g.safetensors"), os.path.join(work, "w.safetensors")
    command = [program, "train", path, "--data", os.path.join(folder, "data.npz"), "--no-shuffle", "--loss", "mse", "--optimizer", "sgd", "--lr", str(data["rate"]), "--batch",
               str(BATCH), "--steps", str(STEPS), "--threads", "2", "--dump-gradients", gradients, "--out", weights]
    for output in (gradients, weights):
        if os.path.exists(output):
            os.remove(output)
    code, out, said = run(command)
    if code != 0:
        return ["train: " + last_line(said)], [], said
    ours, after = read_safetensors(gradients), with_tied(data, read_safetensors(weights))
    if os.path.basename(folder) in KERAS:
        where = command.index("--lr") + 1
        os.remove(weights)
        run(command[:where] + ["1e-30"] + command[where + 1:-4] + ["--out", weights])
        starts = read_safetensors(weights)
        after, ours = in_names_of_keras(data, starts, after), in_names_of_keras(data, starts, ours)
    problems, names = [], [str(n) for n in data["names"] if "grad:" + str(n) in data]
    tied = tied_names(folder)
    ours = with_tied(data, ours)
    missing, extra = sorted(set(names) - set(ours)), sorted(set(ours) - set(names))
    extra = [n for n in extra if n not in tied]
    if missing:
        problems.append("%d not trained: %s" % (len(missing), " ".join(missing[:3])))
    if extra:
        problems.append("%d trained wrongly: %s" % (len(extra), " ".join(extra[:3])))
    worst = ("", 0.0)
    for name in set(names) & set(ours):
        reference = data["grad:" + name]
        if ours[name].shape != reference.shape:
            problems.append("%s is %s, not %s" % (name, ours[name].shape, reference.shape))
            continue
        far = farthest(ours[name], reference, float(data["grad-noise:" + name]), GRADIENT_LIMIT)
        worst = max(worst, (name, far), key=lambda w: w[1])
    if worst[1] > 1:
        problems.append("gradient of %s is %.1e limits off" % worst)
    state = names if os.path.basename(folder) in KERAS else [k[len("start:"):] for k in data if k.startswith("start:") and data[k].dtype.kind == "f"]
    absent = [n for n in state if n not in after]
    if absent:
        problems.append("%d of the state not in the file: %s" % (len(absent), " ".join(absent[:3])))
    problems += check_weights(data, state, after)
    return problems, sorted(set(missing) | set(absent) & {str(n) for n in data["names"]}), said


def check_weights(data, state, after):
    """The shapes of the state, and what it is after the updates."""
    problems, worst = [], ("", 0.0)
    for name in state:
        if name not in after:
            continue
        start, theirs, noise = data["start:" + name], data["after:" + name], float(data["after-noise:" + name])
        if after[name].shape != start.shape:
            problems.append("%s is %s in the file, not %s" % (name, after[name].shape, start.shape))
            continue
        moved = np.abs(theirs - start).max(initial=0)
        allowed = max(WEIGHT_LIMIT * moved, 10 * noise, 2e-7 * np.abs(start).max(initial=0)) + 1e-12
        worst = max(worst, (name, float(np.abs(after[name].astype(np.float64) - theirs).max(initial=0)) / allowed), key=lambda w: w[1])
    if worst[1] > 1:
        problems.append("%s after %d updates is %.1e limits off" % (worst[0], STEPS, worst[1]))
    return problems


def explains(warnings, lost, tied):
    """Whether warnings count every name of `lost`, and what they name is lost: a tensor, or the module of one."""
    counted = 0
    for text in warnings:
        found = re.fullmatch(r"(.*?)(?: and (\d+) more)?", text.split(";")[0].rsplit(": ", 1)[-1])
        names = ["/".join(keras_layer(n)) if any("/" in m for m in lost) else n for n in found.group(1).split(", ")]
        if not all(any(n == name or n.startswith(name + ".") or n.startswith(name + "/") for n in lost) or name in tied for name in names):
            continue
        total = sum(name not in tied for name in names) + int(found.group(2) or 0)
        modules = "batch norm" in text
        counted += 2 * total + sum(n.endswith(("/kernel", "bias")) for n in lost) if modules else total
    return counted >= len(lost) > 0


def judge(program, folder, form, work):
    report = json.load(open(os.path.join(folder, "report.json")))
    if report[form] != "exported":
        return "none", report[form]
    path = os.path.join(folder, form + ".onnx")
    outputs = check_outputs(program, folder, path, work) if form != "baked" else None
    training, lost, said = check_training(program, folder, path, work)
    problems = ([outputs] if outputs else []) + training
    warned = [line.split("warning: ", 1)[1] for line in said.splitlines() if ": warning: " in line]
    if not problems:
        return "right", (" | " + warned[0][:120]) if warned else ""
    if not outputs and explains(warned, lost, tied_names(folder)):
        return "said", "; ".join(problems) + " | " + warned[0][:200]
    if all(p.startswith(("train: ", "infer: ")) for p in problems):
        return "said" if "export" in problems[-1] else "refused", "; ".join(problems)
    return "WRONG", "; ".join(problems) + "".join(" | " + w for w in warned)


def check(options):
    names = sorted(n for n in os.listdir(options.folder) if fnmatch.fnmatch(n, options.only) and os.path.exists(os.path.join(options.folder, n, "report.json")))
    forms = [options.form] if options.form else FORMS
    counts = {form: {} for form in forms}
    with tempfile.TemporaryDirectory() as work:
        for name in names:
            for form in forms:
                try:
                    verdict, why = judge(options.program, os.path.join(options.folder, name), form, work)
                except subprocess.TimeoutExpired:
                    verdict, why = "refused", "more than 600 s"
                counts[form][verdict] = counts[form].get(verdict, 0) + 1
                print("%-42s %-12s %-8s %s" % (name, form, verdict, why), flush=True)
    good = True
    for form in forms:
        c = counts[form]
        total = sum(v for k, v in c.items() if k != "none")
        right, said = c.get("right", 0), c.get("said", 0)
        print("%-12s %d exported: %d right, %d said what is lost, %d refused, %d silently different" % (form, total, right, said, c.get("refused", 0), c.get("WRONG", 0)))
        good &= c.get("WRONG", 0) == 0
        good &= right >= 0.95 * total if form == "recommended" else right + said >= 0.9 * total
    return 0 if good else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["make", "make-one", "check"])
    parser.add_argument("paths", nargs="+")
    parser.add_argument("--only", default="*")
    parser.add_argument("--form", choices=FORMS)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--again", action="store_true")
    options = parser.parse_args()
    options.folder = options.paths[-1]
    options.program = options.paths[0]
    if options.what == "make-one":
        return (keras_make_one if options.only in KERAS else make_one)(os.path.join(options.folder, options.only), options.only)
    return make(options) if options.what == "make" else check(options)


if __name__ == "__main__":
    sys.exit(main())
