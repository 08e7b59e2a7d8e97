# A text of 3 GB trains with the process under 600 MiB. Only with PLIM_LARGE=1; the file is sparse.
program=$1
[ -n "$PLIM_LARGE" ] || { echo "skipped: PLIM_LARGE is not set"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
yes 'the load line is painted on the hull' | head -c 1000000 >book.txt
truncate -s 3000000000 book.txt
"$program" zoo gpt2-tiny -o model.onnx >/dev/null || exit 1
"$program" train model.onnx --data book.txt --batch 16 --accumulate 4 --steps 10 --json >result.json || exit 1
peak=$(grep -o '"peak_resident_bytes": [0-9]*' result.json | sed 's/.*: //')
echo "peak: $peak bytes"
[ "$peak" -gt 0 ] && [ "$peak" -lt $((600 << 20)) ]
