/* Which levers of a program are tried, and in which order. */
#include "diagnose/programs.h"

#include "diagnose/weigh.h"

#include <string.h>

static const struct {
    const char *word, *acts, *when;
    plim__saving saving;
    int cost;
    const char *title;
} levers[] = {
#define LEVER(name, word, acts, when, saving, cost, title) {word, acts, when, PLIM_SAVING_##saving, cost, title},
    PLIM_LEVER_LIST(LEVER)
#undef LEVER
};

/* Orders for programs that have none of their own: what gives most for least comes first. */
static const char *order_of(plim__activity activity) {
    switch (activity) {
    case PLIM_ACTIVITY_TRAIN:
        return "batch checkpoint own quantize input length precision kernels optimizer adapters offload more shard "
               "cache model release";
    case PLIM_ACTIVITY_INFER: return "own tiles offload more input quantize length precision fewer model shard release";
    case PLIM_ACTIVITY_SERVE: return "cache length fewer graphs quantize shard offload model";
    case PLIM_ACTIVITY_START: return "quantize shard offload model cache";
    case PLIM_ACTIVITY_TRIAL: return "fewer cache input graphs length quantize shard model";
    case PLIM_ACTIVITY_CAPTURE: return "graphs cache fewer length quantize shard model";
    case PLIM_ACTIVITY_LOAD: return "quantize offload more shard precision model own release cache";
    case PLIM_ACTIVITY_UPDATE: return "offload optimizer adapters cache shard batch checkpoint length";
    case PLIM_ACTIVITY_EVAL: return "eval eval-more fewer input precision";
    case PLIM_ACTIVITY_HOST: return "heap host host-more";
    case PLIM_ACTIVITY_BIG: return "kernels tiles own input length fewer batch precision offload more";
    case PLIM_ACTIVITY_COUNT: break;
    }
    return "";
}

/* What other programs stand on, and kinds of data, are mentioned often and count less. */
static size_t particular_count(void) {
    return plim__programs_train_count + plim__programs_use_count + plim__programs_more_count +
           plim__programs_field_count;
}

size_t plim__program_count(void) { return particular_count() + plim__programs_general_count; }

const plim__program *plim__program_at(size_t index) {
    if (index < plim__programs_train_count) return &plim__programs_train[index];
    index -= plim__programs_train_count;
    if (index < plim__programs_use_count) return &plim__programs_use[index];
    index -= plim__programs_use_count;
    if (index < plim__programs_more_count) return &plim__programs_more[index];
    index -= plim__programs_more_count;
    if (index < plim__programs_field_count) return &plim__programs_field[index];
    return &plim__programs_general[index - plim__programs_field_count];
}

bool plim__program_is_library(const plim__program *program) {
    return program >= plim__programs_general && program < plim__programs_general + plim__programs_general_count;
}

const char *plim__lever_title(plim__lever lever) { return levers[lever].title; }
const char *plim__lever_acts(plim__lever lever) { return levers[lever].acts; }

const char *plim__lever_when(plim__lever lever) { return levers[lever].when; }

void plim__lever_default(plim__lever lever, plim__lever_row *row) {
    *row = (plim__lever_row){levers[lever].saving, levers[lever].cost, levers[lever].title, "", lever};
}

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

static bool is_use(plim__activity activity) {
    return activity == PLIM_ACTIVITY_INFER || activity == PLIM_ACTIVITY_EVAL;
}

/* What makes use of a model smaller does not make its training smaller. A trainer's settings for the size of its input and for its precision are those of training, where it has others for use; where it is that
 * of images, images must be spoken of. */
static bool is_elsewhere(const plim__program *program, plim__lever lever, plim__activity activity,
                         const plim__case *c) {
    bool trains = activity == PLIM_ACTIVITY_TRAIN || activity == PLIM_ACTIVITY_UPDATE;
    if (trains && program->usual != PLIM_ACTIVITY_TRAIN)
        return lever == PLIM_LEVER_QUANTIZE || lever == PLIM_LEVER_TILES || lever == PLIM_LEVER_OFFLOAD ||
               lever == PLIM_LEVER_OFFLOAD_MORE || lever == PLIM_LEVER_FEWER || lever == PLIM_LEVER_OWN;
    if (lever != PLIM_LEVER_INPUT && lever != PLIM_LEVER_PRECISION) return false;
    if (program->images && lever == PLIM_LEVER_INPUT) return !plim__context_has(c->context, PLIM_CONTEXT_VISION);
    if (program->usual != PLIM_ACTIVITY_TRAIN || !is_use(activity)) return false;
    return plim__program_setting(program, PLIM_LEVER_EVAL) || plim__program_setting(program, PLIM_LEVER_TILES) ||
           plim__program_setting(program, PLIM_LEVER_FEWER);
}

