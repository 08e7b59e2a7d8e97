/* The pickle machine: a stack, marks on it, a memo, and a small function for each family of opcodes. Where
 * Python would call something, this machine writes down the call and goes on. */
#include "format/pickle.h"

#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "format/pickle_internal.h"

#define DEFAULT_MEMORY ((size_t)256 << 20)
enum { DEFAULT_DEPTH = 1000, NEWEST_PROTOCOL = 5 };

struct plim__pickle {
    plim__pickle_pool pool;
    plim__pickle_input input;
    plim__pickle_memo memo;
    PLIM_VEC(plim__pickle_value) stack;
    PLIM_VEC(size_t) marks;
    plim__pickle_visitor visitor;
    unsigned depth_limit;
    plim__pickle_value root;
    uint64_t length;
    int protocol;
};

typedef plim__pickle machine;
typedef plim__pickle_value value;

static plim_status malformed(machine *m, const char *what, plim_error *error) {
    return plim__pickle_malformed(&m->input, what, error);
}

static plim_status no_room(machine *m, plim_error *error) {
    if (m->pool.refused) return plim__pickle_too_large(&m->input, error);
    return plim__fail_memory(error, "a pickle", m->pool.held);
}

static plim_status too_deep(machine *m, plim_error *error) {
    return plim__fail(error, PLIM_BUDGET, "'%s' is a pickle nested more than %u deep", m->input.name, m->depth_limit);
}

/* How deep a value is when something else contains it. */
static unsigned depth_inside(plim__pickle_value item) {
    const plim__pickle_object *object = plim__pickle_object_of(item);
    return object && object->type >= PLIM__PICKLE_LIST ? object->depth + 1u : 0;
}

/* --- the stack ------------------------------------------------------------------------------------------------ */

/* Takes over the reference; an ABSENT value is one that could not be made. */
static plim_status push(machine *m, value item, plim_error *error) {
    if (!item.word) return no_room(m, error);
    if (depth_inside(item) > m->depth_limit + 1) {
        plim__pickle_release(&m->pool, item);
        return too_deep(m, error);
    }
    size_t before = m->stack.capacity;
    bool pushed = plim__vec_push(&m->stack, item);
    if (!pushed) plim__pickle_release(&m->pool, item);
    bool charged = plim__pickle_charge(&m->pool, (m->stack.capacity - before) * sizeof item);
    return pushed && charged ? PLIM_OK : no_room(m, error);
}

static size_t floor_of(const machine *m) { return m->marks.count ? m->marks.items[m->marks.count - 1] : 0; }

static bool has(const machine *m, size_t count) { return m->stack.count - floor_of(m) >= count; }

static value pop(machine *m) { return m->stack.items[--m->stack.count]; }

static plim__pickle_object *top(machine *m) {
    return has(m, 1) ? plim__pickle_object_of(m->stack.items[m->stack.count - 1]) : NULL;
}

static plim_status underflow(machine *m, plim_error *error) { return malformed(m, "it takes more than it has", error); }

static plim_status mark(machine *m, plim_error *error) {
    size_t before = m->marks.capacity;
    bool pushed = plim__vec_push(&m->marks, m->stack.count);
    bool charged = plim__pickle_charge(&m->pool, (m->marks.capacity - before) * sizeof(size_t));
    return pushed && charged ? PLIM_OK : no_room(m, error);
}

/* Removes the last mark: items from *start to the top of the stack belong to it. */
static plim_status unmark(machine *m, size_t *start, plim_error *error) {
    if (m->marks.count == 0) return malformed(m, "a mark is missing", error);
    *start = m->marks.items[--m->marks.count];
    return PLIM_OK;
}

static void drop_to(machine *m, size_t count) {
    while (m->stack.count > count) plim__pickle_release(&m->pool, pop(m));
}

/* --- placing a value in a container --------------------------------------------------------------------------- */

static plim_status deepen(machine *m, plim__pickle_object *parent, value child, plim_error *error) {
    unsigned depth = depth_inside(child);
    if (depth <= parent->depth) return PLIM_OK;
    if (depth > m->depth_limit) return too_deep(m, error);
    parent->depth = (uint16_t)depth;
    return PLIM_OK;
}

/* Shows a container to the visitor, once. *drop: its parent is not to list it. What contains itself is not
 * finished, so it is not shown. */
