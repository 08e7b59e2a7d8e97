/* Any bytes as a pickle, as a tree and as a stream whose visitor folds, drops and keeps by turns. */
#include "format/pickle.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static plim__pickle_verdict visit(void *context, plim__pickle_value key, plim__pickle_value container, int64_t *token,
                                  plim_error *error) {
    (void)error;
    unsigned *turn = context;
    plim__pickle_value a, b;
    *token = (int64_t)(plim__pickle_count(container) + plim__pickle_count(plim__pickle_arguments(container)));
    plim__pickle_pair(container, 0, &a, &b);
    plim__pickle_text_is(key, "frames");
    return (plim__pickle_verdict)((*turn)++ % 3);
}

/* Touches everything to a bounded depth. */
static void walk(plim__pickle_value value, int depth) {
    size_t length;
    double number;
    uint64_t whole;
    const char *module, *name;
    plim__pickle_double(value, &number);
    plim__pickle_uint(value, &whole);
    plim__pickle_text(value, &length);
    plim__pickle_global(value, &module, &name);
    if (depth == 0) return;
    plim__pickle_value key, item;
    for (size_t i = 0; i < plim__pickle_count(value) && i < 8; i++) walk(plim__pickle_at(value, i), depth - 1);
    for (size_t i = 0; i < 8 && plim__pickle_pair(value, i, &key, &item); i++) walk(item, depth - 1);
    walk(plim__pickle_callable(value), depth - 1);
    walk(plim__pickle_arguments(value), depth - 1);
    walk(plim__pickle_state(value), depth - 1);
    walk(plim__pickle_persistent(value), depth - 1);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    plim_error error;
    plim__pickle *pickle;
    unsigned turn = 0;
    plim__pickle_options options = {.memory_limit = 4 << 20};
    if (plim__pickle_read_memory(data, size, &options, &pickle, &error) == PLIM_OK) walk(plim__pickle_root(pickle), 4);
    plim__pickle_free(pickle);
    options.visitor = (plim__pickle_visitor){&turn, visit, NULL};
    if (plim__pickle_read_memory(data, size, &options, &pickle, &error) == PLIM_OK) walk(plim__pickle_root(pickle), 4);
    plim__pickle_free(pickle);
    return 0;
}
