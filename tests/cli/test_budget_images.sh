#!/bin/bash
# Budgets with photographs much larger than what the model sees, some of them stored so that decoding needs all of their
# pixels at once: in a memory cgroup whose limit is the budget the peak stays below it, within 2 % of the plan.
#   test_budget_images.sh PLIMSOLL SOURCE
program=$(realpath "$1")
. "$(dirname "$0")/memory_group.sh" images

# PNG files, interlaced or not, as Python writes them without libraries.
cat > make.py <<'PY'
import os, random, struct, sys, zlib
ADAM7 = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))
def chunk(kind, data): return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
def write(path, width, height, woven):
    line = random.randbytes(3 * (width + height))  # a row is the one above, moved by a pixel
    rows = [line[3 * y: 3 * (y + width)] for y in range(height)]
    raw = b""
    for x0, y0, dx, dy in ADAM7 if woven else ((0, 0, 1, 1),):
        for y in range(y0, height, dy):
            row = rows[y][3 * x0:]
            raw += b"\0" + (row if dx == 1 else b"".join(row[i: i + 3] for i in range(0, len(row), 3 * dx)))
    open(path, "wb").write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, woven)) +
                           chunk(b"IDAT", zlib.compress(raw, 1)) + chunk(b"IEND", b""))
random.seed(1)
for split, count in (("train", 36), ("val", 12)):
    for i in range(count):
        folder = f"photos/{split}/{'abc'[i % 3]}"
        os.makedirs(folder, exist_ok=True)
        large = i % 5 == 4
        write(f"{folder}/{i}.png", *((1600, 1100) if large else (400 + 9 * i, 300 + 5 * i)), int(large and sys.argv[1] == "woven"))
PY

cat > check.py <<'PY'
import json, sys
r, budget = json.load(open("run.json")), int(sys.argv[1])
peak, planned = r["peak_resident_bytes"], r["planned_process_bytes"]
print(f"{sys.argv[2]}: budget {budget / 1e6:.1f} MB, peak {peak / 1e6:.1f}, planned {planned / 1e6:.1f}")
assert peak <= budget, "the budget is exceeded"
assert r["arena_bytes"] == r["planned_arena_bytes"], "the arena is not as planned"
assert abs(planned - peak) <= 0.02 * peak, "the plan is off by more than 2 %"
PY

"$program" zoo resnet18 --image 64 --width 16 --classes 3 -o model.onnx > /dev/null || fail "zoo"
least=0
for how in plain woven; do
    rm -rf photos && python3 make.py $how || fail "no photographs"
    data=(--data photos --val photos --batch 10 --random-crop --random-flip)
    "$program" plan model.onnx "${data[@]}" --budget 64GiB --json > plan.json 2> err || fail "plan"
    for budget in $(budgets 3); do
        within "$budget" "$program" train model.onnx "${data[@]}" --epochs 3 --budget "$budget" --json > run.json 2> err
        code=$?
        [ $code -eq 0 ] || fail "$how photographs within $budget: exit code $code"
        python3 check.py "$budget" $how || fail "$how photographs within $budget"
    done
    before=$least least=$(python3 -c 'import json; print(json.load(open("plan.json"))["minimum_budget_bytes"])')
done
# Two workers, or one a core, hold the 5.3 MB of an interlaced image each; of others they hold a few rows.
[ $((least - before)) -gt 5000000 ] || fail "interlaced photographs need $((least - before)) bytes more"

# Small files that need much to be decoded, 768 MB of pixels or 800 MB of tables for a million pixels: refused before anything
# is reserved; or left out.
cat > bomb.py <<'PY'
import struct, zlib
def chunk(kind, data): return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
open("photos/train/a/bomb.png", "wb").write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 16000, 16000, 8, 2, 0, 0, 1)) +
                                           chunk(b"IDAT", zlib.compress(bytes(1 << 20), 9)) + chunk(b"IEND", b""))
bits = []  # a lossless WebP of 1024 x 1024 pixels, in which every four by four have codes of their own
def put(value, count): bits.extend(value >> i & 1 for i in range(count))
def put_code_of_bytes(alphabet):  # eight bits for each of the first 256 symbols
    put(8 << 1, 5)
    for symbol in (17, 18, 0, 1, 2, 3, 4, 5, 16, 6, 7, 8): put(symbol in (0, 8), 3)
    put(0, 1)
    for i in range(alphabet): put(i < 256, 1)
put(0x2f | 1023 << 8 | 1023 << 22, 40)
put(1 << 2, 7)
put_code_of_bytes(280)
put_code_of_bytes(256)
put(0x111, 12)
for i in range(65536): bits.extend((i & 255) >> k & 1 for k in range(7, -1, -1)), bits.extend(i >> 8 >> k & 1 for k in range(7, -1, -1))
for i in range(65536): put(0x11111, 20)
data = int("".join(map(str, map(int, reversed(bits)))), 2).to_bytes((len(bits) + 15) // 16 * 2, "little")
open("many.webp", "wb").write(b"RIFF" + struct.pack("<I", len(data) + 12) + b"WEBPVP8L" + struct.pack("<I", len(data)) + data)
PY
python3 bomb.py || fail "no bombs"
budget=$((200 << 20))
refused() { # FILE: the run names it, and leaves it out where it may
    within "$budget" "$program" train model.onnx "${data[@]}" --epochs 1 --budget "$budget" --quiet > out 2> err
    code=$?
    [ $code -eq 1 ] && grep -q "a/$1' needs .* to be decoded" err || fail "$1, which does not fit: exit code $code"
    within "$budget" "$program" train model.onnx "${data[@]}" --epochs 1 --budget "$budget" --skip-bad --json > run.json 2> err ||
        fail "$1 with --skip-bad"
    python3 -c 'import json; r = json.load(open("run.json")); assert r["skipped"] == 1 and r["peak_resident_bytes"] <= r["budget_bytes"], r' ||
        fail "$1 was not left out"
}
refused bomb.png
mv many.webp photos/train/a/many.webp && rm photos/train/a/bomb.png
refused many.webp
echo "budgets hold for photographs"
