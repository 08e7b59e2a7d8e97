#!/usr/bin/env bash
# Checks the limits of the code, quickly: functions of at most 80 lines and six parameters, files of at most 800 lines, fewer
# than twenty fields in plim_trainer, the heap only through core/alloc.h, the words of the glossary, no paths of one machine.
#   scripts/check-style.sh [-s] [-p PARTS] SOURCE-DIR [FOLDER...]
# -s: a self-test, too; -p: only these of "sizes prototypes heap words paths"; folders: what to check, all unless given
# Exceptions stand in scripts/style-exceptions.txt.
set -euo pipefail
self_test=0 parts="sizes prototypes heap words paths"
while getopts sp: option; do
    case $option in
    s) self_test=1 ;;
    p) parts=$OPTARG ;;
    *) exit 2 ;;
    esac
done
shift $((OPTIND - 1))
source=$(realpath "${1:?usage: scripts/check-style.sh [-s] [-p PARTS] SOURCE-DIR [FOLDER...]}")
shift
here=$(cd "$(dirname "$0")" && pwd)
export LC_ALL=C.UTF-8
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$source"
[ $# -gt 0 ] || set -- src include tests fuzz examples bench scripts docs cmake python README.md CHANGELOG.md CONTRIBUTING.md Makefile
where=()
for place; do [ -e "$place" ] && where+=("$place"); done

files() { # FOLDER... with names that end like this
    local ends=$1
    shift
    find "$@" -type f -regextype posix-extended -regex ".*\.($ends)" ! -path '*/venv/*' ! -path '*/measured/*' ! -path 'tests/*/data/*' ! -path '*/examples/*.txt' ! -path '*/seeds/*' | sort
}

functions() { # file, line, function, lines, parameters
    files 'c|h' "$@" | grep -E '^(src|include|fuzz|examples|tests|python)/' |
        ctags -L - -o - --kinds-c=f --fields=+neS --languages=C --langmap=C:.c.h -I 'PLIM_API,PLIM_PRINTF+' 2>/dev/null |
        awk -F'\t' '{
            line = end = signature = ""
            for (i = 4; i <= NF; i++) {
                if ($i ~ /^line:/) line = substr($i, 6)
                if ($i ~ /^end:/) end = substr($i, 5)
                if ($i ~ /^signature:/) signature = substr($i, 11)
            }
            inner = substr(signature, 2, length(signature) - 2)
            while (gsub(/\([^()]*\)/, "", inner)) {}
            count = inner == "" || inner == "void" ? 0 : gsub(/,/, ",", inner) + 1
            print $2, line, $1, end - line + 1, count
        }'
}

check_sizes() {
    functions "$@" | awk '$4 > 80 {print $1 ":" $2 ": " $3 " has " $4 " lines, 80 are allowed"} $5 > 6 {print $1 ":" $2 ": " $3 " has " $5 " parameters, six are allowed"}'
    files 'c|h|py|sh' "$@" | xargs -r wc -l | awk '$2 != "total" && $1 > 800 {print $2 ": " $1 " lines, 800 are allowed"}'
    files 'c|h' "$@" | grep '^src/' | xargs -r ctags -o - --kinds-c=m --fields=+s 2>/dev/null |
        awk -F'\t' '/struct:plim_trainer($|\t)/ {count++} END {if (count >= 20) print "plim_trainer has " count " fields, fewer than 20 are allowed"}'
}

check_prototypes() { # a static function that is declared above its own body: order them instead
    files 'c' "$@" | grep '^src/' | xargs -r grep -nE '^static [^=;{]*\)( [A-Z_]+\([^)]*\))?;$' | sed 's/$/   (a prototype above its body)/' || true
}

check_heap() {
    files 'c|h' "$@" | grep '^src/' | grep -vE '^src/(core/alloc|mem/reserve)\.c$' |
        xargs -r grep -nE '(^|[^a-zA-Z0-9_.>"])(malloc|calloc|realloc|reallocarray|strdup|strndup|free|v?asprintf|getline|getdelim|posix_memalign|aligned_alloc|memalign|open_memstream)\(' |
        sed 's/$/   (the heap only through core\/alloc.h)/' || true
}

check_words() { # one pattern a line, and what to write instead
    files 'c|h|def|md|py|sh|txt|cmake|in' "$@" | grep -vE '^(scripts/(check-style\.sh|style-words\.txt|style-exceptions\.txt)|tests/diagnose/examples/)' > "$work/files"
    while IFS=$'\t' read -r pattern instead; do
        case $pattern in '' | '#'*) continue ;; esac
        xargs -r grep -nHiP -- "$pattern" < "$work/files" | sed "s|\$|   ($instead)|" || true
    done < "$here/style-words.txt"
    xargs -r -n1 < "$work/files" | grep -E '(^|[/_])(odd|ways|besides|reckon|announced|blame|forget)[_.]' | sed 's/$/: a word that the glossary replaces, in a name/' || true
}

check_paths() {
    files 'c|h|def|md|py|sh|cmake|in|txt' "$@" | xargs -r grep -nE '\.\./shared\b|(^|[^a-zA-Z0-9_.])/(work|root)/' | grep -vE '^(tests/(diagnose|report)/|docs/explanations/)[^:]*\.(txt|log|md):' |
        grep -v '^scripts/check-style.sh:' | sed 's/$/   (outside of the repository)/' || true
}

check() { # PARTS FOLDER...
    local part wanted=$1
    shift
    for part in $wanted; do "check_$part" "$@"; done |
        if [ -s "$here/style-exceptions.txt" ]; then grep -vE -f <(grep -vE '^(#|$)' "$here/style-exceptions.txt"); else cat; fi
}

if [ $self_test = 1 ]; then # a file that breaks every limit must be found out
    mkdir -p "$work/tree/src/data"
    {
        echo 'static int before(int a);'
        echo 'struct plim_trainer {'; for i in $(seq 20); do echo "int field$i;"; done; echo '};'
        echo 'static int before(int a) {'; for i in $(seq 80); do echo "a++;"; done; echo 'return a; }'
        echo 'int many(int a, int b, int c, int (*d)(int, int), int e, int f, int g) { return *(int *)malloc(9); }'
        echo '/* the odd batch is reckoned */ const char *path = "/work/x";'
        seq 800
    } > "$work/tree/src/data/bad.c"
    found=$(cd "$work/tree" && check "sizes prototypes heap words paths" src || true)
    for promise in 'before has 82 lines' 'many has 7 parameters' 'bad.c: 9.. lines' 'plim_trainer has 20 fields' 'prototype above' 'heap only' 'irregular' 'estimate' 'outside of'; do
        grep -q "$promise" <<< "$found" || { echo "self-test: '$promise' was not found" >&2; exit 1; }
    done
fi
found=$(check "$parts" "${where[@]}" || true)
[ -z "$found" ] || { printf '%s\n' "$found"; exit 1; }
echo "$parts: in order"
