/* When the n-th allocation fails, for every n, while a model of the zoo is created: PLIM_NO_MEMORY and a message, never a
 * crash or a leak. */
#include <stdio.h>

#include "faults.h"
#include "plimsoll/plimsoll.h"

/* Under sanitizers a sample is tried, unless PLIM_FAULTS=all. */
#ifdef __SANITIZE_ADDRESS__
#define MOST 60
#else
#define MOST 400
#endif

static const plim_zoo_options small = {.image = 32,
                                       .seq = 8,
                                       .width = 8,
                                       .layers = 1,
                                       .heads = 2,
                                       .classes = 10,
                                       .channels = 1,
                                       .features = 4,
                                       .hidden = 8,
                                       .vocab = 16};

static plim_status create(void *name, plim_error *error) {
    plim_graph *graph = NULL;
    plim_status status = plim_zoo_create(name, &small, &graph, error);
    if ((status == PLIM_OK) != (graph != NULL)) fail_msg("%s: a graph beside status %d", (char *)name, (int)status);
    plim_graph_free(graph);
    return status;
}

static void every_model_survives_any_failed_allocation(void **state) {
    (void)state;
    size_t count;
    const plim_zoo_entry *entries = plim_zoo_list(&count);
    for (size_t i = 0; i < count; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s", entries[i].name);
        print_message("%s\n", name);
        fail_each(&(faults){create, name, MOST, 0});
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_model_survives_any_failed_allocation)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
