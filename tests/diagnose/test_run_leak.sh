#!/bin/bash
# A leaking loop is called a leak with its rate within 10 %, per minute and per step; a healthy one is not.
program=$1
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
fail() { echo "FAILED: $*"; [ ! -e found.json ] || cat found.json; exit 1; }
field() { sed -n "s/^ *\"$1\": \"\{0,1\}\([^\",]*\)\"\{0,1\},\{0,1\}\$/\1/p" found.json | head -1; }
within() { awk -v a="$1" -v b="$2" -v share="$3" 'BEGIN { d = a / b - 1; if (d < 0) d = -d; exit !(d <= share) }'; }

cat > leak.py <<'PY'
import sys, time
pieces, start = [], time.monotonic()
for step in range(250):
    pieces.append(bytearray(b"x") * 700_000)
    print("step", step, flush=True)
    # by the clock: steps that came late on a busy machine are made up for, so that the rate is the same all the time
    time.sleep(max(0, start + 0.02 * (step + 1) - time.monotonic()))
sys.exit(5)
PY
"$program" run --json found.json --record record.jsonl -- python3 leak.py > /dev/null 2> err
[ $? -eq 5 ] || fail "exit code"
[ "$(field leak)" = true ] || fail "the leak is not seen"
python3 - <<'PY' || fail "the rate"
# The true rate follows from the steps of the record. A machine that is too busy for the pace makes it uneven: then it is one
# of those that parts of the stretch had.
import json
curve = json.load(open("found.json"))["curve"]
samples = [s for s in map(json.loads, open("record.jsonl")) if "t" in s and s.get("step") is not None]
samples = [s for s in samples if curve["from_seconds"] <= s["t"] <= curve["to_seconds"]]
ends = [samples[i * (len(samples) - 1) // 4] for i in range(5)]
rates = [700_000 * 60 * (b["step"] - a["step"]) / (b["t"] - a["t"]) for a, b in zip(ends, ends[1:])]
rate = curve["bytes_per_minute"]
print("rate %.4g, true %.4g to %.4g" % (rate, min(rates), max(rates)))
assert 0.9 * min(rates) <= rate <= 1.1 * max(rates)
PY
within "$(field bytes_per_step)" 700000 0.1 || fail "per step $(field bytes_per_step), true 700000"
grep -q "a leak" err || fail "the report does not say so"

# the record: a header, then samples whose time goes on
head -1 record.jsonl | grep -q '"plimsoll_record":1' || fail "the record's first line"
python3 - <<'PY' || fail "the record"
import json
header, *samples = [json.loads(line) for line in open("record.jsonl")]
assert header["command"][-1] == "leak.py", header
assert len(samples) > 50, len(samples)
assert all(a["t"] < b["t"] for a, b in zip(samples, samples[1:]))
assert max(s["rss"] for s in samples[-9:]) > samples[len(samples) // 2]["rss"] > 0 and max(s["step"] or 0 for s in samples) > 200
found = json.load(open("found.json"))
assert found["exit_code"] == 5 and found["signal"] is None and found["death"]["kind"] == "exit"
assert found["peak"]["rss"] >= 170_000_000 and found["curve"]["kind"] == "growth"
PY

# the record opens as a report, with the peak that was seen
"$program" report record.jsonl -o record.html > said 2>&1 || fail "the record does not open: $(cat said)"
grep -q "peak 1[0-9][0-9]\.[0-9] MiB" said && [ -s record.html ] || fail "the record's report: $(cat said)"
head -3 record.jsonl | cut -c1-60 > broken.jsonl
"$program" report broken.jsonl -o broken.html > said 2>&1 && fail "a broken record opens"

# the same in a child of a child
"$program" run --json found.json -- sh -c 'sh -c "python3 leak.py; exit \$?"; exit $?' > /dev/null 2> err
[ $? -eq 5 ] && [ "$(field leak)" = true ] || fail "a leak in a grandchild"

cat > healthy.py <<'PY'
import time, sys
weights = bytearray(b"x") * 60_000_000
for step in range(200):
    batch = bytearray(b"y") * (20_000_000 + 3_000_000 * (step * 7 % 11))
    print("step", step, flush=True)
    time.sleep(0.01)
    del batch
    time.sleep(0.01)
sys.exit(1)
PY
"$program" run --json found.json -- python3 healthy.py > /dev/null 2> err
[ "$(field leak)" = false ] || fail "a healthy loop is called a leak"
grep -q "no leak" err || fail "the report does not say that there is none: $(cat err)"
echo "leaks are told"

# a leak that meets ulimit -v is a leak, whatever its last line says, and a higher limit is not the first advice
cat > limited.py <<'PY'
import time
kept = []
for step in range(100000):
    kept.append(bytearray(b"x") * 2_000_000)
    print("step", step, flush=True)
    time.sleep(0.02)
PY
if ! grep -q __asan_init "$program" 2>/dev/null; then
    (ulimit -v 600000; "$program" run --json found.json -- python3 limited.py > /dev/null 2> err)
    grep -q MemoryError err || fail "it was to run out of memory"
    grep -q "A leak: memory grew by" err || fail "the headline is not the leak"
    grep -A1 "What to try" err | grep -q "Find what each step keeps" || fail "the first advice"
    grep -q "(python3) grew by" err || fail "who grew"
fi
