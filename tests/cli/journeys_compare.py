"""Whether `plimsoll predict` says what onnxruntime said, for every sample of the five journeys; the models are in MODELS, the data in
the current folder.

usage: journeys_compare.py PLIMSOLL MODELS EXPECTED.json"""
import json, subprocess, sys

program, models, expected = sys.argv[1:]
right = json.load(open(expected))


def predict(model, *options):
    said = subprocess.run([program, "predict", f"{models}/{model}", *options], check=True, capture_output=True, text=True).stdout
    return [json.loads(line) for line in said.splitlines()]


def compare(journey, ours):
    ours = {row["sample"]: row for row in ours}
    assert len(ours) == len(right[journey]), (journey, len(ours), len(right[journey]))
    for name, kind, probability in right[journey]:
        row = ours[name]
        assert abs(row["probability"] - probability) < 5e-5, (journey, name, row, kind, probability)
        assert row["class"] == kind or probability < 0.5001, (journey, name, row, kind, probability)
    return f"{len(ours)} of {journey}"


table = []
for path in "strangers.csv", "people.csv":
    for i, row in enumerate(predict("table-trained.onnx", path, "--format", "jsonl")):
        table.append({**row, "sample": f"{path} {i + 1}"})
said = [compare("images", predict("images-trained.onnx", "photos", "--format", "jsonl")), compare("table", table),
        compare("arrays", predict("arrays-trained.onnx", "last.npz", "--format", "jsonl")),
        compare("fine_tune", predict("tuned-trained.onnx", "photos", "--format", "jsonl"))]
for options, tokens in zip((["--temperature", "0"], ["--temperature", "0.5", "--seed", "1"]), right["text"]):
    out = subprocess.run([program, "predict", f"{models}/text-trained.onnx", "--tokenizer", "tokenizer.json", "--prompt", "the cat", "--generate", "40",
                          "--json", *options], check=True, capture_output=True, text=True).stdout
    assert json.loads(out)["tokens"] == tokens, (options, json.loads(out)["tokens"], tokens)
print("onnxruntime agrees:", ", ".join(said), "and 80 tokens of text")
