/* The list of passes, and running them. */
#include "graph/pass.h"

#include <string.h>

#include "core/error.h"

const plim__pass plim__passes[] = {
    {"fold", "computes what depends on constants only", NULL, PLIM__PASS_ELSEWHERE}, /* while shapes are inferred */
    {"winograd", "3x3 convolutions in Winograd's form, which rounds otherwise, where it is faster", NULL,
     PLIM__PASS_ELSEWHERE}, /* while the program is made */
#define PASS(id, text, where, what) {text, what, plim__pass_##id, PLIM__PASS_##where},
#include "graph/passes.def"
#undef PASS
};
const size_t plim__pass_count = sizeof plim__passes / sizeof *plim__passes;

bool plim__pass_listed(const char *list, const char *name) {
    size_t length = strlen(name);
    for (const char *at = list; at && *at; at += strcspn(at, ","), at += *at == ',')
        if (strcspn(at, ",") == length && strncmp(at, name, length) == 0) return true;
    return false;
}

static plim_status check_names(const char *list, plim_error *error) {
    for (const char *at = list; at && *at; at += strcspn(at, ","), at += *at == ',') {
        size_t length = strcspn(at, ",");
        bool known = false;
        for (size_t i = 0; i < plim__pass_count; i++)
            known |= strlen(plim__passes[i].name) == length && strncmp(plim__passes[i].name, at, length) == 0;
        if (!known) return plim__fail(error, PLIM_INVALID, "there is no pass '%.*s'", (int)length, at);
    }
    return PLIM_OK;
}

static plim_status run_one(const plim__pass *pass, plim_graph *g, bool *changed, plim_error *error) {
    plim__readers_index(g);
    plim_status status = pass->run(g, changed, error);
    PLIM_TRY(plim_graph_status(g, error)); /* what went wrong in the graph itself says more */
    PLIM_TRY(status);
    if (!*changed) return PLIM_OK;
    PLIM_TRY(plim__graph_sort(g, error));
    return plim__graph_prune(g, error);
}

static plim_status run_all(plim_graph *g, const char *without, plim_error *error) {
    plim__pass_where other = g->trains ? PLIM__PASS_INFERENCE : PLIM__PASS_TRAINING;
    for (int round = 0; round < 8; round++) {
        bool any = false;
        for (size_t i = 0; i < plim__pass_count; i++) {
            bool changed = false;
            if (!plim__passes[i].run || plim__passes[i].where == other ||
                plim__pass_listed(without, plim__passes[i].name))
                continue;
            PLIM_TRY(run_one(&plim__passes[i], g, &changed, error));
            any |= changed;
        }
        if (!any) break;
    }
    return PLIM_OK;
}

plim_status plim__passes_run(plim_graph *g, const char *without, bool training, plim_error *error) {
    PLIM_TRY(check_names(without, error));
    g->trains = training;
    plim_status status = run_all(g, without, error);
    plim__readers_drop(g);
    return status;
}