static plim_status show(machine *m, const plim__pickle_object *parent, value key, value child, bool *drop,
                        plim_error *error) {
    plim__pickle_object *object = plim__pickle_object_of(child);
    *drop = false;
    if (!m->visitor.visit || !object || object == parent || object->visited) return PLIM_OK;
    if (object->type < PLIM__PICKLE_LIST || object->type > PLIM__PICKLE_CALL || object->type == PLIM__PICKLE_GLOBAL)
        return PLIM_OK;
    object->visited = true;
    int64_t token = 0;
    plim__pickle_verdict verdict = m->visitor.visit(m->visitor.context, key, child, &token, error);
    if (verdict == PLIM__PICKLE_FAIL) return error ? error->status : PLIM_INVALID;
    if (verdict == PLIM__PICKLE_KEEP) return PLIM_OK;
    plim__pickle_fold(&m->pool, object, token);
    *drop = verdict == PLIM__PICKLE_DROP;
    return PLIM_OK;
}

/* Moves items from `start` to the stack's top into a sequence (or drops them when there is none). */
static plim_status move_items(machine *m, size_t start, plim__pickle_object *into, plim_error *error) {
    if (into && !plim__pickle_reserve(&m->pool, into, m->stack.count - start)) return no_room(m, error);
    for (size_t i = start; into && i < m->stack.count; i++) {
        value item = m->stack.items[i];
        bool drop;
        PLIM_TRY(show(m, into, (value){0}, item, &drop, error));
        PLIM_TRY(deepen(m, into, item, error));
        if (drop) continue;
        into->items[into->count++] = plim__pickle_keep_item(item);
    }
    drop_to(m, start);
    return PLIM_OK;
}

static plim_status move_pairs(machine *m, size_t start, plim__pickle_object *into, plim_error *error) {
    if ((m->stack.count - start) % 2) return malformed(m, "a key has no value", error);
    if (into && !plim__pickle_reserve(&m->pool, into, m->stack.count - start)) return no_room(m, error);
    for (size_t i = start; into && i < m->stack.count; i += 2) {
        value key = m->stack.items[i], item = m->stack.items[i + 1];
        bool drop;
        PLIM_TRY(show(m, into, key, item, &drop, error));
        PLIM_TRY(deepen(m, into, key, error));
        PLIM_TRY(deepen(m, into, item, error));
        if (drop) continue;
        into->items[into->count++] = plim__pickle_keep(key);
        into->items[into->count++] = plim__pickle_keep(item);
    }
    drop_to(m, start);
    return PLIM_OK;
}

/* Where items for the object at the stack's `index` go: itself, or the extra part of a call. *into is NULL when
 * the object is opaque and they go nowhere. */
static plim_status target(machine *m, size_t index, plim__pickle_type type, plim__pickle_object **into,
                          plim_error *error) {
    plim__pickle_object *object = plim__pickle_object_of(m->stack.items[index]);
    *into = object;
    if (object && object->type == type) return PLIM_OK;
    *into = NULL;
    if (!object || object->type < PLIM__PICKLE_GLOBAL) return malformed(m, "it fills what is not a container", error);
    if (object->type != PLIM__PICKLE_CALL) return PLIM_OK;
    value *extra = &object->items[3];
    if (plim__pickle_object_of(*extra) == NULL) {
        value made = plim__pickle_new(&m->pool, type);
        if (!made.word) return no_room(m, error);
        *extra = made;
    }
    plim__pickle_object *there = plim__pickle_object_of(*extra);
    if (there->type == type) *into = there;
    return PLIM_OK;
}

static plim_status fill(machine *m, size_t start, plim__pickle_type type, plim_error *error) {
    plim__pickle_object *into;
    if (start == 0 || start <= floor_of(m)) return underflow(m, error);
    PLIM_TRY(target(m, start - 1, type, &into, error));
    /* The extra part of a call belongs to the call alone, and a visitor may fold the call while it is filled: a
     * call that is among its own items. */
    if (into) into->refs++;
    plim_status status =
        type == PLIM__PICKLE_DICT ? move_pairs(m, start, into, error) : move_items(m, start, into, error);
    plim__pickle_release(&m->pool, (value){(uintptr_t)into});
    return status;
}

static plim_status fill_from_mark(machine *m, plim__pickle_type type, plim_error *error) {
    size_t start = 0;
    PLIM_TRY(unmark(m, &start, error));
    return fill(m, start, type, error);
}

