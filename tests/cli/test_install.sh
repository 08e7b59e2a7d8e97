# What `make install` installs works: a program builds against it with pkg-config, shared and static, and with CMake.
set -eu
program=$1 build=$(dirname "$1")
grep -q '^PLIM_SANITIZE:BOOL=ON' "$build/CMakeCache.txt" && { echo "skipped: a sanitized library is not for installing"; exit 77; }
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/usr" > /dev/null
lib=$(dirname "$(find "$work/usr" -name libplimsoll.a)")

cat > "$work/main.c" <<'C'
#include <plimsoll/plimsoll.h>
#include <stdio.h>
int main(void) {
    plim_error error;
    plim_graph *graph;
    plim_session *session;
    if (plim_zoo_create("mlp", NULL, &graph, &error) != PLIM_OK || plim_session_create(graph, NULL, &session, &error) != PLIM_OK ||
        plim_session_run(session, &error) != PLIM_OK)
        return fprintf(stderr, "%s\n", error.message), 1;
    puts(plim_session_output(session, "logits") ? "it runs" : "no output");
    plim_session_free(session);
    plim_graph_free(graph);
    return 0;
}
C
# the .pc file names the configured prefix; ours was moved, which pkg-config can be told
export PKG_CONFIG_PATH="$lib/pkgconfig"
flags="--define-variable=prefix=$work/usr"
cc "$work/main.c" -o "$work/shared" $(pkg-config $flags --cflags --libs plimsoll)
[ "$(LD_LIBRARY_PATH="$lib" "$work/shared")" = "it runs" ]
cc "$work/main.c" -o "$work/static" $(pkg-config $flags --cflags plimsoll) "$lib/libplimsoll.a" $(pkg-config $flags --static --libs plimsoll | sed 's/-lplimsoll//')
[ "$("$work/static")" = "it runs" ]

# the examples build as their Makefile says, and each does what it shows
cat > "$work/pkg-config" <<SH
#!/bin/sh
exec pkg-config $flags "\$@"
SH
chmod +x "$work/pkg-config"
make -s -C "$2/examples" OUT="$work" PKG_CONFIG="$work/pkg-config" CFLAGS="-O2 -Wall -Wextra -Werror"
export LD_LIBRARY_PATH="$lib"
"$work/usr/bin/plimsoll" zoo lstm --seq 256 --width 16 --layers 1 -o "$work/model.onnx" > /dev/null
cat "$2"/docs/*.md > "$work/text.txt"
grep -q '^3 steps, loss' <("$work/train_files" "$work/model.onnx" "$work/text.txt" "$work/trained.onnx" 3) || { echo "train_files did not train"; exit 1; }
[ -s "$work/trained.onnx" ]
[ "$(wc -l < "$2/examples/train_arrays.c")" -le 60 ] || { echo "train_arrays.c is more than 60 lines"; exit 1; }
"$work/train_arrays" 128MiB | awk '/^best loss/ { good = $3 + 0 < 0.2 && $6 <= 128 * 1048576 } END { exit !good }' ||
    { echo "train_arrays did not learn, or not within its budget"; exit 1; }
if "$work/train_arrays" 1MiB 2> "$work/err" || ! grep -q 'does not fit: .*The smallest budget that works is' "$work/err"; then
    echo "train_arrays does not say which budget would fit"; exit 1
fi
"$work/build_model" "$work/spirals.onnx" | awk '/^step 2000/ { found = $6 > 250 } END { exit !found }' || { echo "build_model did not learn"; exit 1; }
[ -s "$work/spirals.onnx" ]
unset LD_LIBRARY_PATH

mkdir "$work/project"
cp "$work/main.c" "$work/project"
cat > "$work/project/CMakeLists.txt" <<'C'
cmake_minimum_required(VERSION 3.18)
project(user C)
find_package(plimsoll REQUIRED)
add_executable(user main.c)
target_link_libraries(user plimsoll::plimsoll)
C
cmake -S "$work/project" -B "$work/project/build" -DCMAKE_PREFIX_PATH="$work/usr" > /dev/null
cmake --build "$work/project/build" > /dev/null
[ "$("$work/project/build/user")" = "it runs" ]

for file in bin/plimsoll share/man/man1/plimsoll.1 share/bash-completion/completions/plimsoll; do
    [ -s "$work/usr/$file" ] || { echo "$file is not installed"; exit 1; }
done
echo "installed, linked and ran"
