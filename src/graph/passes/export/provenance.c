/* The texts that PyTorch's exporter leaves, taken apart. They are for people: what does not look as expected is skipped,
 * never an error. */
#include "graph/passes/export/provenance.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"

void plim__node_origin_free(plim__node_origin *origin) {
    plim__free(origin->call);
    plim__free(origin->rules);
    origin->call = origin->rules = NULL;
}

plim_status plim__provenance_add_node(plim__provenance *p, plim__node_origin origin, plim_error *error) {
    if (plim__vec_push(&p->nodes, origin)) return PLIM_OK;
    plim__node_origin_free(&origin);
    return plim__fail_memory(error, "the exporter's metadata", sizeof origin);
}

void plim__provenance_free(plim__provenance *p) {
    plim__free(p->signature);
    for (size_t i = 0; i < p->nodes.count; i++) plim__node_origin_free(&p->nodes.items[i]);
    for (size_t i = 0; i < p->values.count; i++) {
        plim__free(p->values.items[i].name);
        plim__free(p->values.items[i].kind);
        plim__free(p->values.items[i].folded);
    }
    plim__vec_free(&p->apart);
    plim__vec_free(&p->nodes);
    plim__vec_free(&p->values);
    *p = (plim__provenance){0};
}

/* --- the signature ------------------------------------------------------------------------------------------------ */

static plim_status list(plim__signature *s, plim__listed one, plim_error *error) {
    int64_t index = (int64_t)s->items.count;
    bool known = one.placeholder && one.target && plim__map_get(&s->targets, one.target, -1) >= 0;
    if (known || !one.placeholder || !one.target || !plim__vec_push(&s->items, one)) {
        plim__free(one.placeholder);
        plim__free(one.target);
        return known ? PLIM_OK : plim__fail_memory(error, "the exporter's list of parameters", sizeof one);
    }
    if (plim__map_put(&s->placeholders, one.placeholder, index) && plim__map_put(&s->targets, one.target, index))
        return PLIM_OK;
    return plim__fail_memory(error, "the exporter's list of parameters", sizeof one);
}

static plim__listed_kind kind_of(const char *text, size_t length) {
    if (length == 9 && memcmp(text, "PARAMETER", 9) == 0) return PLIM__LISTED_PARAMETER;
    if (length == 6 && memcmp(text, "BUFFER", 6) == 0) return PLIM__LISTED_BUFFER;
    return PLIM__LISTED_OTHER;
}

/* The text between `before` and the next quote within [at, end); NULL when it is not there. */
static const char *quoted(const char *at, const char *end, const char *before, size_t *length) {
    size_t size = strlen(before);
    for (; at + size < end; at++)
        if (memcmp(at, before, size) == 0) {
            const char *close = memchr(at + size, '\'', (size_t)(end - at) - size);
            if (!close) return NULL;
            *length = (size_t)(close - at) - size;
            return at + size;
        }
    return NULL;
}

/*   p_fc_weight: PARAMETER target='fc.weight'   */
static plim_status read_line(plim__signature *s, const char *line, const char *end, plim_error *error) {
    const char *colon = memchr(line, ':', (size_t)(end - line));
    if (!colon || end - colon < 3) return PLIM_OK;
    const char *kind = colon + 2, *kind_end = kind;
    while (kind_end < end && (isupper((unsigned char)*kind_end) || *kind_end == '_')) kind_end++;
    size_t length;
    const char *target = quoted(kind_end, end, "target='", &length);
    if (!target) return PLIM_OK;
    plim__listed one = {plim__strndup(line, (size_t)(colon - line)), plim__strndup(target, length),
                        kind_of(kind, (size_t)(kind_end - kind))};
    return list(s, one, error);
}

static plim_status move(plim__signature *s, plim__moved one, plim_error *error) {
    if (one.value && one.target && plim__vec_push(&s->moved, one)) return PLIM_OK;
    plim__free(one.value);
    plim__free(one.target);
    return plim__fail_memory(error, "the exporter's list of buffers", sizeof one);
}

/*   div_1: BUFFER_MUTATION target='norm.u'   */
static plim_status read_output(plim__signature *s, const char *line, const char *end, plim_error *error) {
    static const char kind[] = ": BUFFER_MUTATION ";
    const char *colon = memchr(line, ':', (size_t)(end - line));
    size_t length;
    if (!colon || (size_t)(end - colon) < sizeof kind || memcmp(colon, kind, sizeof kind - 1) != 0) return PLIM_OK;
    const char *target = quoted(colon, end, "target='", &length);
    if (!target) return PLIM_OK;
    return move(
        s, (plim__moved){.value = plim__strndup(line, (size_t)(colon - line)), .target = plim__strndup(target, length)},
        error);
}

