#!/bin/sh
# Makes the virtual environments of environments.txt in a cache folder outside the source tree.
#   install.sh CACHE [NAME...]        environments that exist are left alone
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
cache=$(cd "$1" && pwd)
shift
mkdir -p "$cache/venvs"
boot=$cache/boot
if [ ! -x "$boot/bin/uv" ]; then
    python3 -m venv "$boot"
    "$boot/bin/pip" install -q uv
fi
# One cache on the same disk: packages that environments share are hard links.
export UV_CACHE_DIR="$cache/uv" UV_LINK_MODE=hardlink UV_HTTP_TIMEOUT=300
[ -n "${PIP_FIND_LINKS:-}" ] && export UV_FIND_LINKS="$PIP_FIND_LINKS"
[ -n "${PIP_CERT:-}" ] && export SSL_CERT_FILE="$PIP_CERT"

make_environment() {
    name=$1
    shift
    venv=$cache/venvs/$name
    [ -e "$venv/complete" ] && return 0
    "$boot/bin/uv" venv -q --clear --python "$(command -v python3)" "$venv"
    plain= bare=
    for package in "$@"; do
        case $package in
        nodeps:*) bare="$bare ${package#nodeps:}" ;;
        *) plain="$plain $package" ;;
        esac
    done
    # shellcheck disable=SC2086 # lists of words
    if { [ -z "$plain" ] || "$boot/bin/uv" pip install -q --python "$venv/bin/python" $plain; } &&
        { [ -z "$bare" ] || "$boot/bin/uv" pip install -q --python "$venv/bin/python" --no-deps $bare; }; then
        : >"$venv/complete"
        echo "$name: ready"
    else
        echo "$name: not installed" >&2
        return 1
    fi
}

failed=0
while read -r name packages; do
    case $name in '' | '#'*) continue ;; esac
    if [ $# -gt 0 ]; then
        case " $* " in *" $name "*) ;; *) continue ;; esac
    fi
    # shellcheck disable=SC2086 # a list of words
    make_environment "$name" $packages || failed=1
done <"$here/environments.txt"
exit $failed
