# For tests that train within budgets: a memory cgroup to run in, whose limit is the budget, and a folder to work in. Sourced
# as  . memory_group.sh NAME  with $program set; skips the test where it would measure something else.
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
case $("$program" inspect --help 2>/dev/null) in "") echo "no program"; exit 1;; esac
if grep -q __asan_init "$program" 2>/dev/null; then echo "skipped: sanitizers have memory of their own"; exit 77; fi
export PLIMSOLL_COSTS=default OMP_WAIT_POLICY=passive
group= limit=
if [ -w /sys/fs/cgroup/memory/memory.limit_in_bytes ]; then
    group=/sys/fs/cgroup/memory/plimsoll-$1-$$ limit=memory.limit_in_bytes
elif [ -w /sys/fs/cgroup/cgroup.procs ] && grep -qw memory /sys/fs/cgroup/cgroup.subtree_control 2>/dev/null; then
    group=/sys/fs/cgroup/plimsoll-$1-$$ limit=memory.max
fi
[ -n "$group" ] && mkdir "$group" 2>/dev/null || { echo "no memory cgroup can be made here: runs are not held inside one"; group=; }
work=$(mktemp -d)
trap '[ -z "$group" ] || { sleep 0.1; rmdir "$group"; }; rm -rf "$work"' EXIT
cd "$work" || exit 1
fail() { echo "FAILED: $*"; cat err 2>/dev/null; exit 1; }

# within BYTES COMMAND...: inside the group, where there is one
within() {
    [ -z "$group" ] || echo "$1" > "$group/$limit" || fail "cannot set the limit of $group"
    shift
    [ -n "$group" ] || { "$@"; return; }
    sh -c 'echo $$ > "$0/cgroup.procs"; exec "$@"' "$group" "$@"
}

# budgets COUNT: from the smallest to the unconstrained, of plan.json
budgets() {
    python3 -c 'import json, sys; p = json.load(open("plan.json")); a = p["minimum_budget_bytes"]; n = int(sys.argv[1]) - 1
b = max(a, int(p["unconstrained"]["process_bytes"] * 1.02) + (2 << 20))
print(*(a + (b - a) * k // n for k in range(n + 1)))' "$1"
}