static plim_status read_lines(plim__signature *s, const char *text, plim_error *error) {
    const char *outputs = strstr(text, "# outputs"), *stop = text + strlen(text);
    while (text < stop) {
        const char *end = memchr(text, '\n', (size_t)(stop - text));
        if (!end) end = stop;
        PLIM_TRY(outputs && text >= outputs ? read_output(s, text, end, error) : read_line(s, text, end, error));
        text = end + 1;
    }
    return PLIM_OK;
}

/* Older releases:  InputSpec(kind=<InputKind.PARAMETER: 2>, arg=TensorArgument(name='p_w'), target='w', ...   */
static plim_status read_specs(plim__signature *s, const char *text, plim_error *error) {
    for (const char *at = strstr(text, "InputKind."); at;) {
        const char *next = strstr(at + 1, "InputKind."), *end = next ? next : at + strlen(at);
        const char *kind = at + strlen("InputKind."), *kind_end = kind;
        while (isupper((unsigned char)*kind_end) || *kind_end == '_') kind_end++;
        size_t name_length, length;
        const char *name = quoted(at, end, "name='", &name_length), *target = quoted(at, end, "target='", &length);
        if (name && target) {
            plim__listed one = {plim__strndup(name, name_length), plim__strndup(target, length),
                                kind_of(kind, (size_t)(kind_end - kind))};
            PLIM_TRY(list(s, one, error));
        }
        at = next;
    }
    return PLIM_OK;
}

plim_status plim__signature_read(const char *text, plim__signature *s, plim_error *error) {
    *s = (plim__signature){0};
    if (!text) return PLIM_OK;
    const char *inputs = strstr(text, "# inputs");
    return inputs ? read_lines(s, inputs, error) : read_specs(s, text, error);
}

void plim__signature_free(plim__signature *s) {
    for (size_t i = 0; i < s->items.count; i++) {
        plim__free(s->items.items[i].placeholder);
        plim__free(s->items.items[i].target);
    }
    for (size_t i = 0; i < s->moved.count; i++) {
        plim__free(s->moved.items[i].value);
        plim__free(s->moved.items[i].target);
    }
    plim__vec_free(&s->items);
    plim__vec_free(&s->moved);
    plim__map_free(&s->placeholders);
    plim__map_free(&s->targets);
}

/* --- calls -------------------------------------------------------------------------------------------------------- */

/* Arguments are separated by commas outside of brackets. */
static void split_arguments(const char *at, plim__call *call) {
    int depth = 0;
    const char *begin = at;
    for (;; at++) {
        bool closes = *at == ')' || *at == ']' || *at == '}', ends = !*at || (closes && depth == 0);
        if ((ends || (*at == ',' && depth == 0)) && call->count < PLIM__CALL_ARGUMENTS) {
            while (begin < at && *begin == ' ') begin++;
            if (begin < at) {
                call->arguments[call->count] = begin;
                call->lengths[call->count++] = (size_t)(at - begin);
            }
            begin = at + 1;
        }
        if (ends) return;
        depth += (*at == '(' || *at == '[' || *at == '{') - closes;
    }
}

bool plim__call_read(const char *text, plim__call *call) {
    *call = (plim__call){0};
    const char *target = text ? strstr(text, "[target=") : NULL;
    const char *end = target ? strchr(target, ']') : NULL, *arguments = end ? strstr(end, "(args = (") : NULL;
    if (!arguments) return false;
    call->target = target + strlen("[target=");
    if (strncmp(call->target, "torch.ops.", 10) == 0) call->target += 10;
    call->target_length = (size_t)(end - call->target);
    split_arguments(arguments + strlen("(args = ("), call);
    return true;
}

bool plim__call_is(const plim__call *call, const char *name) {
    size_t length = strlen(name);
    const char *at = call->target;
    if (call->target_length < 5 + length || memcmp(at, "aten.", 5) != 0 || memcmp(at + 5, name, length) != 0)
        return false;
    return call->target_length == 5 + length || at[5 + length] == '.';
}

bool plim__call_argument(const plim__call *call, size_t i, char *name, size_t size) {
    if (i >= call->count || call->arguments[i][0] != '%' || call->lengths[i] > size) return false;
    memcpy(name, call->arguments[i] + 1, call->lengths[i] - 1);
    name[call->lengths[i] - 1] = 0;
    return true;
}

bool plim__call_number(const plim__call *call, size_t i, double *number) {
    for (size_t k = 0; k < call->count; k++) {
        char *end;
        double found = strtod(call->arguments[k], &end);
        if (end != call->arguments[k] + call->lengths[k]) continue;
        *number = found;
        if (i-- == 0) return true;
    }
    return false;
}
