#!/bin/busybox sh
# The first process of the virtual machine: mounts what is needed, checks budgets, `auto`, memory.high, kills and what they leave
# as evidence under cgroup v2, and ends the machine.
export PATH=/bin:/sbin PLIMSOLL_COSTS=default OMP_WAIT_POLICY=passive HOME=/work TMPDIR=/work
/bin/busybox --install -s /bin
mount -t proc none /proc
mount -t sysfs none /sys
mount -t devtmpfs none /dev
mount -t tmpfs none /tmp
mount -t cgroup2 none /sys/fs/cgroup
ln -s /proc/self/fd /dev/fd 2> /dev/null
cd /work
root=/sys/fs/cgroup failed=0 passed=0
echo "note: Linux $(uname -r), $(cat $root/cgroup.controllers)"
echo +memory > $root/cgroup.subtree_control

expect() { # WHAT COMMAND...
    what=$1
    shift
    if "$@"; then passed=$((passed + 1)); echo "ok: $what"
    else failed=$((failed + 1)); echo "FAILED: $what"; head -c 2000 out err | sed 's/^/  | /'; fi
}
group() { # NAME FILE VALUE...: a new group with these settings
    current=$root/$1
    mkdir -p "$current"
    shift
    while [ $# -ge 2 ]; do echo "$2" > "$current/$1"; shift 2; done
}
inside() { sh -c 'echo $$ > "$0/cgroup.procs"; exec "$@"' "$current" "$@" > out 2> err; }
event() { sed -n "s/^$1 //p" "$current/memory.events"; }
peak() { cat "$current/memory.peak"; }
has() { grep -qiE "$1" out err; }

# --- budgets from memory.max --------------------------------------------------------------------------------------------------
group max memory.max 200M
inside plimsoll train model.onnx --data synthetic --batch 4 --steps 1 --threads 2 --budget auto
expect "auto trains within memory.max" [ $? -eq 0 ]
expect "nothing was killed" [ "$(event oom_kill)" = 0 ]
expect "the peak is below the limit" [ "$(peak)" -lt 209715200 ]
budget=$(sed -n 's/^budget \([0-9.]*\) MiB.*/\1/p' out)
expect "the budget is what memory.max leaves: $budget MiB" awk "BEGIN { exit !(${budget:-0} > 100 && ${budget:-0} <= 200) }"

group exact memory.max 60M
inside plimsoll train model.onnx --data synthetic --batch 4 --steps 1 --threads 2 --budget 60MiB
expect "a budget of 60 MiB trains in a group of 60 MiB" [ $? -eq 0 ]
expect "and nothing was killed" [ "$(event oom_kill)" = 0 ]

group small memory.max 30M
inside plimsoll train model.onnx --data synthetic --batch 4 --steps 1 --threads 2 --budget auto
code=$?
expect "too small a group is refused, not killed ($code)" [ $code -eq 1 -a "$(event oom_kill)" = 0 ]
expect "with the smallest budget that works" has "smallest budget"

# --- a limit of a group above -------------------------------------------------------------------------------------------------
group above memory.max 150M cgroup.subtree_control +memory
group above/below
inside plimsoll train model.onnx --data synthetic --batch 4 --steps 1 --threads 2 --budget auto
expect "auto sees the limit of the group above" [ $? -eq 0 ]
budget=$(sed -n 's/^budget \([0-9.]*\) MiB.*/\1/p' out)
expect "which is what it plans for: $budget MiB" awk "BEGIN { exit !(${budget:-0} > 50 && ${budget:-0} <= 150) }"
inside plimsoll top --once
expect "top names the limit" has "150(.0)? MiB"

# --- memory.high --------------------------------------------------------------------------------------------------------------
group high memory.high 120M
inside plimsoll train model.onnx --data synthetic --batch 4 --steps 1 --threads 2 --budget auto
expect "auto trains within memory.high" [ $? -eq 0 ]
expect "without being slowed down by it ($(event high) times above)" [ "$(event high)" = 0 ]
budget=$(sed -n 's/^budget \([0-9.]*\) MiB.*/\1/p' out)
expect "the budget is what memory.high leaves: $budget MiB" awk "BEGIN { exit !(${budget:-0} > 50 && ${budget:-0} <= 120) }"

# --- a memory.high that falls -------------------------------------------------------------------------------------------------
group falls memory.high 200M
inside plimsoll train lenet.onnx --data synthetic --batch 128 --epochs 1000 --threads 2 --budget auto --log steps.json &
runner=$!
wait_until() { # SECONDS COMMAND...
    left=$1
    shift
    while [ $left -gt 0 ] && ! "$@"; do sleep 1; left=$((left - 1)); done
}
steps() { [ "$(cat steps.json 2> /dev/null | wc -l)" -gt "$1" ]; }
wait_until 240 steps 2
before=$(cat "$current/memory.current")
echo 42M > "$current/memory.high"
wait_until 240 has "planned again"
expect "a memory.high that falls makes a run plan again" has "now allows.*planned again"
count=$(cat steps.json | wc -l)
wait_until 240 steps $((count + 1))
expect "it goes on" steps $((count + 1))
now=$(cat "$current/memory.current")
expect "and holds less: $now of $before bytes" [ "$now" -lt 44040192 -a "$now" -lt "$before" ]
kill -INT $(pidof plimsoll)
wait $runner
expect "nothing was killed on the way" [ "$(event oom_kill)" = 0 ]

# --- predictions: huge pages are always on here, and libraries lie in memory ----------------------------------------------------
group outer memory.max 300M cgroup.subtree_control +memory
group outer/inner memory.max 60M
inside plimsoll train lenet.onnx --data synthetic --batch 64 --steps 2 --threads 2 --budget 60MiB --json
expect "lenet trains in a group in a group" [ $? -eq 0 ]
planned=$(sed -n 's/.*"planned_process_bytes": \([0-9]*\).*/\1/p' out) measured=$(sed -n 's/.*"peak_resident_bytes": \([0-9]*\).*/\1/p' out)
# Linux 6.1 counts resident pages in batches of 64, for each thread and kind of page: a MiB more or less
expect "and takes what was planned: $measured of $planned bytes" awk "BEGIN { d = ${measured:-1} - ${planned:-9e9}; exit !(d < 1e6 + 0.01 * ${planned:-1} && d > -1e6 - 0.01 * ${planned:-1}) }"

# --- kills and their evidence -------------------------------------------------------------------------------------------------
group killed memory.max 80M
inside plimsoll run --json found.json -- dd if=/dev/zero of=/dev/null bs=300M count=1
code=$?
cat found.json >> out
expect "a command that is killed by memory.max ends with 137 ($code)" [ $code -eq 137 ]
expect "the group's events are evidence" grep -q '"oom_cgroup"' found.json
expect "the limit is named" has "limit 80(.0)? MiB"
expect "and is certain" grep -q '"certain": true' found.json
dmesg > kernel.log
expect "the kernel's log has it" grep -q "Memory cgroup out of memory" kernel.log
plimsoll explain kernel.log > out 2> err
expect "explain reads the kernel's log of version 2" has "cgroup"
expect "and names the limit" has "80(.00?)? MiB"
sed 's/^/log: /' kernel.log

group byhand memory.max 80M
(inside plimsoll run --json found.json -- sleep 60)&
runner=$!
tries=0
while [ $tries -lt 60 ] && ! grep -lx sleep /proc/[0-9]*/comm 2> /dev/null | grep -q .; do tries=$((tries + 1)); done
sleep 2
for process in /proc/[0-9]*; do # the command itself, which the group has
    grep -qx sleep "$process/comm" 2> /dev/null && grep -q "/byhand" "$process/cgroup" && kill -9 "${process#/proc/}"
done
wait $runner
cat found.json > out
expect "a kill by hand is told apart" grep -q '"killed"' found.json

group whole memory.max 80M memory.oom.group 1
(inside plimsoll run --json found.json -- dd if=/dev/zero of=/dev/null bs=300M count=1)
expect "with memory.oom.group the whole group ends, and says so in its events" [ "$(event oom_group_kill)" = 1 ]

echo "done: $failed failed, $passed passed"
sync
poweroff -f
