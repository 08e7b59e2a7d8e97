"""Writes grammar.def, the operators of ONNX as its own schemas describe them: types of inputs, attributes.
    python3 fuzz/make_grammar.py > fuzz/grammar.def          needs the package onnx"""
import onnx
from onnx import defs

LETTERS = {"tensor(float)": "f", "tensor(double)": "d", "tensor(float16)": "h", "tensor(bfloat16)": "b", "tensor(int64)": "i",
           "tensor(int32)": "j", "tensor(bool)": "o", "tensor(uint8)": "u", "tensor(int8)": "c"}
KINDS = {defs.OpSchema.AttrType.INT: "INT", defs.OpSchema.AttrType.INTS: "INTS", defs.OpSchema.AttrType.FLOAT: "FLOAT",
         defs.OpSchema.AttrType.FLOATS: "FLOATS", defs.OpSchema.AttrType.STRING: "STRING",
         defs.OpSchema.AttrType.STRINGS: "STRINGS", defs.OpSchema.AttrType.TENSOR: "TENSOR"}

rows = {}
for schema in defs.get_all_schemas_with_history():
    if schema.domain != "":
        continue
    inputs, attributes = rows.setdefault(schema.name, ([], {}))
    for i, given in enumerate(schema.inputs):
        letters = {LETTERS[t] for t in given.types if t in LETTERS}
        if i == len(inputs):
            inputs.append(set())
        inputs[i] |= letters
    for name, attribute in schema.attributes.items():
        if attribute.type in KINDS:
            attributes[name] = KINDS[attribute.type]

print(f"/* Operators of ONNX as the schemas of onnx {onnx.__version__} describe them, all versions together; made by make_grammar.py.")
print(" *     OPERATOR(name, types of its inputs, attributes)")
print(" * A type is a letter: f float32, d float64, h float16, b bfloat16, i int64, j int32, o bool, u uint8, c int8. */")
for name in sorted(rows):
    inputs, attributes = rows[name]
    types = ",".join("".join(sorted(letters, key="fijoduchb".index)) for letters in inputs)
    named = " ".join(f"{kind}:{key}" for key, kind in sorted(attributes.items()))
    print(f'OPERATOR({name}, "{types}", "{named}")')
