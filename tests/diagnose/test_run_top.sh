#!/bin/bash
# `plimsoll top`: the table, the limits above it, JSON, GPUs through a driver library when there is one, bad input.
program=$1
work=$(mktemp -d)
trap 'rm -rf "$work"; [ -z "$holder" ] || kill "$holder" 2>/dev/null' EXIT
cd "$work" || exit 1
fail() { echo "FAILED: $*"; cat out err 2>/dev/null; exit 1; }

"$program" top --once > out 2> err || fail "--once"
for word in memory cgroup ulimit commit RSS PSS SWAP SHARED GPU GROWTH PROCESS; do
    [ $word = cgroup ] && ! grep -q cgroup /proc/self/mountinfo && continue
    grep -q "$word" out || fail "no $word"
done
grep -c "GPUs are left out" out | grep -qx 1 || grep -q "^GPU 0" out || fail "GPUs are neither shown nor excused once"
"$program" top > out 2> err || fail "without a terminal it prints once"
[ "$("$program" top --once --rows 3 --sort pid | grep -c '^ *[0-9]\+ ')" -eq 3 ] || fail "--rows"
grep -q '^ *1 ' <("$program" top --once --sort pid --rows 1) || fail "--sort pid"

for bad in '--sort nonsense' '--rows 0' '--rows x' '--interval 0' '--interval nan' 'extra'; do
    "$program" top --once $bad > out 2> err
    [ $? -eq 2 ] && [ ! -s out ] || fail "$bad is a usage error"
done
"$program" top --once > /dev/full 2> err; [ $? -eq 1 ] || fail "a full disk"

command -v python3 >/dev/null || { echo "top shows the table (JSON not checked: no python3)"; exit 0; }
# a process that holds 80 MB and takes 10 MB more each tenth of a second
python3 -c '
import time
held = [bytearray(b"x") * 80_000_000]
open("ready", "w").write("x")
for _ in range(600):
    held.append(bytearray(b"x") * 1_000_000)
    time.sleep(0.1)' &
holder=$!
while [ ! -s ready ]; do sleep 0.02; done
"$program" top --json --sort growth > out 2> err || fail "--json"
[ ! -s err ] || fail "--json writes to standard error"
HOLDER=$holder python3 - <<'PY' || fail "the JSON"
import json, os
top = json.load(open("out"))
rows = {row["pid"]: row for row in top["processes"]}
row = rows[int(os.environ["HOLDER"])]
assert row["rss"] > 80_000_000 and row["growth_bytes_per_minute"] > 100_000_000, row
assert "python" in row["command"], row
if row["pss"] is not None:
    assert 80_000_000 < row["pss"] <= row["rss"], row
growth = [r["growth_bytes_per_minute"] for r in top["processes"] if r["growth_bytes_per_minute"] is not None]
assert growth == sorted(growth, reverse=True)
limits = top["limits"]
total = int(next(line for line in open("/proc/meminfo") if line.startswith("MemTotal")).split()[1]) * 1024
assert limits["memory_total"] == total and 0 < limits["available"] <= total, limits
assert set(limits) >= {"limiter", "cgroup", "rlimit_as", "rlimit_data", "overcommit", "commit_limit", "shm_total", "shm_used"}
PY
# large enough for a sanitizer's shadow
(ulimit -v 60000000000; "$program" top --json > out 2> err) && grep -q '"rlimit_as": 61440000000000' out || fail "ulimit -v is not seen"

# a made-up driver library with one GPU, on which the holder has 3 GiB
command -v cc >/dev/null || { echo "top shows the table (GPUs not checked: no cc)"; exit 0; }
cat > nvml.c <<C
#include <string.h>
typedef struct { unsigned long long total, free, used; } memory;
typedef struct { unsigned pid; unsigned long long bytes; unsigned a, b; } process;
int nvmlInit_v2(void) { return 0; }
int nvmlShutdown(void) { return 0; }
int nvmlDeviceGetCount_v2(unsigned *n) { *n = 1; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **h) { *h = (void *)(long)(i + 1); return 0; }
int nvmlDeviceGetName(void *h, char *name, unsigned size) { strncpy(name, "Made-up GPU", size); return 0; }
int nvmlDeviceGetMemoryInfo(void *h, memory *m) { m->total = 24ULL << 30; m->used = 5ULL << 30; m->free = 19ULL << 30; return 0; }
int nvmlDeviceGetComputeRunningProcesses_v3(void *h, unsigned *n, process *p) {
    *n = 2;
    p[0] = (process){$holder, 3ULL << 30, 0, 0};
    p[1] = (process){4000000, 1ULL << 30, 0, 0};
    return 0;
}
C
cc -shared -fPIC -w -o libnvidia-ml.so.1 nvml.c || fail "the made-up library"
LD_LIBRARY_PATH=$work "$program" top --once --sort gpu > out 2> err || fail "with a GPU"
grep -q "^GPU 0 .*5.0 GiB of *24.0 GiB  Made-up GPU" out || fail "the GPU's line"
grep -A1 PROCESS out | tail -1 | grep -q "^ *$holder .* 3.0 GiB" || fail "the process on the GPU"
LD_LIBRARY_PATH=$work "$program" top --json > out 2> err || fail "--json with a GPU"
grep -q '"gpu": 3221225472' out && grep -q '"gpu_note": null' out || fail "the GPU in JSON"
LD_LIBRARY_PATH=$work "$program" run --json found.json -- sleep 0.3 2> err || fail "run with a GPU"
grep -q '"gpu": 0' found.json || fail "others' GPU memory is taken for the command's"
echo "top shows the table"
