# The public headers: each compiles alone, as C and as C++; plimsoll.h has them all; every function is exported, documented,
# and a row of misuse.def; every options struct begins with its size.
set -eu
build=$(dirname "$1") source=$2
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
bad=0
fail() { echo "$1"; bad=1; }
cd "$source/include/plimsoll"

for header in *.h; do
    echo "#include \"plimsoll/$header\"" > "$work/one.c"
    cp "$work/one.c" "$work/one.cpp"
    cc -std=c99 -fsyntax-only -Wall -Wextra -Wpedantic -Werror -I.. "$work/one.c" || fail "$header does not compile alone as C"
    c++ -std=c++11 -fsyntax-only -Wall -Wextra -Wpedantic -Werror -I.. "$work/one.cpp" || fail "$header does not compile alone as C++"
    [ "$header" = plimsoll.h ] || grep -q "^#include \"plimsoll/$header\"" plimsoll.h || fail "plimsoll.h does not include $header"
done

# declarations without comments and preprocessor lines, one a line
cat ./*.h | perl -0pe 's{/\*.*?\*/}{}gs; s{^\s*#.*?(?<!\\)\n}{}gms' | tr '\n' ' ' | grep -oE 'PLIM_API [^;]*;' > "$work/declared"
grep -oE '\bplim_[a-z0-9_]+ *\(' "$work/declared" | tr -d ' (' | sort -u > "$work/functions"
[ "$(wc -l < "$work/functions")" -gt 100 ] || fail "only $(wc -l < "$work/functions") functions were found in the headers"
grep -oE '^(FAILS|MAKES|HOLDS)\(plim_[a-z0-9_]+' "$source/tests/api/misuse.def" | sed 's/.*(//' | sort -u > "$work/tried"
missing=$(comm -23 "$work/functions" "$work/tried")
[ -z "$missing" ] || fail "not in tests/api/misuse.def: $missing"
gone=$(comm -13 "$work/functions" "$work/tried")
[ -z "$gone" ] || fail "in tests/api/misuse.def, but in no header: $gone"

# what the shared library shows is what the headers declare
nm -D --defined-only "$build/libplimsoll.so" | awk '{print $3}' | grep '^plim' | sort -u > "$work/exported"
hidden=$(comm -23 "$work/functions" "$work/exported")
[ -z "$hidden" ] || fail "declared, but not exported: $hidden"
undeclared=$(comm -13 "$work/functions" "$work/exported")
[ -z "$undeclared" ] || fail "exported, but not declared: $undeclared"

# options grow at their end, so they begin with their size
for struct in $(grep -ohE '^typedef struct plim_[a-z_]+_options \{' ./*.h | awk '{print $3}'); do
    grep -A1 "^typedef struct $struct {" ./*.h | grep -qE "size_t size; +/\* sizeof\($struct\), or 0; see plimsoll.h \*/" ||
        fail "$struct does not begin with its size"
done
[ $bad = 0 ] || exit 1
echo "$(ls ./*.h | wc -l) headers, $(wc -l < "$work/functions") functions, all tried with wrong arguments"