/* The traceback says what it was doing; without one, what is told, and then what the program is for. */
static plim__activity activity_of(const plim__program *program, const plim__case *c) {
    bool limited = c->x->cause == PLIM_CAUSE_LIMIT && !plim__conditions_hold("mps", c); /* there it is the device */
    if (c->x->cause == PLIM_CAUSE_HOST_MEMORY || limited) return PLIM_ACTIVITY_HOST;
    bool serves = program->usual == PLIM_ACTIVITY_SERVE;
    if (c->x->cause == PLIM_CAUSE_TOO_BIG && !plim__conditions_hold("load", c))
        return serves ? PLIM_ACTIVITY_TRIAL : PLIM_ACTIVITY_BIG;
    if (serves && plim__weights_exceed(c)) return PLIM_ACTIVITY_START;
    if (serves && plim__conditions_hold("captures !eager", c)) return PLIM_ACTIVITY_CAPTURE;
    if (serves && plim__context_has(c->context, PLIM_CONTEXT_TRIAL)) return PLIM_ACTIVITY_TRIAL;
    /* no layer of weights is so large: it is what is computed at once */
    bool bulk = c->x->requested.known && c->x->capacity.known && c->x->requested.bytes >= c->x->capacity.bytes / 4;
    bool trial = plim__context_has(c->context, PLIM_CONTEXT_TRIAL);
    if (serves && bulk && !trial && !plim__conditions_hold("load", c)) return PLIM_ACTIVITY_BIG;
    bool uses = program->usual != PLIM_ACTIVITY_TRAIN;
    if (plim__conditions_hold("compute", c)) return program->usual; /* llama.cpp's weights are there by then */
    if (plim__conditions_hold("all-weights state-levers !load !infer !eval", c)) return PLIM_ACTIVITY_UPDATE;
    plim__activity loads = program->usual == PLIM_ACTIVITY_SERVE ? PLIM_ACTIVITY_START : PLIM_ACTIVITY_LOAD;
    switch (c->context->phase) {
    case PLIM_PHASE_OPTIMIZER: return PLIM_ACTIVITY_UPDATE;
    case PLIM_PHASE_BACKWARD: return PLIM_ACTIVITY_TRAIN;
    case PLIM_PHASE_LOADING: return loads;
    case PLIM_PHASE_EVALUATION:
        if (plim__program_setting(program, PLIM_LEVER_EVAL)) return PLIM_ACTIVITY_EVAL;
        return uses ? program->usual : PLIM_ACTIVITY_INFER;
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
    /* settings of one framework are no other's */
    const char *speaks = c->x->framework, *built = program->framework ? program->framework : "pytorch";
    bool told = strcmp(speaks, "tensorflow") == 0 || strcmp(speaks, "jax") == 0 || strcmp(speaks, "pytorch") == 0;
    bool known = strcmp(built, "tensorflow") == 0 || strcmp(built, "jax") == 0 || strcmp(built, "pytorch") == 0;
    if (told && known && strcmp(speaks, built) != 0) return false;
    bool trains = c->context->phase == PLIM_PHASE_BACKWARD || c->context->phase == PLIM_PHASE_OPTIMIZER;
    return !trains || program->usual == PLIM_ACTIVITY_TRAIN || plim__program_setting(program, PLIM_LEVER_BATCH);
}

void plim__program_note(plim__program_set *set, const char *name) {
    for (size_t i = 0; i < plim__program_count(); i++)
        if (strcmp(plim__program_at(i)->name, name) == 0) set->printed[i / 64] |= (uint64_t)1 << i % 64;
}

const plim__program *plim__program_find(const plim__case *c) {
    const plim__program_set *found = &c->context->programs;
    const uint64_t *sets[] = {found->printed, found->named, found->listed};
    for (size_t s = 0; s < sizeof sets / sizeof *sets; s++) {
        const plim__program *best = NULL;
        unsigned most = 0;
        for (size_t i = 0; i < plim__program_count(); i++) {
            bool is_there = sets[s][i / 64] >> i % 64 & 1;
            unsigned mentions = sets[s] == found->named && i < particular_count() ? found->mentions[i] : 1;
            if (!is_there || mentions <= most || !may_be(plim__program_at(i), c)) continue;
            best = plim__program_at(i), most = mentions;
        }
        if (best) return best;
    }
    return NULL;
}

bool plim__program_lever(const plim__program *program, const plim__case *c, size_t n, plim__lever_row *row) {
    plim__activity activity = activity_of(program, c);
    const char *order = activity == program->usual && program->order ? program->order : order_of(activity);
    /* weights in host memory cannot be trained where they are */
    if (activity == PLIM_ACTIVITY_LOAD && program->usual == PLIM_ACTIVITY_TRAIN)
        order = "quantize shard precision model own release cache offload more";
    for (const char *at = order; *at;) {
        size_t length = strcspn(at, " ");
        plim__lever lever = lever_of(at, length);
        at += length + (at[length] == ' ');
        if (lever == PLIM_LEVER_COUNT || !plim__program_setting(program, lever) ||
            !plim__conditions_hold(levers[lever].when, c) || is_elsewhere(program, lever, activity, c))
            continue;
        if (n--) continue;
        *row = (plim__lever_row){levers[lever].saving, levers[lever].cost, levers[lever].title,
                                 plim__program_setting(program, lever), lever};
        return true;
    }
    return false;
}
