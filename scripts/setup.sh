#!/bin/sh
# Installs the Debian packages that the build, the tests and the demo need, when they are missing.
#   scripts/setup.sh            packages.txt: what every target needs
#   scripts/setup.sh NAME...    these packages (the benchmarks ask for theirs)
set -eu
here=$(cd "$(dirname "$0")" && pwd)
[ $# -gt 0 ] || set -- $(cat "$here/packages.txt")

missing=
for package in "$@"; do
    dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" -eq 0 ]; then as_root=
elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then as_root=sudo
else
    echo "Plimsoll needs some Debian packages. Please install them, then try again:" >&2
    echo "  apt-get install -y --no-install-recommends$missing" >&2
    exit 1
fi
echo "installing:$missing"
export DEBIAN_FRONTEND=noninteractive
$as_root apt-get update -qq
$as_root apt-get -o DPkg::Lock::Timeout=300 install -y -qq --no-install-recommends $missing >/dev/null
