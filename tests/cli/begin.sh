# What tests of the command have in common, read by them with their own arguments: $program and $source, a folder of their own
# that goes away ($work, where they are then), threads that do not spin, the rates of an average machine, nothing in the user's
# cache, and how a test fails.
program=$(realpath "$1") source=${2:-}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
export OMP_WAIT_POLICY=passive PLIMSOLL_COSTS=default XDG_CACHE_HOME=$work/cache
fail() { echo "FAILED: $*"; exit 1; }
refuses() { # WORDS ARGUMENT...: the command fails and says them
    words=$1 && shift
    "$program" "$@" >out 2>errors && fail "not refused: $*"
    grep -q -- "$words" errors || fail "$* does not say '$words': $(cat errors)"
}
