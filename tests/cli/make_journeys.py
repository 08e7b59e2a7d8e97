"""The models that the journeys of examples/ end with, and what onnxruntime predicts with them, into tests/cli/data/journeys/:
test_journeys.sh compares with that where onnxruntime is not installed.

usage: make_journeys.py PLIMSOLL      (needs numpy and onnxruntime; run again when the examples, the zoo or the data change)"""
import os, shutil, subprocess, sys, tempfile
here, program = os.path.dirname(os.path.abspath(__file__)), os.path.abspath(sys.argv[1])
with tempfile.TemporaryDirectory() as folder:
    subprocess.run(["bash", f"{here}/test_journeys.sh", program, os.path.dirname(os.path.dirname(here)), folder], check=True)
    out = f"{here}/data/journeys"
    os.makedirs(out, exist_ok=True)
    subprocess.run([sys.executable, f"{here}/journeys_onnxruntime.py", f"{out}/predictions.json"], check=True, cwd=folder)
    for name in "images", "table", "arrays", "text", "tuned":
        shutil.copyfile(f"{folder}/{name}-trained.onnx", f"{out}/{name}-trained.onnx")
