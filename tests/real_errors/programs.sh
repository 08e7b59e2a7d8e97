#!/bin/sh
# Builds the small programs of jobs/ that are compiled, and the libraries that stand in for the GPU's: programs.sh CACHE
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
cache=$(cd "$1" && pwd)
out=$cache/programs
mkdir -p "$out"
has() { command -v "$1" >/dev/null; }
if has javac; then javac -d "$out" "$here/jobs/Heap.java" "$here/jobs/Array.java"; fi
if has rustc; then rustc -O -o "$out/vector_rust" "$here/jobs/vector.rs"; fi
if has g++; then g++ -O1 -o "$out/vector_cpp" "$here/jobs/vector.cpp"; fi
if has go; then GOCACHE=$cache/go go build -o "$out/hold_go" "$here/jobs/hold.go"; fi
for venv in "$cache"/venvs/torch-*; do
    torch=$(echo "$venv"/lib/python3*/site-packages/torch)
    [ ! -e "$torch/lib/libtorch_cuda.so" ] ||
        python3 "$here/stub_libraries.py" "$torch" "$cache/stubs/$(basename "$venv")"
done
