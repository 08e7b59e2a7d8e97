# What cannot be trained is told in one line that names it, with exit code 1, and no output file appears.
program=$1
/usr/bin/python3 -c 'import numpy' 2>/dev/null || { echo "skipped: no python3-numpy"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
export OMP_WAIT_POLICY=passive
"$program" zoo lenet --width 4 -o model.onnx >/dev/null || exit 1
/usr/bin/python3 - <<'END' || exit 1
import os, struct, zlib
import numpy
numbers = numpy.random.RandomState(0)
x, y = numbers.rand(48, 1, 28, 28).astype('f4'), numpy.arange(48) % 10
def save(name, x, y): numpy.savez(name, image=x, label=y)
def changed(a, index, value):
    b = a.copy()
    b[index] = value
    return b
save('good.npz', x, y)
save('label.npz', x, changed(y, 17, 10))
numpy.savez('words.npz', image=x, label=numpy.array(['a', 'b'] * 24))
save('alone.npz', x, y * 0)
save('nothing.npz', x, changed(numbers.rand(48, 10).astype('f4'), (40, 3), numpy.nan))
save('nan.npz', changed(x, (40, 0, 3, 3), numpy.nan), y)
save('inf.npz', changed(x, (40, 0, 3, 3), numpy.inf), y)
save('shape.npz', x[:, :, :20], y)
open('ragged.csv', 'w').write('a,b,c\n1,2,0\n3,4\n')
open('text.csv', 'w').write('a,b,c\n1,2,0\n3,hello,1\n')
os.makedirs('empty')
def png(path, width=30):
    def chunk(kind, data): return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
    rows = b''.join(b'\0' + numbers.bytes(3 * width) for _ in range(30))
    open(path, 'wb').write(b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', width, 30, 8, 2, 0, 0, 0)) +
                           chunk(b'IDAT', zlib.compress(rows)) + chunk(b'IEND', b''))
for folder, classes in (('damaged', 2), ('classes', 11), ('odd', 2)):
    for c in range(classes):
        os.makedirs(f'{folder}/{c:02}')
        for i in range(2): png(f'{folder}/{c:02}/{i}.png')
png('odd/00/odd.png', 31)
os.makedirs('alone/yes')
for i in range(2): png(f'alone/yes/{i}.png')
open('damaged/01/bad.png', 'wb').write(open('damaged/01/1.png', 'rb').read()[:90])
END
failed=0
# WORDS ARGUMENT...: the message holds each of the words, separated by |
refused() {
    words=$1
    shift
    "$program" train model.onnx --batch 16 --quiet --out out.onnx "$@" >out 2>errors
    code=$?
    IFS='|'
    for word in $words; do grep -q -- "$word" errors || { echo "FAILED: $*: no '$word' in: $(cat errors)"; failed=1; }; done
    unset IFS
    [ $code = 1 ] && [ "$(grep -vc ": note: " errors)" = 1 ] && [ ! -e out.onnx ] && [ ! -s out ] ||
        { echo "FAILED: $*: exit $code: $(cat errors)"; failed=1; }
}
refused '^plimsoll train: label 10 of sample 17 |10 classes' --data label.npz
refused '^plimsoll train: validation: label 10 of sample 17 ' --data good.npz --val label.npz
refused '^plimsoll train: all 48 samples are of one class' --data alone.npz
refused "^plimsoll train: all 2 samples are of one class, 'yes'" --data alone
refused '^plimsoll train: the data holds NaN in its target .*, sample 40' --data nothing.npz --target label --loss mse
"$program" evaluate model.onnx --data nothing.npz --target label --loss mse >out 2>errors && failed=1
grep -q 'holds NaN in its target, sample 40' errors || { echo "FAILED: evaluate: $(cat out errors)"; failed=1; }
refused 'NaN|update|sample' --data nan.npz
refused 'Inf|update|sample' --data inf.npz
refused 'does not fit' --data shape.npz
refused 'does not fit' --data good.npz --loss mse
refused 'loss' --data good.npz --loss model
refused 'ragged.csv|line 3' --data ragged.csv --target c
refused 'text.csv|hello' --data text.csv --target c
refused "text.csv|no column 'cc'; is 'c' meant" --data text.csv --target cc
refused 'words.npz|texts' --data words.npz
refused 'empty' --data empty
refused 'damaged/01/bad.png' --data damaged
refused '11 classes|10' --data classes
refused 'nowhere' --data nowhere
refused 'update|holds' --data good.npz --lr 1e30
"$program" train model.onnx --batch 16 --quiet --data damaged --skip-bad >out 2>errors && grep -q "1 bad" out ||
    { echo "FAILED: --skip-bad: $(cat out errors)"; failed=1; }
"$program" train model.onnx --batch 16 --quiet --data odd >out 2>errors && grep -q "00/odd.png' has 31 x 30 pixels, all others 30 x 30" errors ||
    { echo "FAILED: an image of another size: $(cat out errors)"; failed=1; }

# Checkpoints: cut off, not one, of another model, with other data. None is touched.
"$program" train model.onnx --batch 16 --data good.npz --quiet --checkpoint run.ckpt >/dev/null || failed=1
head -c 20000 run.ckpt >cut.ckpt
cp model.onnx other.ckpt
cp run.ckpt before.ckpt
refused 'cut.ckpt|cut off' --data good.npz --checkpoint cut.ckpt --resume --epochs 2
refused 'other.ckpt|checkpoint' --data good.npz --checkpoint other.ckpt --resume --epochs 2
refused 'other data' --data damaged --skip-bad --checkpoint run.ckpt --resume
refused 'seed' --data good.npz --checkpoint run.ckpt --resume --seed 1
cp model.onnx lenet4.onnx
"$program" zoo lenet --width 8 -o model.onnx >/dev/null
refused 'another model' --data good.npz --checkpoint run.ckpt --resume --epochs 2
cmp run.ckpt before.ckpt || failed=1
exit $failed
