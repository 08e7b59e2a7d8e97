#!/usr/bin/env bash
# Checks the order of the folders: what each folder of src (and python) includes, and which folders define the symbols that
# its objects need. The truth is the table "Folders" of docs/architecture.md: a folder stands on the folders named in its row,
# and those have rows above it. Prints each edge that is not in the table; fails when there is one.
#   scripts/check-layers.sh [-s] [-x FOLDER] SOURCE-DIR BUILD-DIR
# -s: a self-test, too: an edge made up on the spot must be found; -x: leave out what this folder uses
set -euo pipefail
self_test=0 left_out=
while getopts sx: option; do
    case $option in
    s) self_test=1 ;;
    x) left_out=$OPTARG ;;
    *) exit 2 ;;
    esac
done
shift $((OPTIND - 1))
source=$(realpath "${1:?usage: scripts/check-layers.sh [-s] [-x FOLDER] SOURCE-DIR BUILD-DIR}")
build=$(realpath "${2:?usage: scripts/check-layers.sh [-s] [-x FOLDER] SOURCE-DIR BUILD-DIR}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LC_ALL=C

# The table as lines "folder row base base ...". Folders of one row stand on each other.
table() {
    awk -F'|' '/^\| folder \| stands on/ {inside = 1; next}
        inside && !/^\|/ {exit}
        inside && $2 ~ /`/ {
            names = $2; bases = $3
            gsub(/`|src\//, "", names); gsub(/\/ *(,|$)/, " ", names); gsub(/[,`]/, " ", bases); gsub(/,/, " ", names)
            count = split(names, folder, " ")
            for (i = 1; i <= count; i++) print folder[i], NR, names, bases
        }' "$1/docs/architecture.md" | tr -s ' '
}

# "FROM FILE what TO OBJECT" for every include and every needed symbol that crosses folders.
edges() {
    (cd "$1" && grep -rnE '^ *# *include "[a-z_0-9]+/' src python --include='*.[ch]' --include='*.def' 2>/dev/null || true) |
        sed -nE 's,^(src/)?([a-z_0-9]+)/([^:]*):[0-9]+: *# *include "(([a-z_0-9]+)/([^"]*))".*,\2 \2/\3 \4 \5 \6,p'
    cat "$2"
}

# The objects of this build as it is configured now; older ones may lie beside them.
objects() {
    sed -nE 's,.* -o (CMakeFiles/[^ ]*/src/[^ ]*\.o) .*,\1,p' "$1/compile_commands.json" | sort -u | (cd "$1" && xargs -r realpath -e)
}

symbols() {
    objects "$1" | xargs -r nm -A | awk '
        $NF ~ /^plim_/ {
            object = $1; sub(/:.*/, "", object); sub(/.*\/src\//, "", object); sub(/\.o$/, "", object)
            folder = object; sub(/\/.*/, "", folder)
            if ($(NF - 1) == "U") needs[object " " $NF] = folder
            else if ($(NF - 1) ~ /[A-Z]/) { home[$NF] = folder; file[$NF] = object }
        }
        END {
            for (need in needs) {
                split(need, part, " ")
                if (part[2] in home) { path = file[part[2]]; sub(/^[^\/]*\//, "", path); print needs[need], part[1], part[2], home[part[2]], path }
            }
        }'
}

# Reads the table, then edges. A base with a slash (core/str.h) admits that header and the object behind it.
judge() {
    awk -v public="$(cd "$1/include/plimsoll" && cat ./*.h | grep -oE '\bplim_[a-z0-9]\w*' | sort -u | tr '\n' ' ')" '
        BEGIN { count = split(public, names, " "); for (i = 1; i <= count; i++) is_public[names[i]] = 1 }
        NR == FNR {
            row[$1] = $2
            for (i = 3; i <= NF; i++) {
                base = $i; sub(/\/.*/, "", base)
                if (base == "public") { on_public[$1] = 1; continue }
                may[$1, $i] = 1
                used[$1 " " base] = 1
            }
            next
        }
        function stem(path) { sub(/\.[chdef.]+$/, "", path); return path }
        FNR == 1 {
            for (pair in used) {
                split(pair, part, " ")
                if (!(part[2] in row) || row[part[2]] > row[part[1]]) { print "docs/architecture.md: " part[1] " stands on " part[2] ", which has no row above it"; bad = 1 }
            }
        }
        $1 == $4 || ($4 == "plimsoll" && $3 ~ /\//) { next }
        !($1 in row) { if (!told[$1]++) { print "docs/architecture.md has no row for " $1; bad = 1 }; next }
        !($4 in row) { next } # a header that is generated
        ($1, $4) in may { next }
        $3 !~ /\// && on_public[$1] && $3 in is_public { next }
        (($1, $4 "/" stem($5) ".h") in may) { next }
        { print $2 ": " ($3 ~ /\// ? "includes " $3 : "needs " $3 " of " $4 "/" $5) " (" $1 " does not stand on " $4 ")"; bad = 1 }
        END { exit bad }' "$2" -
}

check() { # SOURCE TABLE SYMBOLS
    edges "$1" "$3" | awk -v out="$left_out" '$1 != out' | sort -u | judge "$1" "$2"
}

table "$source" > "$work/table"
[ -s "$work/table" ] || { echo "docs/architecture.md: no table 'folder | stands on'" >&2; exit 1; }
for folder in "$source"/src/*/; do
    grep -q "^$(basename "$folder") " "$work/table" || { echo "docs/architecture.md has no row for src/$(basename "$folder")" >&2; exit 1; }
done
symbols "$build" > "$work/symbols"
[ -s "$work/symbols" ] || { echo "no objects in $build: build first" >&2; exit 1; }

if [ $self_test = 1 ]; then # one edge back of each kind, on a copy
    mkdir "$work/tree"
    cp -r "$source/src" "$source/include" "$source/docs" "$work/tree"
    echo '#include "run/trainer.h"' > "$work/tree/src/core/back_edge.c"
    grep -q 'core/back_edge.c: includes run/trainer.h' <(check "$work/tree" "$work/table" "$work/symbols") ||
        { echo "self-test: an include from core to run was not found" >&2; exit 1; }
    { cat "$work/symbols"; echo "mem mem/arena.c plim__plan_create plan plan.c"; } > "$work/more"
    grep -q 'mem/arena.c: needs plim__plan_create of plan/plan.c' <(check "$source" "$work/table" "$work/more") ||
        { echo "self-test: a symbol of plan in mem was not found" >&2; exit 1; }
    sed '/^core /s/$/ run/' "$work/table" > "$work/circle"
    grep -q 'core stands on run' <(check "$source" "$work/circle" "$work/symbols") ||
        { echo "self-test: a circle in the table was not found" >&2; exit 1; }
fi
check "$source" "$work/table" "$work/symbols"
echo "$(wc -l < "$work/table") folders, $(wc -l < "$work/symbols") symbols between them: in order"
