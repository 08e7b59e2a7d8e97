#!/bin/sh
# The shared library's interface, compared with the last recorded one (abi/plimsoll-VERSION.abi), or recorded for the version
# of these sources. A release records its interface; it is what programs were linked with.
#   scripts/abi.sh compare|record BUILD-DIR
# While the first number of the version is 0, a second number that grew may change anything; otherwise functions may be added,
# and nothing that is recorded may change.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
what=${1:?usage: scripts/abi.sh compare|record BUILD-DIR}
build=${2:?usage: scripts/abi.sh compare|record BUILD-DIR}
"$here/scripts/setup.sh" abigail-tools
version=$(sed -n 's/^#define PLIM_VERSION_\(MAJOR\|MINOR\|PATCH\) //p' "$here/include/plimsoll/version.h" | paste -sd.)
# -g for the types; optimisation does not change them
cmake -G Ninja -S "$here" -B "$build" -DPLIM_TESTS=OFF -DCMAKE_BUILD_TYPE=Debug >/dev/null
cmake --build "$build" --target plimsoll_shared >/dev/null
library="$build/libplimsoll.so"

if [ "$what" = record ]; then
    mkdir -p "$here/abi"
    abidw --headers-dir "$here/include/plimsoll" --drop-private-types --exported-interfaces-only --drop-undefined-syms --no-show-locs --no-corpus-path --no-comp-dir-path \
        --out-file "$here/abi/plimsoll-$version.abi" "$library"
    echo "abi: recorded $(grep -c '<elf-symbol ' "$here/abi/plimsoll-$version.abi") symbols as abi/plimsoll-$version.abi"
    exit
fi
recorded=$(ls "$here"/abi/plimsoll-*.abi 2>/dev/null | sort -V | tail -n 1)
[ -n "$recorded" ] || { echo "abi: no interface is recorded in abi/; 'make abi-record' records this one" >&2; exit 1; }
was=$(basename "$recorded" .abi)
was=${was#plimsoll-}
result=0
abidiff --headers-dir2 "$here/include/plimsoll" --drop-private-types --no-show-locs "$recorded" "$library" > "$build/abi.txt" || result=$?
# abidiff: 1 and 2 errors, 4 a change, 8 a change that breaks programs
if [ $((result & 3)) -ne 0 ]; then cat "$build/abi.txt" >&2; exit 1; fi
if [ $result -eq 0 ]; then echo "abi: $version is as $was"; exit; fi
if ! grep -qE '[1-9][0-9]* (Removed|Changed)' "$build/abi.txt"; then
    echo "abi: $version adds to $was"
    exit
fi
cat "$build/abi.txt"
if [ "${version%%.*}" = 0 ] && [ "${version%.*}" != "${was%.*}" ]; then
    echo "abi: $version breaks programs linked with $was, as 0.x may where the second number grows"
    exit
fi
echo "abi: $version breaks programs linked with $was: undo it, or let the version grow ($(echo "$version" | cut -d. -f1,2) stands for one interface, fields included)" >&2
exit 1
