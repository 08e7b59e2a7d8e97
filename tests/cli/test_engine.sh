# Models from outside, through the program: hostile files, wrong arrays, full disks, JSON fields.
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
exec python3 "$2/tests/cli/engine.py" "$1"
