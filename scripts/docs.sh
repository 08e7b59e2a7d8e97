#!/bin/sh
# Makes the API reference from include/plimsoll with doxygen; a warning is an error.
#   scripts/docs.sh OUT-DIR
# The headers' comments are plain C. On their way to doxygen, comments above a declaration become /** */ and those behind a
# field or a constant become /**< */.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
if [ "${1:-}" = --filter ]; then
    exec awk '
        /^( |\/)\*/ { gsub(/#/, "\\\\#"); gsub(/@/, "\\\\@"); gsub(/</, "\\\\<") }
        NR == 1 && /^\/\*/ { sub(/^\/\* */, "/** @file\n * @brief "); print; next }
        /^\/\* ---/ { print; next } # the title of a part is no comment of what follows
        /^\/\* / { sub(/^\/\*/, "/**"); print; next }
        /^ +\/\* / { sub(/\/\*/, "/**"); print; next }
        /[;,}] +\/\* / { sub(/\/\* /, "/**< "); print; next }
        /[a-zA-Z0-9_] +\/\* / && !/^#/ { sub(/\/\* /, "/**< "); print; next }
        { print }' "$2"
fi
out=${1:?usage: scripts/docs.sh OUT-DIR}
mkdir -p "$out"
out=$(realpath "$out")
version=$(sed -n 's/^#define PLIM_VERSION_\(MAJOR\|MINOR\|PATCH\) //p' "$here/include/plimsoll/version.h" | paste -sd.)
cd "$here"
doxygen - <<END
PROJECT_NAME = Plimsoll
PROJECT_NUMBER = $version
PROJECT_BRIEF = "Trains neural networks inside a memory budget"
OUTPUT_DIRECTORY = $out
INPUT = include/plimsoll
FILE_PATTERNS = *.h
FILTER_PATTERNS = "*.h=$here/scripts/docs.sh --filter"
OPTIMIZE_OUTPUT_FOR_C = YES
JAVADOC_AUTOBRIEF = YES
EXTRACT_ALL = YES
TYPEDEF_HIDES_STRUCT = YES
SORT_MEMBER_DOCS = NO
MACRO_EXPANSION = YES
EXPAND_ONLY_PREDEF = YES
PREDEFINED = PLIM_API= "PLIM_PRINTF(a,b)="
STRIP_FROM_PATH = include
STRIP_FROM_INC_PATH = include
GENERATE_LATEX = NO
HAVE_DOT = NO
QUIET = YES
WARNINGS = YES
WARN_IF_UNDOCUMENTED = NO
WARN_NO_PARAMDOC = NO
WARN_AS_ERROR = FAIL_ON_WARNINGS
END
echo "docs: $out/html/index.html"
