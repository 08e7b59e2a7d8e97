# The scripts of examples/, as a newcomer runs them: from data to predictions that are right, and onnxruntime's. Each has at most ten
# lines. Trained weights differ in their last bits from machine to machine, so onnxruntime is heard twice: it is asked about
# the models that this run made, where it is installed, and everywhere its recorded predictions are compared with ours for the models
# that were recorded with them (make_journeys.py). A third argument is a folder for the trained models; nothing is compared then.
. "$(dirname "$0")/begin.sh"
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
mkdir bin && ln -s "$program" bin/plimsoll && PATH=$work/bin:$PATH
python3 "$source/tests/cli/make_job_data.py" . || fail "data"
python3 - <<'PY' || fail "data"
import random
random.seed(3)
with open("people.csv", "w") as file, open("strangers.csv", "w") as strangers:
    print("name,age,city,owner,drinks", file=file)
    print("age,owner,city,name", file=strangers)
    for i in range(160):
        age, city, owner = random.randint(18, 80), random.choice(["Bonn", "Rome", "Oslo", "São Paulo"]), random.choice(["yes", "no"])
        drinks = "tea" if age > 50 or city == "Bonn" else "coffee"
        print(f'"Person {i}, the {i}th"', age if i % 11 else "", city, owner if i % 17 else "NA", drinks, sep=",", file=file)
    for age, city in (70, "Rome"), (25, "Oslo"), (30, "Bonn"): print(age, "no", city, "N. N.", sep=",", file=strangers)
print("the cat sat on the mat. " * 300, file=open("story.txt", "w"))
PY
cp "$source/tests/data/files/tokenizers/gpt2.json" tokenizer.json
plimsoll zoo resnet18 --image 32 --width 4 --classes 10 --seed 4 -o ten.onnx >/dev/null &&
    plimsoll train ten.onnx --data synthetic --steps 2 --batch 4 --quiet --out resnet18.safetensors >/dev/null || fail "weights"
for script in images table arrays text fine_tune; do
    [ "$(wc -l <"$source/examples/$script.sh")" -le 10 ] || fail "$script.sh has more than ten lines"
    sh "$source/examples/$script.sh" >$script.out 2>$script.err || fail "$script.sh: $(tail -3 $script.err)"
done
tail -1 images.out | grep -q "2.png *sea" || fail "images: $(tail -1 images.out)"
[ "$(tail -3 table.out | cut -d, -f2 | tr '\n' ' ')" = "tea coffee tea " ] || fail "table: $(tail -4 table.out)"
[ "$(grep -c '"class":"' arrays-predictions.jsonl)" = 90 ] || fail "arrays: $(head -2 arrays-predictions.jsonl)"
python3 -c '
import json
rows = [json.loads(line) for line in open("arrays-predictions.jsonl")]
right = sum(int(r["class"]) == i % 3 for i, r in enumerate(rows))
assert right >= 88, right' || fail "arrays: wrong classes"
tail -1 text.out | grep -q "the cat sat on the mat" || fail "text: $(tail -1 text.out)"
grep -q "last layer is new" fine_tune.err || fail "fine_tune: $(cat fine_tune.err)"
tail -2 fine_tune.out | grep -q "0.png *apple" && tail -1 fine_tune.out | grep -q "2.png *sea" || fail "fine_tune: $(tail -2 fine_tune.out)"
# The numbers of the prompt are those of Hugging Face's tokenizer: data_tokenizer compares them.
plimsoll predict text-trained.onnx --prompt "the cat" --generate 1 --temperature 0 --json | python3 -c '
import json, sys
json.dump(json.load(sys.stdin)["prompt"], open("prompt.json", "w"))' || fail "no numbers of the prompt"
[ -z "$3" ] || { cp -r ./* "$3"; exit; }
recorded=$source/tests/cli/data/journeys
python3 "$source/tests/cli/journeys_compare.py" "$program" "$recorded" "$recorded/predictions.json" ||
    fail "predictions are not those of onnxruntime"
python=${PLIMSOLL_PYTHON:-python3}
if "$python" -c "import numpy, onnxruntime" 2>/dev/null; then
    "$python" "$source/tests/cli/journeys_onnxruntime.py" live.json || fail "onnxruntime"
    python3 "$source/tests/cli/journeys_compare.py" "$program" . live.json || fail "onnxruntime does not agree with what was trained here"
fi
# What data proposes is what works.
plimsoll data people.csv | sed -n '/^next:/,$p' | grep plimsoll | sed 's/people.onnx/p.onnx/; s/20 --out/2 --out/' >proposed.sh
sh -e proposed.sh >out 2>&1 && [ -s people-trained.onnx ] || fail "the proposed commands: $(cat proposed.sh; tail -3 out)"
echo "all well"
