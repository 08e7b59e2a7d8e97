#!/bin/bash
# plimsoll pack from outside: tables in, tables and JSON out, one clear line for what is wrong.
program=$1
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
failures=0

fail() {
    echo "FAILED: $*" >&2
    failures=$((failures + 1))
}

# refused CODE WORDS ARGUMENT...: the exit code, one line on standard error that has the words, nothing on standard output
refused() {
    local code=$1 words=$2
    shift 2
    "$program" pack "$@" >out.txt 2>err.txt
    [ $? -eq "$code" ] || fail "pack $*: exit code is not $code"
    [ -s out.txt ] && fail "pack $*: standard output is not empty"
    grep -qF -- "$words" err.txt || fail "pack $*: '$(cat err.txt)' does not say '$words'"
    [ "$code" -ne 1 ] || [ "$(wc -l <err.txt)" -eq 1 ] || fail "pack $*: more than one line"
}

# Columns in any order, more of them than needed, Windows line ends, quotes, blank lines.
printf 'size, Note ,id,upper,lower\r\n5,"a,b",x,3,0\r\n\r\n7,c,y,2,1\r\n' >odd.csv
"$program" pack odd.csv >out.txt 2>err.txt || fail "odd.csv is not read"
printf 'size, Note ,id,upper,lower,offset\n5,"a,b",x,3,0,0\n7,c,y,2,1,5\n' | cmp -s - out.txt || fail "odd.csv: $(cat out.txt)"
grep -q 'height 12' err.txt || fail "no summary: $(cat err.txt)"

# What was written can be read; the old offsets give way.
"$program" pack odd.csv -o packed.csv 2>/dev/null && "$program" pack packed.csv -o again.csv 2>/dev/null
cmp -s packed.csv again.csv || fail "packing a packed table changes it"

"$program" pack odd.csv --capacity 12 --json >out.txt || fail "capacity 12 is enough"
for field in '"capacity": 12' '"height": 12' '"lower_bound": 12' '"seconds": ' '"offsets": \['; do
    grep -q "$field" out.txt || fail "JSON without $field"
done

printf 'id,lower,upper,size,alignment,fixed\na,0,4,10,,\nb,0,4,10,64,\nc,0,2,8,,100\n' >aligned.csv
grep -q '^c,0,2,8,,100,100$' <("$program" pack aligned.csv 2>/dev/null) || fail "fixed offsets are not kept"
"$program" pack aligned.csv 2>/dev/null | grep -Eq '^b,0,4,10,64,,(0|64|128)$' || fail "alignments are not kept"

# A capacity that is too small.
refused 1 'lowest packing found is 12' odd.csv --capacity 11
"$program" pack odd.csv --capacity 11 -o none.csv 2>/dev/null
[ -e none.csv ] && fail "a file was written although nothing fits"
"$program" pack odd.csv --capacity 11 --json >out.txt 2>/dev/null && fail "exit code 0 although nothing fits"
grep -q '"fits": false' out.txt || fail "JSON does not say that nothing fits"

# Bad input names the file and the line.
bad() {
    printf "$1" >bad.csv
    refused 1 "$2" bad.csv
}
bad '' "'bad.csv' is empty"
bad 'id,lower,size\n1,2,3\n' "'bad.csv' line 1: there is no column 'upper'"
bad 'id,lower,upper,size,size\n' "'bad.csv' line 1: two columns"
bad 'id,lower,upper,size\na,0,1,5\nb,0,1,-5\n' "'bad.csv' line 3: buffer 'b': size -5 is negative"
bad 'id,lower,upper,size\na,4,4,5\n' "'bad.csv' line 2: buffer 'a': upper 4 is not above lower 4"
bad 'id,lower,upper,size\na,0,1,5\na,0,1,5\n' "'bad.csv' line 3: the id 'a' was already given in line 2"
bad 'id,lower,upper,size\na,0,1\n' "'bad.csv' line 2: 'size' is missing"
bad 'id,lower,upper,size\na,0,1,5x\n' "'bad.csv' line 2: buffer 'a': size '5x' is not"
bad 'id,lower,upper,size\na,0,1,99999999999999999999\n' "line 2: buffer 'a': size '99999999999999999999' is not"
bad 'id,lower,upper,size\na,0,1,2000000000000000000\nb,0,1,2000000000000000000\n' "'bad.csv' line 3: buffer 'b': with its size"
bad 'id,lower,upper,size\n\0\n' "'bad.csv' is not a text file"
refused 1 "cannot open 'absent.csv'" absent.csv
refused 2 'expected one CSV file'
refused 2 '--seconds' odd.csv --seconds 0
refused 2 '--capacity' odd.csv --capacity 0
refused 2 '--capacity' odd.csv --capacity lots

[ "$failures" -eq 0 ]
