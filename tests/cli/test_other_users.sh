#!/bin/bash
# No file of one user changes or stops another's run: a folder, a FIFO or a link that somebody else made where requests and
# temporary files go is not used; the user's own links and modes are kept.   test_other_users.sh PLIMSOLL SOURCE
set -eu
program=$(realpath "$1")
[ "$(id -u)" = 0 ] || { echo "skipped: two users need root"; exit 77; }
for tool in setpriv pgrep python3; do command -v $tool > /dev/null || { echo "skipped: no $tool"; exit 77; }; done
work=$(mktemp -d /tmp/plimsoll-users-XXXXXX)
victim=64001 attacker=64002
trap 'rm -rf "$work" /tmp/plimsoll-$victim' EXIT
chmod 755 "$work"
cp "$program" "$work/plimsoll" && chmod 755 "$work/plimsoll" # the build folder may not be open to others
cd "$work"
export PLIMSOLL_COSTS=default OMP_WAIT_POLICY=passive
fail() { echo "FAILED: $*" >&2; exit 1; }
as() { local user=$1; shift; setpriv --reuid "$user" --regid "$user" --clear-groups env -u XDG_RUNTIME_DIR -u XDG_CACHE_HOME -u HOME "$@"; }

"$work/plimsoll" zoo lenet -o model.onnx > /dev/null
mkdir victim && chown $victim:$victim victim
train=("$work/plimsoll" train "$work/model.onnx" --data synthetic --batch 8 --steps 400 --budget 200MiB --json)
requests=/tmp/plimsoll-$victim
rm -rf "$requests"

# What an attacker puts into a folder that it made first: a request, then a FIFO that would block whoever opens it.
as $attacker mkdir -m 777 "$requests"
(cd victim && as $victim timeout 120 "${train[@]}" --log run.log > run.json 2> run.err) &
runner=$!
for _ in $(seq 200); do [ -s victim/run.log ] && break; sleep 0.05; done
pid=$(pgrep -u $victim -x plimsoll | head -1)
as $attacker sh -c "echo 3000000000 > $requests/$pid.budget" 2> /dev/null || true
sleep 1.2
as $attacker sh -c "rm -f $requests/$pid.budget; mkfifo -m 666 $requests/$pid.budget" 2> /dev/null || true
wait $runner || fail "the run of the victim failed: $(cat victim/run.err)"
replans=$(python3 -c 'import json; print(json.load(open("victim/run.json"))["replans"])')
[ "$replans" = 0 ] || fail "another user changed the budget of a run"

# The victim's own request, from its own folder, still arrives.
rm -rf "$requests"
(cd victim && as $victim timeout 120 "${train[@]}" --steps 1200 --log own.log > own.json 2> own.err) &
runner=$!
for _ in $(seq 200); do [ -s victim/own.log ] && break; sleep 0.05; done
pid=$(pgrep -u $victim -x plimsoll | head -1)
as $attacker "$work/plimsoll" budget "$pid" 3GiB 2> /dev/null && fail "another user's request was accepted"
as $victim "$work/plimsoll" budget "$pid" 300MiB > /dev/null || fail "the victim's own request was refused"
wait $runner || fail "the run failed: $(cat victim/own.err)"
replans=$(python3 -c 'import json; print(json.load(open("victim/own.json"))["replans"])')
[ "$replans" = 1 ] || fail "the victim's own request was not taken ($replans)"

# A saved plan goes to the file that was named, not through a link that lay in wait beside it.
mkdir -m 1777 open
as $victim sh -c "echo precious > victim/precious"
as $attacker ln -s "$work/victim/precious" open/plan.trace.part
as $victim "$work/plimsoll" plan model.onnx --batch 8 --budget 200MiB --save open/plan.trace > /dev/null || fail "the plan was not saved"
[ "$(cat victim/precious)" = precious ] || fail "a file was written through another user's link"

# The user's own link and mode stay.
as $victim sh -c "cd victim && : > real.onnx && chmod 600 real.onnx && ln -s real.onnx out.onnx"
(cd victim && as $victim "$work/plimsoll" train "$work/model.onnx" --data synthetic --batch 8 --steps 1 --out out.onnx --quiet > /dev/null)
[ -L victim/out.onnx ] && [ -s victim/real.onnx ] || fail "the link was replaced"
[ "$(stat -c %a victim/real.onnx)" = 600 ] || fail "the mode changed to $(stat -c %a victim/real.onnx)"
echo "two users: no request, FIFO or link of one reached the other's run"