/* A new container of the items from `start` on, which it replaces on the stack. */
static plim_status collect(machine *m, size_t start, plim__pickle_type type, plim_error *error) {
    value made = plim__pickle_new(&m->pool, type);
    if (!made.word) return no_room(m, error);
    plim__pickle_object *object = plim__pickle_object_of(made);
    plim_status status =
        type == PLIM__PICKLE_DICT ? move_pairs(m, start, object, error) : move_items(m, start, object, error);
    if (status == PLIM_OK) return push(m, made, error);
    plim__pickle_release(&m->pool, made);
    return status;
}

static plim_status collect_from_mark(machine *m, plim__pickle_type type, plim_error *error) {
    size_t start = 0;
    PLIM_TRY(unmark(m, &start, error));
    return collect(m, start, type, error);
}

static plim_status collect_last(machine *m, size_t count, plim_error *error) {
    if (!has(m, count)) return underflow(m, error);
    return collect(m, m->stack.count - count, PLIM__PICKLE_TUPLE, error);
}

/* --- globals and calls ---------------------------------------------------------------------------------------- */

/* An object of fixed parts, which it takes from the caller whatever happens. */
static value compose(machine *m, plim__pickle_type type, const value *parts, size_t count) {
    value made = plim__pickle_new(&m->pool, type);
    plim__pickle_object *object = plim__pickle_object_of(made);
    bool room = made.word && plim__pickle_reserve(&m->pool, object, count);
    for (size_t i = 0; i < count; i++) {
        if (room) object->items[object->count++] = parts[i];
        if (room && depth_inside(parts[i]) > object->depth) object->depth = (uint16_t)depth_inside(parts[i]);
        if (!room) plim__pickle_release(&m->pool, parts[i]);
    }
    if (room) return made;
    plim__pickle_release(&m->pool, made);
    return (value){0};
}

static plim_status push_global(machine *m, value module, value name, plim_error *error) {
    bool valid =
        plim__pickle_type_of(module) == PLIM__PICKLE_STRING && plim__pickle_type_of(name) == PLIM__PICKLE_STRING;
    if (valid) return push(m, compose(m, PLIM__PICKLE_GLOBAL, (value[]){module, name}, 2), error);
    bool missing = !module.word || !name.word;
    plim__pickle_release(&m->pool, module);
    plim__pickle_release(&m->pool, name);
    return missing ? no_room(m, error) : malformed(m, "the name of a global is not a string", error);
}

static plim_status global_from_lines(machine *m, const plim__pickle_step *step, plim_error *error) {
    value module = plim__pickle_new_text(&m->pool, PLIM__PICKLE_STRING, step->text, strlen(step->text));
    const char *name = step->text + step->second;
    return push_global(m, module, plim__pickle_new_text(&m->pool, PLIM__PICKLE_STRING, name, strlen(name)), error);
}

static plim_status push_call(machine *m, value callable, value arguments, bool instance, plim_error *error) {
    plim_status status = PLIM_OK;
    if (m->visitor.call) status = m->visitor.call(m->visitor.context, callable, instance, error);
    if (status != PLIM_OK) {
        plim__pickle_release(&m->pool, callable);
        plim__pickle_release(&m->pool, arguments);
        return status;
    }
    return push(m, compose(m, PLIM__PICKLE_CALL, (value[]){callable, arguments, {0}, {0}}, PICKLE_CALL_ITEMS), error);
}

/* callable arguments → call */
static plim_status reduce(machine *m, bool instance, plim_error *error) {
    if (!has(m, 2)) return underflow(m, error);
    value arguments = pop(m), callable = pop(m);
    return push_call(m, callable, arguments, instance, error);
}

/* MARK callable arguments... → call; the callable of INST comes from its lines and is on top. */
static plim_status call_from_mark(machine *m, bool callable_last, plim_error *error) {
    size_t start = 0;
    PLIM_TRY(unmark(m, &start, error));
    if (m->stack.count == start) return underflow(m, error);
    value callable;
    if (callable_last) {
        callable = pop(m);
    } else {
        callable = m->stack.items[start];
        m->stack.count--;
        memmove(&m->stack.items[start], &m->stack.items[start + 1], (m->stack.count - start) * sizeof callable);
    }
    plim_status status = collect(m, start, PLIM__PICKLE_TUPLE, error);
    if (status == PLIM_OK) return push_call(m, callable, pop(m), false, error);
    plim__pickle_release(&m->pool, callable);
    return status;
}

