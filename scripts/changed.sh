#!/bin/sh
# Names source files that changed since a base, the newest changes first, at most MOST of them.
#   scripts/changed.sh MOST
# The base is $LINT_BASE; or where this branch left origin/main; or, on main itself, the last twenty commits. Without any
# history there is nothing to name.
set -eu
most=${1:?usage: scripts/changed.sh MOST}
cd "$(dirname "$0")/.."
base=${LINT_BASE:-}
if [ -z "$base" ]; then
    base=$(git merge-base HEAD origin/main 2>/dev/null || true)
    [ "$base" != "$(git rev-parse HEAD 2>/dev/null || true)" ] || base=
fi
if [ -n "$base" ] && git rev-parse -q --verify "$base^{commit}" >/dev/null 2>&1; then
    set -- "$base..HEAD"
else
    set -- -20 HEAD
fi
git log --format= --name-only --diff-filter=d -m --first-parent "$@" 2>/dev/null | awk -v most="$most" '
    /^src\/.*\.c$/ && !seen[$0]++ && (getline line < $0) >= 0 { close($0); print; if (++count == most) exit }' || true
