# Nothing outside src/ops, src/graph/passes and src/grad decides by an operator's name: the row of the operator does.
# Names may stand where nodes are built and where kernels label their steps.
source=$2
cd "$source/src" || exit 1
others=$(find . -name '*.[ch]' ! -path './ops/*' ! -path './graph/passes/*' ! -path './grad/*' | sort)
bad=0

# A node's operator, or a step's label, compared with a text. Two of them may be compared with each other.
found=$(grep -nE 'str(n|case|ncase)?(cmp|str)\([^;]*(op_name|op_type|->label|\.label|op->name)[^;]*"' $others)
[ -n "$found" ] && { echo "compares operator names:"; echo "$found"; bad=1; }

# Any name of the table inside a comparison or a list of texts.
names=$(sed -nE 's/^OP\([^,]*, *([A-Za-z0-9]+),.*/\1/p; s/^SLOPE\(([A-Za-z0-9]+),.*/\1Grad/p' ops/*.def | sort -u | paste -sd'|')
[ "$(tr '|' '\n' <<< "$names" | wc -l)" -gt 180 ] || { echo "the table was not read"; exit 1; }
found=$(grep -nE "str(n|case|ncase)?(cmp|str)\([^;]*\"($names)\"" $others | grep -v 'torch\.Size')
[ -n "$found" ] && { echo "compares operator names:"; echo "$found"; bad=1; }
found=$(grep -nE "^[^(]*\{ *\"($names)\"|^ *\"($names)\", *$|\"($names)\", *\"($names)\"" $others | grep -vE '"torch", "Size"')
[ -n "$found" ] && { echo "lists operator names:"; echo "$found"; bad=1; }

# The check itself finds what it is for.
planted=$(mktemp -d)
trap 'rm -rf "$planted"' EXIT
printf 'if (strcmp(node->op_name, "Gather") != 0) return;\n' > "$planted/a.c"
printf 'static const char *const heavy[] = {"Conv", "MatMul"};\n' > "$planted/b.c"
grep -qE 'str(n|case|ncase)?(cmp|str)\([^;]*(op_name|op_type|->label|\.label|op->name)[^;]*"' "$planted/a.c" &&
    grep -qE "\"($names)\", *\"($names)\"" "$planted/b.c" || { echo "the check finds nothing"; bad=1; }
exit $bad
