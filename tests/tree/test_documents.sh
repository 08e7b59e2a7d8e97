#!/usr/bin/env bash
# The documents tell the truth about the program: commands and options in their examples exist, their C compiles.
#   test_documents.sh PROGRAM SOURCE-DIR
set -euo pipefail
program=$1
cd "$2"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
fail() { echo "$*" >&2; failed=1; }

# Lines of code blocks that call plimsoll, continued lines joined: FILE, then the call up to a comment, a pipe or an end.
calls() {
    awk 'FNR == 1 { inside = 0 }
         /^ *```/ { inside = !inside; next }
         !inside { next }
         { line = held $0; held = "" }
         /\\$/ { sub(/\\$/, "", line); held = line; next }
         { while (match(line, /(^|[|;&( ])plimsoll [a-z][^|;&#]*/)) {
               call = substr(line, RSTART, RLENGTH)
               sub(/^[|;&( ]/, "", call)
               print FILENAME, call
               line = substr(line, RSTART + RLENGTH) } }' "$@"
}

count=0
while read -r file _ command rest; do
    if ! "$program" help "$command" > "$work/help" 2> /dev/null; then
        fail "$file: there is no command '$command'"
        continue
    fi
    rest=${rest%% -- *} # what follows belongs to another program
    for option in $(grep -oE -- '(^| )--[a-z][a-z-]*' <<< "$rest" || true); do
        grep -qE -- "$option\b" "$work/help" || fail "$file: plimsoll $command has no option $option"
        count=$((count + 1))
    done
done < <(calls README.md CONTRIBUTING.md docs/*.md)
[ "$count" -gt 30 ] || fail "only $count options were found in the documents: the reader of examples is broken"

awk '/^```c$/ { inside = 1; next } /^```/ { inside = 0 } inside' README.md > "$work/body"
[ -s "$work/body" ] || fail "README.md has no example in C"
{
    grep '^#include' "$work/body"
    echo '#include <stdio.h>'
    echo 'int main(void) {'
    grep -v '^#include' "$work/body"
    echo 'return 0; }'
} > "$work/readme.c"
${CC:-cc} -std=c17 -Wall -Wextra -Werror -fsyntax-only -Iinclude "$work/readme.c" || fail "the C of README.md does not compile"

# README's picture of explain is what explain prints today.
LC_ALL=C.UTF-8 COLUMNS=80 "$program" explain scripts/example-error.log | scripts/terminal-picture.sh 'plimsoll explain error.log' | cmp -s - docs/images/explain.svg ||
    fail "docs/images/explain.svg is not what explain prints: scripts/terminal-picture.sh tells how to draw it"
exit $failed
