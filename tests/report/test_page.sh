#!/usr/bin/env bash
# The page in headless Chromium; screenshots stay in the build folder, beside the program.
set -eu
program=$1 source=$2
# under sanitizers the plan of a resnet50 within 700 MiB would count their memory too
case $program in */sanitized/*) echo "not under sanitizers"; exit 77 ;; esac
command -v python3 >/dev/null && command -v chromium >/dev/null && command -v chromedriver >/dev/null || { echo "no python3, chromium or chromedriver"; exit 77; }
exec python3 "$source/tests/report/page.py" "$program" "$(dirname "$program")/report-pages"
