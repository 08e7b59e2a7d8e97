#!/bin/sh
# Benchmarks beside the real peers, in one run. Makes its own virtual environment with PyTorch 2.13 (CPU), measures, and
# writes bench/RESULTS.md and bench/frontier.svg.
#   bench/run.sh PLIMSOLL [THREADS [PART...]]
# Parts: forward, packing, parity, race, shapes, precision, lora, epochs, budget, recording; and learning, which is not timed, takes half an hour
# and runs only where it is named. RACE_MODELS is a comma-separated subset of the race. What was measured stays in bench/measured, so
# that one part can be measured again by itself; without PARTs those are left out that this very program was measured with before, so a
# run that was stopped goes on. PACKING_INSTANCES is a folder with instances of MiniMalloc (NAME.CAPACITY.csv); unless it is set they are
# fetched from its repository.
# Two builds of our own beside each other: bench/builds.py.
set -eu
program=$(realpath "$1")
threads=${2:-$(nproc)}
named=$#
[ $# -gt 2 ] && shift 2 || set -- forward packing parity race shapes precision lora epochs budget recording
here=$(cd "$(dirname "$0")" && pwd)
python=$here/venv/bin/python measured=$here/measured

"$here/../scripts/setup.sh" python3 python3-dev python3-venv g++ # torch.compile compiles C++
if ! "$python" -c 'import torch, onnx, onnxscript, numpy' 2>/dev/null; then
    echo "making $here/venv with PyTorch 2.13"
    python3 -m venv "$here/venv"
    "$here/venv/bin/pip" install -q torch==2.13.0 numpy onnx onnxscript
fi
mkdir -p "$measured"

parity=0 learning=0 build=$(sha256sum < "$program")
for part; do
    if [ "$named" -le 2 ] && [ "$(cat "$measured/$part.build" 2> /dev/null)" = "$build" ]; then
        echo "$part: measured already (bench/measured/$part.build)"
        continue
    fi
    case $part in
    forward) echo "forward, against eager PyTorch, $threads threads:"
        "$python" "$here/forward.py" "$program" "$measured/forward.json" --threads "$threads" ;;
    packing) echo "packing:"
        "$python" "$here/packing.py" "$program" "${PACKING_INSTANCES:-$measured/packing}" "$measured/packing.json" ;;
    parity) echo "parity of training:"
        "$python" "$here/parity.py" "$program" --out "$measured/parity.json" --threads "$threads" --noise || parity=1 ;;
    race) echo "the race, against the fastest PyTorch, $threads threads:"
        "$python" "$here/race.py" "$program" "$measured/race.json" --threads "$threads" ${RACE_MODELS:+--only "$RACE_MODELS"} ;;
    shapes) echo "odd shapes beside round ones, $threads threads:"
        "$python" "$here/shapes.py" "$program" "$measured/shapes.json" --threads "$threads" ;;
    precision) echo "bfloat16 beside PyTorch's autocast, $threads threads:"
        "$python" "$here/precision.py" "$program" "$measured/precision.json" --threads "$threads" ;;
    lora) echo "adapters for 1.1 billion parameters, beside PEFT:"
        "$python" -c 'import transformers, peft' 2>/dev/null || "$here/venv/bin/pip" install -q transformers peft
        "$python" "$here/lora.py" "$program" "$measured/lora.json" --threads "$threads" ;;
    epochs) echo "five epochs of Fashion-MNIST:"
        "$python" "$here/epochs.py" "$program" "$measured/epochs.json" --threads "$threads" ;;
    learning) echo "learning with fewer bits:"
        "$python" "$here/learning.py" "$program" "$measured/learning.json" --threads "$threads" || learning=1 ;;
    budget) echo "training within a budget:"
        "$python" "$here/budget.py" "$program" "$measured/budget.json" "$here/frontier.svg" --threads "$threads" ;;
    recording) echo "what recording costs:"
        "$python" "$here/recording.py" "$program" "$measured/recording.json" --threads "$threads" ;;
    *) echo "run.sh: no part is called '$part'" >&2; exit 2 ;;
    esac
    echo "$build" > "$measured/$part.build"
done
"$python" "$here/results.py" "$measured" > "$measured/RESULTS.md"
cp "$measured/RESULTS.md" "$here/RESULTS.md"
echo "wrote bench/RESULTS.md"
exit $((parity | learning))
