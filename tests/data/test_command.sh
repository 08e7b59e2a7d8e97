# `plimsoll data` tells what a data set is, and one line on standard error what is wrong with it.
program=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0
fail() { echo "FAILED: $*"; failed=1; }

printf 'a,b,kind\n1,2,x\n3,4,y\n5,6,x\n' >"$folder/t.csv"
said=$("$program" data "$folder/t.csv" --target kind --json) || fail "csv: exit $?"
for part in '"kind": "csv"' '"samples": 3' '"classes": 2' '"samples_per_second"' '"buffer_bytes"'; do
    case $said in *"$part"*) ;; *) fail "no $part in: $said" ;; esac
done
grep -q 'classes: x, y' <("$program" data "$folder/t.csv" --target kind) || fail "no names of classes"

expect() { # CODE WORDS ARGS...
    code=$1 words=$2
    shift 2
    out=$("$program" data "$@" 2>"$folder/error")
    got=$?
    [ $got -eq "$code" ] || fail "$*: exit $got, not $code"
    [ -z "$out" ] || fail "$*: something on standard output"
    grep -q -e "$words" "$folder/error" || fail "$*: $(cat "$folder/error")"
}
printf 'a,b\n1,2\n3,oops\n' >"$folder/bad.csv"
mkdir -p "$folder/empty" "$folder/images/cats"
printf 'not an image' >"$folder/images/cats/tom.jpg"
expect 1 'line 3 column 2' "$folder/bad.csv" --json
expect 1 'has no folders' "$folder/empty" --json
expect 1 'cats/tom.jpg' "$folder/images" --json
expect 1 'cats/tom.jpg' "$folder/images" --skip-bad --json
expect 1 'No such file' "$folder/none" --json
expect 2 'which data set' --json
expect 2 'expected a size' "$folder/images" --image 0
expect 2 'expected numbers' "$folder/images" --mean 0.5,x
expect 2 'has 2 values' "$folder/images" --mean 1,2 --std 1,2,3

# The proposed commands are for the options that were given, and work as they stand, whatever the columns are called.
python3 - "$folder" <<'PY'
import csv, random, sys
random.seed(1)
with open(sys.argv[1] + "/it's mine.csv", "w", newline="") as file:
    out = csv.writer(file)
    out.writerow(["id", "it's a name", "city, now", "joined", "note", "price", "rent"])
    for i in range(1, 61):
        out.writerow([i, f'"{i}" of, us', random.choice(["Köln", "Sankt Augustin, West", ""]), f"2024-05-{i % 28 + 1:02}",
                      random.choice(["a\nb", "c"]), random.random() * 100, random.random()])
PY
cd "$folder" && mkdir bin && ln -s "$program" bin/plimsoll && PATH=$folder/bin:$PATH
proposed() { # WORDS ARGS...
    words=$1
    shift
    "$program" data "it's mine.csv" --seconds 0.01 "$@" >said 2>error || fail "data $*: $(cat error)"
    grep -q -e "$words" said || fail "no '$words' in: $(cat said)"
    sed -n '/^next:/,/^ .*train/p' said | grep plimsoll | sed 's/--epochs 20/--epochs 1 --quiet/' >proposed.sh
    grep -q -e "$words" proposed.sh && sh -e proposed.sh >out 2>&1 || fail "proposed with $*: $(cat proposed.sh out)"
    rm -f it*.onnx
}
proposed "--target price --drop 'id,it'"
proposed "--classes 2 .*\|--target price,rent --drop" --target price,rent --drop "id,it's a name" --missing mean
proposed "--seq 1 --vocab 3 " --target 5 --embed 2 --drop "id,it's a name" --missing mean
proposed "--features 2 " --columns 4,price
grep -q "'a?b'" said && grep -q "'Sankt Augustin, West', " said || fail "texts cannot be told apart: $(cat said)"

# What is proposed learns, however large the numbers are; a model that has not says so.
python3 - <<'PY'
import random
random.seed(2)
rows = [(random.uniform(30, 200), random.choice(["yes", "no"])) for _ in range(300)]
with open("points.csv", "w") as points, open("commas.csv", "w") as commas, open("small.csv", "w") as small:
    print("size,garden,price", file=points), print("size;garden;price", file=commas), print("size,garden,price", file=small)
    for i, (size, garden) in enumerate(rows):
        price = 2000 * size + 15000 * (garden == "yes")
        print(size if i % 13 else "-", garden, price, sep=",", file=points)
        print(f"{size:.1f}".replace(".", ",") if i % 13 else "-", garden, f"{price:.2f}".replace(".", ","), sep=";", file=commas)
        print(size if i % 13 else "-", garden, price / 1000, sep=",", file=small)
PY
for table in points commas small; do
    "$program" data $table.csv --seconds 0.01 --target price 2>error | sed -n '/^next:/,/^ .*train/p' | grep plimsoll >proposed.sh
    sh -e proposed.sh >out 2>&1 || fail "proposed for $table: $(cat proposed.sh out)"
    r2=$("$program" evaluate $table-trained.onnx --data $table.csv --json | sed -n 's/.*"r2": \([-0-9.e]*\).*/\1/p')
    awk "BEGIN { exit !(${r2:-0} > 0.5) }" || fail "what is proposed for $table has an R2 of $r2: $(cat proposed.sh)"
done
"$program" train points.onnx --data points.csv --target price --missing mean --normalise --loss mse --validation 0.2 --epochs 3 --quiet \
    --out never.onnx >out 2>&1 && grep -q "R2 is below 0" out || fail "an R2 below 0 is not told: $(cat out)"

# A small file that would fill the disk: refused within its stated bound, and read when that is raised.
python3 - "$folder" <<'PY'
import gzip, struct, sys
with gzip.open(sys.argv[1] + "/zeros.gz", "wb", 9) as f:
    f.write(struct.pack(">IIII", 0x803, 400000, 28, 28))
    for _ in range(400): f.write(bytes(784000))
PY
expect 1 'unpacks from .* to more than 256.0 MiB.*--unpack-limit' "idx:$folder/zeros.gz" --json
"$program" data "idx:$folder/zeros.gz" --unpack-limit 400MB --json >/dev/null || fail "--unpack-limit"
exit $failed