static plim_status build(machine *m, plim_error *error) {
    if (!has(m, 2)) return underflow(m, error);
    bool drop;
    PLIM_TRY(show(m, NULL, (value){0}, m->stack.items[m->stack.count - 1], &drop, error));
    value state = pop(m), old = state;
    plim__pickle_object *object = top(m);
    if (object && object->type == PLIM__PICKLE_CALL) {
        old = object->items[2];
        object->items[2] = state;
    }
    bool kept = old.word != state.word;
    plim__pickle_release(&m->pool, old);
    return kept ? deepen(m, object, state, error) : PLIM_OK;
}

static plim_status stack_global(machine *m, plim_error *error) {
    if (!has(m, 2)) return underflow(m, error);
    value name = pop(m), module = pop(m);
    return push_global(m, module, name, error);
}

static plim_status persistent(machine *m, value id, plim_error *error) {
    if (!id.word) return no_room(m, error);
    return push(m, compose(m, PLIM__PICKLE_PERSISTENT, &id, 1), error);
}

/* --- memo ----------------------------------------------------------------------------------------------------- */

static plim_status put(machine *m, uint64_t number, plim_error *error) {
    if (!has(m, 1)) return underflow(m, error);
    if (plim__pickle_memo_put(&m->memo, &m->pool, number, m->stack.items[m->stack.count - 1])) return PLIM_OK;
    return no_room(m, error);
}

static plim_status get(machine *m, uint64_t number, plim_error *error) {
    value item = plim__pickle_memo_get(&m->memo, &m->pool, number);
    if (!item.word) return malformed(m, "it refers to an object that is not there", error);
    return push(m, item, error);
}

static plim_status text_memo(machine *m, const plim__pickle_step *step, plim_error *error) {
    uint64_t number;
    if (!plim__pickle_memo_number(step->text, &number)) return malformed(m, "a memo number is not a number", error);
    return step->opcode == 'p' ? put(m, number, error) : get(m, number, error);
}

/* --- constants ------------------------------------------------------------------------------------------------ */

static plim_status push_float(machine *m, double real, plim_error *error) {
    value made = plim__pickle_new(&m->pool, PLIM__PICKLE_FLOAT);
    if (made.word) plim__pickle_object_of(made)->real = real;
    return push(m, made, error);
}

static plim_status push_text(machine *m, plim__pickle_type type, const plim__pickle_step *step, plim_error *error) {
    return push(m, plim__pickle_new_text(&m->pool, type, step->text, step->length), error);
}

/* A value that a text argument gave, or the reason why it gave none. */
static plim_status push_parsed(machine *m, value made, bool bad, plim_error *error) {
    return bad ? malformed(m, "a text argument makes no sense", error) : push(m, made, error);
}

static plim_status text_constant(machine *m, const plim__pickle_step *step, plim_error *error) {
    bool bad = false;
    value made;
    switch (step->opcode) {
    case 'I':
        if (strcmp(step->text, "00") == 0 || strcmp(step->text, "01") == 0)
            return push(m, plim__pickle_constant(step->text[1] == '1' ? 2 : 1), error);
        made = plim__pickle_decimal(&m->pool, step->text, &bad);
        break;
    case 'L': made = plim__pickle_decimal(&m->pool, step->text, &bad); break;
    case 'S': made = plim__pickle_quoted(&m->pool, m->input.text, step->length, &bad); break;
    case 'V': made = plim__pickle_raw_unicode(&m->pool, step->text, step->length, &bad); break;
    default: { /* 'F' */
        char *end;
        double real = strtod(step->text, &end);
        if (end == step->text || (*end && *end != '\r')) return push_parsed(m, (value){0}, true, error);
        return push_float(m, real, error);
    }
    }
    return push_parsed(m, made, bad, error);
}

static plim_status binary_float(machine *m, uint64_t little, plim_error *error) {
    uint64_t bits = __builtin_bswap64(little);
    double real;
    memcpy(&real, &bits, sizeof real);
    return push_float(m, real, error);
}

static plim_status protocol(machine *m, uint64_t number, plim_error *error) {
    if (number > NEWEST_PROTOCOL)
        return plim__fail(error, PLIM_UNSUPPORTED, "'%s' uses pickle protocol %u; 0 to %d are known", m->input.name,
                          (unsigned)number, NEWEST_PROTOCOL);
    m->protocol = (int)number;
    return PLIM_OK;
}

