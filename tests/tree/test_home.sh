#!/bin/bash
# Tests leave nothing in the user's folders: what the program writes there by itself goes to the build.
program=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $*"; exit 1; }
build=$(dirname "$(realpath "$program")")
case $XDG_CACHE_HOME in "$build"/*) ;; *) fail "XDG_CACHE_HOME is '$XDG_CACHE_HOME', not a folder of $build" ;; esac
case $XDG_RUNTIME_DIR in "$build"/*) ;; *) fail "XDG_RUNTIME_DIR is '$XDG_RUNTIME_DIR', not a folder of $build" ;; esac
mkdir "$work/home"
cd "$work" || exit 1
export HOME=$work/home PLIMSOLL_COSTS=default
"$program" zoo mlp -o model.onnx > out 2>&1 || fail "zoo: $(cat out)"
"$program" train model.onnx --data synthetic --batch 4 --steps 2 --threads 1 > out 2>&1 || fail "train: $(cat out)"
[ -z "$(find "$HOME" -mindepth 1)" ] || fail "the home folder has $(find "$HOME" -mindepth 1)"
rm -f "$XDG_CACHE_HOME"/plimsoll/runs/model-*.ckpt
echo "nothing at home"
