#!/usr/bin/env bash
# A snapshot whose record begins when the allocator already holds memory: it starts as it was then, and every address agrees.
# The addresses are those that PyTorch's rules give, worked out by hand.
set -u
program=$1
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT
python3 - "$folder" <<'PY' || exit 1
import pickle, sys
M, at = 1 << 20, 0x7f1000000000


def event(action, offset, mebibytes):
    return {"action": action, "addr": at + int(offset * M), "size": int(mebibytes * M), "stream": 0, "frames": []}


def block(offset, size, requested, state="active_allocated"):
    return {"address": at + int(offset * M), "size": int(size * M), "requested_size": int(requested * M), "state": state,
            "frames": []}


def write(name, events, blocks, **more):
    segment = {"device": 0, "address": at, "total_size": 20 * M, "stream": 0, "segment_type": "large", "blocks": blocks}
    segment.update(more)
    with open("%s/%s.pickle" % (sys.argv[1], name), "wb") as file:
        pickle.dump({"segments": [segment], "device_traces": [events]}, file)


# One segment of 20 MiB. Held before: 4.5 MiB in a block of 5 (the rest of an old one, not split), 2 MiB at its end.
# 3 MiB go to the front of the 13 that are free; after the free, 4 MiB fit best where the 5 were and are not split.
events = [event("alloc", 5, 3), event("free_requested", 0, 4.5), event("free_completed", 0, 4.5), event("alloc", 0, 4)]
blocks = [block(0, 5, 4), block(5, 3, 3), block(8, 10, 0, "inactive"), block(18, 2, 2)]
write("later", events, blocks)
write("moved", events[:-1] + [event("alloc", 8, 4)],
      [block(0, 5, 0, "inactive"), block(5, 3, 3), block(8, 4, 4), block(12, 6, 0, "inactive"), block(18, 2, 2)])
write("expandable", events, blocks, is_expandable=True)
PY
figures() {
  "$program" replay "$folder/$1.pickle" --json | python3 -c 'import json, sys
d = json.load(sys.stdin)
print(d["addresses"], d["addresses_wrong"], d["stats"]["reserved"] >> 20, d["stats"]["allocated"] >> 20)'
}
expect() {
  found=$(figures "$1")
  [ "$found" = "$2" ] || { echo "$1: expected $2, found $found"; exit 1; }
}
expect later "2 0 20 10"
expect moved "2 1 20 10"
[ "$(figures expandable | cut -d' ' -f1)" = 0 ] || { echo "expandable segments cannot be compared"; exit 1; }
