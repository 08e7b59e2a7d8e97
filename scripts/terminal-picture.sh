#!/bin/sh
# Draws what a command prints as a picture of a terminal.   scripts/terminal-picture.sh 'COMMAND' < OUTPUT > PICTURE.svg
#   plimsoll explain scripts/example-error.log | scripts/terminal-picture.sh 'plimsoll explain error.log' > docs/images/explain.svg
# Lines that begin in the first column and are no sentence are headings.
set -eu
: "${1:?usage: scripts/terminal-picture.sh COMMAND < OUTPUT > PICTURE.svg}"
LC_ALL=C.UTF-8 awk -v command="$1" '
    function text(line) { gsub(/&/, "\\&amp;", line); gsub(/</, "\\&lt;", line); gsub(/>/, "\\&gt;", line); return line }
    function row(y, colour, line) {
        printf "<text style=\"white-space:pre\" x=\"20\" y=\"%d\"%s>%s</text>\n", y, colour ? " fill=\"" colour "\"" : "", text(line)
    }
    { lines[NR] = $0; if (length($0) > widest) widest = length($0) }
    END {
        width = int(widest * 8.43 + 40.5)
        height = 66 + 18 * NR
        printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"%s\">\n", width, height, width, height, text(command)
        print "<rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#14181d\"/>"
        print "<circle cx=\"18\" cy=\"16\" r=\"5\" fill=\"#4b5563\"/><circle cx=\"34\" cy=\"16\" r=\"5\" fill=\"#4b5563\"/><circle cx=\"50\" cy=\"16\" r=\"5\" fill=\"#4b5563\"/>"
        print "<g font-family=\"DejaVu Sans Mono, Menlo, Consolas, monospace\" font-size=\"14\" fill=\"#d7dde4\" xml:space=\"preserve\">"
        row(46, "#7fd1ae", "$ " command)
        for (i = 1; i <= NR; i++) row(48 + 18 * i, lines[i] ~ /^(Out of memory|Where|Cause|What)/ ? "#f2c879" : "", lines[i])
        print "</g>\n</svg>"
    }'
