# What the program generates for docs/ is what docs/ holds; the man page and completion are well formed.
set -eu
program=$1 source=$2
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT

"$program" ops --markdown > "$work/operators.md"
cmp "$work/operators.md" "$source/docs/operators.md" || { echo "docs/operators.md is stale: run 'plimsoll ops --markdown > docs/operators.md'"; exit 1; }

"$program" help --man > "$work/plimsoll.1"
if command -v mandoc >/dev/null; then mandoc -T lint -W error "$work/plimsoll.1"; fi
"$program" help --completion | bash -n

# Every command has help with examples, and says one line and exits 2 when it is misused.
for command in $("$program" help --json | sed -n 's/.*"name": "\(.*\)",/\1/p'); do
    "$program" help "$command" > "$work/help"
    grep -q '^Examples:' "$work/help" || { echo "$command has no examples"; exit 1; }
    status=0; "$program" "$command" --no-such-option 2> "$work/error" || status=$?
    [ "$status" -eq 2 ] || { echo "$command --no-such-option exits $status"; exit 1; }
done
echo "documents agree with the program"