/* --- small stack operations ----------------------------------------------------------------------------------- */

static plim_status pop_one(machine *m, plim_error *error) {
    if (has(m, 1))
        drop_to(m, m->stack.count - 1);
    else if (m->marks.count)
        m->marks.count--; /* as CPython: POP right after MARK takes the mark */
    else
        return underflow(m, error);
    return PLIM_OK;
}

static plim_status pop_mark(machine *m, plim_error *error) {
    size_t start = 0;
    PLIM_TRY(unmark(m, &start, error));
    drop_to(m, start);
    return PLIM_OK;
}

static plim_status duplicate(machine *m, plim_error *error) {
    if (!has(m, 1)) return underflow(m, error);
    return push(m, plim__pickle_keep(m->stack.items[m->stack.count - 1]), error);
}

static plim_status fill_last(machine *m, size_t count, plim__pickle_type type, plim_error *error) {
    if (!has(m, count + 1)) return underflow(m, error);
    return fill(m, m->stack.count - count, type, error);
}

static plim_status reduce_with_keywords(machine *m, plim_error *error) {
    if (!has(m, 3)) return underflow(m, error);
    plim__pickle_release(&m->pool, pop(m)); /* the keywords */
    return reduce(m, true, error);
}

static plim_status instance(machine *m, const plim__pickle_step *step, plim_error *error) {
    PLIM_TRY(global_from_lines(m, step, error));
    return call_from_mark(m, true, error);
}

static plim_status binary_persistent(machine *m, plim_error *error) {
    if (!has(m, 1)) return underflow(m, error);
    return persistent(m, pop(m), error);
}

/* --- the loop ------------------------------------------------------------------------------------------------- */

static plim_status execute(machine *m, const plim__pickle_step *step, plim_error *error) {
    plim__pickle_pool *pool = &m->pool;
    switch (step->opcode) {
    case '(': return mark(m, error);
    case '0': return pop_one(m, error);
    case '1': return pop_mark(m, error);
    case '2': return duplicate(m, error);
    case 'F':
    case 'I':
    case 'L':
    case 'S':
    case 'V': return text_constant(m, step, error);
    case 'J': return push(m, plim__pickle_new_int(pool, (int32_t)(uint32_t)step->number), error);
    case 'K':
    case 'M': return push(m, plim__pickle_new_int(pool, (int64_t)step->number), error);
    case 'N': return push(m, plim__pickle_constant(0), error);
    case 'P': return persistent(m, plim__pickle_new_text(pool, PLIM__PICKLE_STRING, step->text, step->length), error);
    case 'Q': return binary_persistent(m, error);
    case 'R':
    case 0x81: return reduce(m, step->opcode == 0x81, error);
    case 0x92: return reduce_with_keywords(m, error);
    case 'T':
    case 'U':
    case 'X':
    case 0x8c:
    case 0x8d: return push_text(m, PLIM__PICKLE_STRING, step, error);
    case 'B':
    case 'C':
    case 0x8e:
    case 0x96: return push_text(m, PLIM__PICKLE_BYTES, step, error);
    case 'a': return fill_last(m, 1, PLIM__PICKLE_LIST, error);
    case 'e': return fill_from_mark(m, PLIM__PICKLE_LIST, error);
    case 's': return fill_last(m, 2, PLIM__PICKLE_DICT, error);
    case 'u': return fill_from_mark(m, PLIM__PICKLE_DICT, error);
    case 0x90: return fill_from_mark(m, PLIM__PICKLE_SET, error);
    case 'b': return build(m, error);
    case 'c': return global_from_lines(m, step, error);
    case 0x93: return stack_global(m, error);
    case 'd': return collect_from_mark(m, PLIM__PICKLE_DICT, error);
    case 'l': return collect_from_mark(m, PLIM__PICKLE_LIST, error);
    case 't': return collect_from_mark(m, PLIM__PICKLE_TUPLE, error);
    case 0x91: return collect_from_mark(m, PLIM__PICKLE_SET, error);
    case '}': return push(m, plim__pickle_new(pool, PLIM__PICKLE_DICT), error);
    case ']': return push(m, plim__pickle_new(pool, PLIM__PICKLE_LIST), error);
    case ')': return push(m, plim__pickle_new(pool, PLIM__PICKLE_TUPLE), error);
    case 0x8f: return push(m, plim__pickle_new(pool, PLIM__PICKLE_SET), error);
    case 0x85:
    case 0x86:
    case 0x87: return collect_last(m, step->opcode - 0x84u, error);
    case 'g':
    case 'p': return text_memo(m, step, error);
    case 'h':
    case 'j': return get(m, step->number, error);
    case 'q':
    case 'r': return put(m, step->number, error);
    case 0x94: return put(m, m->memo.next, error);
    case 'i': return instance(m, step, error);
    case 'o': return call_from_mark(m, false, error);
    case 'G': return binary_float(m, step->number, error);
    case 0x80: return protocol(m, step->number, error);
    case 0x82:
    case 0x83:
    case 0x84:
    case 0x97: return push(m, plim__pickle_new(pool, PLIM__PICKLE_OPAQUE), error);
    case 0x88:
    case 0x89: return push(m, plim__pickle_constant(step->opcode == 0x88 ? 2 : 1), error);
    case 0x8a:
    case 0x8b: return push(m, plim__pickle_binary_int(pool, step->text, step->length), error);
    case 0x95:
    case 0x98: return PLIM_OK; /* frames are only for buffering; read-only is no concern of ours */
    default: return malformed(m, "an unknown opcode", error);
    }
}

