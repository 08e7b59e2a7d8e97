/* Which levers of a program are tried, and in which order. */
#include "diagnose/programs.h"

#include <string.h>

static const struct {
    const char *word, *when;
    plim__saving saving;
    int cost;
    const char *title;
} levers[] = {
#define LEVER(name, word, when, saving, cost, title) {word, when, PLIM_SAVING_##saving, cost, title},
    PLIM_LEVER_LIST(LEVER)
#undef LEVER
};

/* Orders for programs that have none of their own: what gives most for least comes first. */
static const char *order_of(plim__activity activity) {
    switch (activity) {
    case PLIM_ACTIVITY_TRAIN:
        return "batch checkpoint own quantize length input precision kernels optimizer adapters offload more shard "
               "cache model release";
    case PLIM_ACTIVITY_INFER: return "own tiles offload more input quantize length precision fewer model shard release";
    case PLIM_ACTIVITY_SERVE: return "cache length fewer graphs quantize shard offload model";
    case PLIM_ACTIVITY_START: return "shard quantize offload model cache";
    case PLIM_ACTIVITY_LOAD: return "quantize precision offload more shard model own release cache";
    case PLIM_ACTIVITY_UPDATE: return "optimizer offload shard adapters batch";
    case PLIM_ACTIVITY_EVAL: return "eval input fewer precision";
    case PLIM_ACTIVITY_HOST: return "host";
    case PLIM_ACTIVITY_BIG: return "kernels tiles own input length fewer batch precision offload more";
    case PLIM_ACTIVITY_COUNT: break;
    }
    return "";
}

size_t plim__program_count(void) {
    return plim__programs_train_count + plim__programs_use_count + plim__programs_general_count;
}

const plim__program *plim__program_at(size_t index) {
    if (index < plim__programs_train_count) return &plim__programs_train[index];
    index -= plim__programs_train_count;
    if (index < plim__programs_use_count) return &plim__programs_use[index];
    return &plim__programs_general[index - plim__programs_use_count];
}

const char *plim__lever_title(plim__lever lever) { return levers[lever].title; }

const char *plim__program_setting(const plim__program *program, plim__lever lever) {
    for (size_t i = 0; i < PLIM_PROGRAM_LEVERS && program->levers[i].setting; i++)
        if (program->levers[i].lever == lever) return program->levers[i].setting;
    return NULL;
}

static plim__lever lever_of(const char *word, size_t length) {
    for (size_t i = 0; i < PLIM_LEVER_COUNT; i++)
        if (strlen(levers[i].word) == length && memcmp(levers[i].word, word, length) == 0) return (plim__lever)i;
    return PLIM_LEVER_COUNT;
}

bool plim__program_is_valid(const plim__program *program) {
    for (const char *at = program->order ? program->order : ""; *at;) {
        size_t length = strcspn(at, " ");
        plim__lever lever = lever_of(at, length);
        if (lever == PLIM_LEVER_COUNT || !plim__program_setting(program, lever)) return false;
        at += length + (at[length] == ' ');
    }
    return program->name && (program->marks || program->names) && program->usual <= PLIM_ACTIVITY_SERVE;
}

/* The traceback says what it was doing; without one, what is told, and then what the program is for. */
static plim__activity activity_of(const plim__program *program, const plim__case *c) {
    if (c->x->cause == PLIM_CAUSE_HOST_MEMORY || c->x->cause == PLIM_CAUSE_LIMIT) return PLIM_ACTIVITY_HOST;
    if (c->x->cause == PLIM_CAUSE_TOO_BIG && !plim__conditions_hold("load", c)) return PLIM_ACTIVITY_BIG;
    bool uses = program->usual != PLIM_ACTIVITY_TRAIN;
    plim__activity loads = program->usual == PLIM_ACTIVITY_SERVE ? PLIM_ACTIVITY_START : PLIM_ACTIVITY_LOAD;
    switch (c->context->phase) {
    case PLIM_PHASE_OPTIMIZER: return PLIM_ACTIVITY_UPDATE;
    case PLIM_PHASE_BACKWARD: return PLIM_ACTIVITY_TRAIN;
    case PLIM_PHASE_LOADING: return loads;
    case PLIM_PHASE_EVALUATION:
        return plim__program_setting(program, PLIM_LEVER_EVAL) ? PLIM_ACTIVITY_EVAL : program->usual;
    case PLIM_PHASE_FORWARD: return program->usual;
    case PLIM_PHASE_INFERENCE: return uses ? program->usual : PLIM_ACTIVITY_INFER;
    default: break;
    }
    if (plim__conditions_hold("load", c)) return loads;
    if (plim__conditions_hold("eval", c) && plim__program_setting(program, PLIM_LEVER_EVAL)) return PLIM_ACTIVITY_EVAL;
    if (uses && plim__conditions_hold("train", c) && plim__program_setting(program, PLIM_LEVER_BATCH))
        return PLIM_ACTIVITY_TRAIN;
    if (!uses && plim__conditions_hold("infer", c)) return PLIM_ACTIVITY_INFER;
    return program->usual;
}

/* A server does not go backwards: what calls it does. */
static bool may_be(const plim__program *program, const plim__case *c) {
    bool trains = c->context->phase == PLIM_PHASE_BACKWARD || c->context->phase == PLIM_PHASE_OPTIMIZER;
    return !trains || plim__program_setting(program, PLIM_LEVER_BATCH);
}

void plim__program_note(plim__program_set *set, const char *name) {
    for (size_t i = 0; i < plim__program_count(); i++)
        if (strcmp(plim__program_at(i)->name, name) == 0) set->printed[i / 64] |= (uint64_t)1 << i % 64;
}

const plim__program *plim__program_find(const plim__case *c) {
    const plim__program_set *found = &c->context->programs;
    const uint64_t *sets[] = {found->printed, found->named, found->listed};
    for (size_t s = 0; s < sizeof sets / sizeof *sets; s++)
        for (size_t i = 0; i < plim__program_count(); i++)
            if (sets[s][i / 64] >> i % 64 & 1 && may_be(plim__program_at(i), c)) return plim__program_at(i);
    return NULL;
}

bool plim__program_lever(const plim__program *program, const plim__case *c, size_t n, plim__lever_row *row) {
    plim__activity activity = activity_of(program, c);
    const char *order = activity == program->usual && program->order ? program->order : order_of(activity);
    for (const char *at = order; *at;) {
        size_t length = strcspn(at, " ");
        plim__lever lever = lever_of(at, length);
        at += length + (at[length] == ' ');
        if (lever == PLIM_LEVER_COUNT || !plim__program_setting(program, lever) ||
            !plim__conditions_hold(levers[lever].when, c))
            continue;
        if (n--) continue;
        *row = (plim__lever_row){levers[lever].saving, levers[lever].cost, levers[lever].title,
                                 plim__program_setting(program, lever)};
        return true;
    }
    return false;
}
