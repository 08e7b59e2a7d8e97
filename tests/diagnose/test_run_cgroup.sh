#!/bin/bash
# In a memory cgroup: a Python process killed by the kernel for memory is told apart from one killed by hand.
program=$1
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
if [ -w /sys/fs/cgroup/memory/memory.limit_in_bytes ]; then
    group=/sys/fs/cgroup/memory/plimsoll-test-$$ limit=memory.limit_in_bytes
elif [ -w /sys/fs/cgroup/cgroup.procs ] && grep -qw memory /sys/fs/cgroup/cgroup.subtree_control 2>/dev/null; then
    group=/sys/fs/cgroup/plimsoll-test-$$ limit=memory.max
else
    echo "skipped: no memory cgroup that this user may make groups in"; exit 77
fi
mkdir "$group" 2>/dev/null && echo 150M > "$group/$limit" 2>/dev/null || { rmdir "$group" 2>/dev/null; echo "skipped: cannot make $group"; exit 77; }
[ ! -e "$group/memory.swap.max" ] || echo 0 > "$group/memory.swap.max"
work=$(mktemp -d)
# what is left in the group goes back to where we are, so that it can be removed
trap 'for p in $(cat "$group/cgroup.procs" 2>/dev/null); do kill -9 "$p" 2>/dev/null; done; sleep 0.1; rmdir "$group"; rm -rf "$work"' EXIT
cd "$work" || exit 1
fail() { echo "FAILED: $*"; cat found.json err; exit 1; }
inside() { sh -c 'echo $$ > "$0/cgroup.procs"; exec "$@"' "$group" "$@"; }
has() { grep -q "\"$1\": \"\{0,1\}$2" found.json; }

cat > leak.py <<'PY'
import os, time
open("pid", "w").write(str(os.getpid()))
pieces = []
for step in range(1000):
    pieces.append(bytearray(b"x") * 1_000_000)
    print("step", step, flush=True)
    time.sleep(0.02)
PY

# killed by the kernel, after a leak
inside "$program" run --json found.json -- python3 leak.py > /dev/null 2> err
[ $? -eq 137 ] || fail "exit code"
has kind oom_cgroup && has memory true && has certain true || fail "the kernel's kill is not recognised"
has kind growth && has leak true || fail "the leak is not recognised"
grep -q "kernel killed the command because its cgroup ran out of memory (limit 150.0 MiB)" err || fail "the report"
has cause limit && has limit_bytes 157286400 || fail "the kernel's kill is not explained"
grep -q "What to try" err || fail "no fix is told"
grep -Eq '[┤+]' err || fail "the curve is not drawn"

# killed by the kernel at once: faster than any sampling
inside "$program" run --json found.json -- python3 -c 'x = bytearray(b"x") * 1_000_000_000' > /dev/null 2> err
[ $? -eq 137 ] && has kind oom_cgroup || fail "a fast kill"
has kind cliff || fail "the cliff is not recognised"

# the command moves itself into the group
"$program" run --json found.json -- sh -c 'echo $$ > "$0/cgroup.procs"; exec python3 leak.py' "$group" > /dev/null 2> err
[ $? -eq 137 ] && has kind oom_cgroup || fail "a command that moved to another cgroup"

# one of its processes is killed, and it gives up
inside "$program" run --json found.json -- sh -c 'python3 leak.py; exit 3' > /dev/null 2> err
[ $? -eq 3 ] && has kind oom_child || fail "a killed worker"

# killed by hand, in the same group, while it leaks
rm -f pid
inside "$program" run --json found.json -- python3 leak.py > /dev/null 2> err &
runner=$!
while [ ! -s pid ]; do sleep 0.02; done
sleep 0.5
kill -9 "$(cat pid)"
wait $runner
[ $? -eq 137 ] || fail "exit code"
has kind killed && has memory false && has explanation null || fail "a kill by hand is taken for the kernel's"
grep -q "Someone killed the command" err || fail "the report"

# killed by hand, while the kernel kills another process of the group
rm -f pid
inside "$program" run --json found.json -- sh -c 'echo $$ > pid; exec sleep 60' > /dev/null 2> err &
runner=$!
while [ ! -s pid ]; do sleep 0.02; done
sleep 0.3
inside python3 -c 'x = bytearray(b"x") * 1_000_000_000'
kill -9 "$(cat pid)"
wait $runner
if dmesg >/dev/null 2>&1 && [ "$(readlink /proc/self/ns/pid)" = "pid:[4026531836]" ]; then
    has kind killed || fail "another process's death is taken for the command's"
fi
echo "the kernel and the hand are told apart"