static plim_status run(machine *m, plim_error *error) {
    plim__pickle_step step = {0};
    for (;;) {
        PLIM_TRY(plim__pickle_next(&m->input, false, &step, error));
        if (step.opcode == '.') break;
        PLIM_TRY(execute(m, &step, error));
    }
    if (!has(m, 1)) return underflow(m, error);
    m->root = pop(m);
    m->length = plim__pickle_input_offset(&m->input);
    return PLIM_OK;
}

/* The stack, the memo and the buffers have served; the values stay. */
static void settle(machine *m) {
    drop_to(m, 0);
    plim__pickle_memo_free(&m->memo, &m->pool);
    plim__pickle_input_close(&m->input);
    plim__pickle_refund(&m->pool, m->stack.capacity * sizeof(value) + m->marks.capacity * sizeof(size_t));
    plim__vec_free(&m->stack);
    plim__vec_free(&m->marks);
}

static plim_status scan(machine *m, plim_error *error) {
    if (!m->input.source->rewind) return PLIM_OK;
    PLIM_TRY(plim__pickle_memo_scan(&m->memo, &m->input, error));
    m->input.start = 0;
    m->input.at = m->input.filled = 0;
    return m->input.source->rewind(m->input.source->context, error);
}

plim_status plim__pickle_read(const plim__pickle_source *source, const plim__pickle_options *options,
                              plim__pickle **pickle, plim_error *error) {
    static const plim__pickle_options defaults = {0};
    if (!options) options = &defaults;
    *pickle = NULL;
    machine *m = plim__alloc_zero(1, sizeof *m);
    if (!m) return plim__fail_memory(error, "a pickle reader", sizeof *m);
    m->pool.limit = options->memory_limit ? options->memory_limit : DEFAULT_MEMORY;
    m->depth_limit = options->depth_limit ? options->depth_limit : DEFAULT_DEPTH;
    if (m->depth_limit > UINT16_MAX - 2) m->depth_limit = UINT16_MAX - 2;
    m->visitor = options->visitor;
    m->input =
        (plim__pickle_input){.source = source, .name = options->name ? options->name : "a pickle", .pool = &m->pool};
    plim_status status = plim__pickle_input_open(&m->input, error);
    if (status == PLIM_OK) status = scan(m, error);
    if (status == PLIM_OK) status = run(m, error);
    settle(m);
    if (status != PLIM_OK)
        plim__pickle_free(m);
    else
        *pickle = m;
    return status;
}

plim__pickle_value plim__pickle_root(const plim__pickle *pickle) { return pickle->root; }
uint64_t plim__pickle_length(const plim__pickle *pickle) { return pickle->length; }
int plim__pickle_protocol(const plim__pickle *pickle) { return pickle->protocol; }
size_t plim__pickle_peak(const plim__pickle *pickle) { return pickle->pool.peak; }

void plim__pickle_free(plim__pickle *pickle) {
    if (!pickle) return;
    plim__pickle_pool_free(&pickle->pool);
    plim__free(pickle);
}
