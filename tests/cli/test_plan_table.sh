# The numbers of a plan do not contradict each other: no row of its table is for a budget below the smallest that works, no two
# rows are the same but for their budget, and the least of them is the smallest budget. Logs are a row of the plan.
. "$(dirname "$0")/begin.sh"
if grep -q __asan_init "$program" 2>/dev/null; then echo "skipped: sanitizers have memory of their own"; exit 77; fi
"$program" zoo lenet --width 4 --image 8 --channels 3 --classes 3 -o small.onnx >/dev/null || fail "zoo"
python3 "$source/tests/cli/make_job_data.py" . || fail "data"
plan="$program plan small.onnx --data photos --augment rotate=10 --batch 16 --threads 1"
for budget in 29 40; do
    $plan --budget ${budget}MiB --report page-$budget.html >table 2>errors || fail "plan: $(cat errors)"
    awk -v asked=$budget '
        /^Other budgets/ { inside = 1; next }
        inside && $1 == "budget" { next }
        inside && /MiB/ && !/^Smallest/ {
            rows++
            chosen = sub(/^> /, "  ")
            if (chosen && $1 > asked) bad = "the plan needs more than was asked for"
            if (!least || $1 < least) least = $1
            key = $3 $4 $5 $6 $7 $8 $9
            if (seen[key]++) bad = "two rows with " key
        }
        /^Smallest budget/ { smallest = $3 }
        END {
            if (!rows) bad = "no rows"
            if (least != smallest) bad = "the least row is " least ", the smallest budget " smallest
            if (bad) { print bad; exit 1 }
        }' table || { cat table; fail "the table of $budget MiB contradicts itself"; }
done

# Logs are a row of the plan, of the same size for plan and train, and beside the others within the whole.
$plan --budget 40MiB --log run.csv --tensorboard events --json >logs.json || fail "plan with logs"
[ ! -e run.csv ] && [ ! -e events ] || fail "plan wrote a log"
python3 - <<'PY' || fail "logs are no row of the plan"
import json
logs = json.load(open("logs.json"))
assert logs["by_kind"]["logs"] > 10000, logs["by_kind"]
assert sum(logs["by_kind"].values()) <= logs["process_bytes"]
PY
grep -q "logs" table && fail "logs are a row where there are none"
# A page's commands have what the plan was made with, threads too.
grep -q "plimsoll plan small.onnx --data photos .*--threads 1 --budget 40MiB" page-40.html || fail "the page's command is another one"
