#!/bin/bash
# docs/causes.md and docs/explanations/ are what the program prints today. To renew them:
#   UPDATE=1 bash tests/diagnose/test_docs.sh build/plimsoll .
set -u
program=$1 source=$2 bad=0
export COLUMNS=80 LC_ALL=C.UTF-8 NO_COLOR=1

compare() { # made, kept
    if [ "${UPDATE:-}" ]; then
        mkdir -p "$(dirname "$2")" && cp "$1" "$2"
    elif ! cmp -s "$1" "$2"; then
        echo "$2 is not what the program prints; renew it with UPDATE=1"
        diff "$1" "$2" | head -10
        bad=1
    fi
}

page=$(mktemp) || exit 1
trap 'rm -f "$page"' EXIT
"$program" explain --causes >"$page" || exit 1
compare "$page" "$source/docs/causes.md"

# One page a framework; one section a cause; the logs are in tests/diagnose/examples/<framework>/<cause>.txt.
for framework in pytorch tensorflow jax; do
    {
        echo "# Explanations: $framework"
        echo
        echo "Each log below was given to \`plimsoll explain\`; the answer is what it printed."
        for cause in bad_size too_big limit per_allocation_limit other_process fragmented full dataset_on_device \
            host_memory disguised warning; do
            log=$source/tests/diagnose/examples/$framework/$cause.txt
            printf '\n## %s\n\n' "$cause"
            [ -f "$log" ] || { echo "No message of this framework shows this cause."; continue; }
            printf '```\n'
            cat "$log"
            printf '```\n\n```\n'
            "$program" explain "$log" || exit 1
            printf '```\n'
            got=$("$program" explain --json "$log" | sed -n 's/^ *"cause": "\(.*\)",*$/\1/p')
            [ "$got" = "$cause" ] || { echo "$log: cause is $got" >&2; bad=1; }
        done
    } >"$page"
    compare "$page" "$source/docs/explanations/$framework.md"
done

# docs/beliefs.md: every "$ plimsoll ..." line is run, and what follows it up to the fence is its output.
program=$(readlink -f "$program")
(cd "$source" && inside=0 && while IFS= read -r line; do
    case $line in
    '```') inside=$((1 - inside)); echo "$line" ;;
    '$ plimsoll '*) echo "$line"; set -- ${line#'$ plimsoll '}; "$program" "$@" </dev/null ;;
    *) [ $inside = 1 ] || echo "$line" ;;
    esac
done <docs/beliefs.md) >"$page"
compare "$page" "$source/docs/beliefs.md"
exit $bad
