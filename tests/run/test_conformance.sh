# ONNX's own conformance cases: every model of PyTorch and at least 780 in all pass, none gives a wrong answer, and
# each of the rest says what is not supported.
data=/usr/share/libonnx-testdata/data
[ -d "$data" ] || { echo "skipped: $data is not there (libonnx-testdata)"; exit 77; }
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
"$1" check "$data" --json | python3 -c '
import json, sys
found = json.load(sys.stdin)
print(found["passed"], "passed,", found["failed"], "failed,", found["unsupported"], "unsupported")
assert found["failed"] == 0, [case for case in found["cases"] if case["status"] == "failed"]
assert found["passed"] >= 780
assert found["passed"] + found["unsupported"] == len(found["cases"])
for case in found["cases"]:
    assert case["status"] != "passed" or not case["reason"]
    assert case["status"] != "unsupported" or "unsupported: operator " in case["reason"], case
' || exit 1
# The operators of training: optimizers and gradients. One model was published with a mistake, and that is said.
"$1" check "$data"/node/test_ada* "$data"/node/test_momentum* "$data"/node/test_nesterov* "$data"/simple/test_gradient* \
    --json | python3 -c '
import json, sys
found = json.load(sys.stdin)
assert len(found["cases"]) == found["passed"] == 9, found
assert [case["name"] for case in found["cases"] if case.get("corrected")] == ["test_adam_multiple"], found
' || exit 1
"$1" check "$data"/pytorch-* --json | python3 -c '
import json, sys
found = json.load(sys.stdin)
assert len(found["cases"]) == found["passed"] == 117, found
'
