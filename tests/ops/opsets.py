"""Compares rows of the operator table (JSON of `plimsoll ops`) with the schemas of the onnx package."""
import collections
import json
import sys

import onnx.defs

NEWEST = 24
# What a newer version added, and why the row may still cover it.
ALLOWED = {
    ("Cast", "saturate"): "float8 only", ("CastLike", "saturate"): "float8 only",
    ("Cast", "round_mode"): "float8e8m0 only", ("CastLike", "round_mode"): "float8e8m0 only",
    ("QuantizeLinear", "precision"): "refused", ("DequantizeLinear", "output_dtype"): "refused",
}
EXTENDED = {"Attention": "nonpad_kv_seqlen, which the row reads"}  # optional inputs that a newer version added at the end
EXPERIMENTAL = {"ThresholdedRelu"}  # in files before the version that made it an operator
history = collections.defaultdict(list)
for schema in onnx.defs.get_all_schemas_with_history():
    history[schema.domain, schema.name].append(schema)


def last(versions, opset):
    known = [s for s in versions if s.since_version <= opset]
    return max(known, key=lambda s: s.since_version) if known else None


def shape(schema):
    attributes = {a.name: (a.type.name, a.required) for a in schema.attributes.values()}
    return [i.option.name for i in schema.inputs], [o.option.name for o in schema.outputs], attributes


wrong, compared = [], 0
for row in json.load(sys.stdin)["operators"]:
    domain = "" if row["domain"] == "ai.onnx" else row["domain"]
    if domain:
        continue
    versions = history[domain, row["name"]]
    first, newest = last(versions, row["since"]), last(versions, row["until"])
    if not versions or (not first and row["name"] not in EXPERIMENTAL):
        wrong.append(f"{row['name']}: no such operator in opset {row['since']}")
        continue
    if row["until"] > NEWEST:
        wrong.append(f"{row['name']}: opset {row['until']} was not compared")
    for opset in range(max(21, row["since"]), row["until"] + 1):  # older ones have tests of their own
        old, new = last(versions, max(21, row["since"])), last(versions, opset)
        if old.since_version == new.since_version:
            continue
        compared += 1
        (a, b, c), (x, y, z) = shape(old), shape(new)
        changed = {k for k in set(c) | set(z) if c.get(k) != z.get(k) and (row["name"], k) not in ALLOWED}
        if row["name"] in EXTENDED and x[:len(a)] == a and set(x[len(a):]) == {"Optional"}:
            a = x
        if new.deprecated or a != x or b != y or changed:
            wrong.append(f"{row['name']}: opset {new.since_version} is not {old.since_version}: {changed or (a, x, b, y)}")
print(f"{compared} newer versions compared")
for line in wrong:
    print(line)
sys.exit(bool(wrong) or compared < 40)
