/* Choosing fixes: which rows hold for this failure, what each would give, and in which order to try them. */
#include <stdio.h>
#include <string.h>

#include "core/arguments.h"
#include "core/str.h"
#include "diagnose/cause.h"
#include "diagnose/conditions.h"
#include "diagnose/fixes.h"
#include "diagnose/llama_log.h"
#include "diagnose/message.h"
#include "diagnose/own_options.h"
#include "diagnose/programs.h"
#include "diagnose/settings.h"
#include "diagnose/situation.h"
#include "diagnose/spots.h"
#include "diagnose/weigh.h"

#define MIB ((uint64_t)1 << 20)

static const char *const saving_sentences[] = {
#define SENTENCE(name, sentence) sentence,
    PLIM_SAVING_LIST(SENTENCE)
#undef SENTENCE
};

static bool names(const char *list, const char *word) {
    if (strcmp(list, "*") == 0) return true;
    size_t length = strlen(word);
    for (const char *at = list; (at = strstr(at, word)); at += length)
        if ((at == list || at[-1] == ' ') && (at[length] == ' ' || at[length] == 0)) return true;
    return false;
}

/* --- savings -------------------------------------------------------------------------------------------------- */

static plim_amount part_of(plim_amount amount, double share) {
    return amount.known && amount.bytes ? plim__rounded((double)amount.bytes * share) : (plim_amount){0};
}

/* Half of a request says something about the whole only when the request is a good part of what is live. */
static plim_amount half_request(const plim_explanation *x) {
    if (!x->requested.known || x->requested.bytes < 64 * MIB) return (plim_amount){0};
    if (x->allocated.known && x->requested.bytes < x->allocated.bytes / 20) return (plim_amount){0};
    return part_of(x->requested, 0.5);
}

static plim_amount estimate(plim__saving how, const plim_explanation *x) {
    uint64_t bytes;
    switch (how) {
    case PLIM_SAVING_CACHED: return plim__cached(x) ? plim__rounded((double)plim__cached(x)) : (plim_amount){0};
    case PLIM_SAVING_OTHERS: return plim__others(x, &bytes) && bytes ? plim__rounded((double)bytes) : (plim_amount){0};
    case PLIM_SAVING_HALF_TENSOR:
        return part_of(x->shape_bytes.known ? x->shape_bytes : x->requested, 0.5).bytes >= MIB
                   ? part_of(x->shape_bytes.known ? x->shape_bytes : x->requested, 0.5)
                   : (plim_amount){0};
    case PLIM_SAVING_HALF_REQUEST: return half_request(x);
    case PLIM_SAVING_HALF_LIVE: return part_of(x->allocated, 0.5);
    case PLIM_SAVING_REQUEST: return x->requested;
    case PLIM_SAVING_EXCESS: {
        plim_amount whole =
            x->limit.known && (!x->capacity.known || x->limit.bytes < x->capacity.bytes) ? x->limit : x->capacity;
        if (!x->requested.known || !whole.known || x->requested.bytes <= whole.bytes) return (plim_amount){0};
        return plim__rounded((double)(x->requested.bytes - whole.bytes));
    }
    case PLIM_SAVING_ROOM:
        return x->free.known && x->free.bytes ? plim__rounded((double)x->free.bytes) : (plim_amount){0};
    case PLIM_SAVING_HOLDER:
        return x->holder_count ? plim__rounded((double)x->holders[0].bytes * (double)x->holders[0].count)
                               : (plim_amount){0};
    case PLIM_SAVING_SHARE: /* of what is set now: write_saving */
    case PLIM_SAVING_UNKNOWN: break;
    }
    return (plim_amount){0};
}

/* --- settings ------------------------------------------------------------------------------------------------- */

static const char *smi(const plim__case *c) {
    const char *kind = c->x->device_kind ? c->x->device_kind : "gpu";
    if (strcmp(kind, "npu") == 0) return strcmp(c->x->framework, "neuron") == 0 ? "neuron-top" : "npu-smi info";
    if (strcmp(kind, "xpu") == 0) return "xpu-smi ps";
    if (strcmp(kind, "tpu") == 0) return "tpu-info";
    if (strcmp(kind, "mps") == 0 || plim__context_has(c->context, PLIM_CONTEXT_MAC)) return "Activity Monitor > Memory";
    if (plim__context_has(c->context, PLIM_CONTEXT_AMD)) return "rocm-smi --showpids";
    if (plim__context_has(c->context, PLIM_CONTEXT_JETSON)) return "tegrastats";
    if (names("directml vulkan opencl blender", c->x->framework)) return "Task Manager > Performance > GPU, or nvtop";
    return "nvidia-smi";
}

/* PyTorch's name of the device. */
static const char *device(const plim__case *c) {
    const char *kind = c->x->device_kind ? c->x->device_kind : "gpu";
    return strcmp(kind, "npu") == 0 || strcmp(kind, "xpu") == 0 || strcmp(kind, "mps") == 0 ? kind : "cuda";
}

/* The variable that chooses the device. */
static const char *visible(const plim__case *c) {
    const char *kind = c->x->device_kind ? c->x->device_kind : "gpu";
    if (strcmp(kind, "npu") == 0) return "ASCEND_RT_VISIBLE_DEVICES";
    if (strcmp(kind, "xpu") == 0) return "ZE_AFFINITY_MASK";
    return plim__context_has(c->context, PLIM_CONTEXT_AMD) ? "HIP_VISIBLE_DEVICES" : "CUDA_VISIBLE_DEVICES";
}

static const char *conf(const plim__case *c) {
    if (strstr(c->x->version, "2.9")) return "PYTORCH_ALLOC_CONF";
    if (plim__context_has(c->context, PLIM_CONTEXT_AMD)) return "PYTORCH_HIP_ALLOC_CONF";
    if (c->x->device_kind && strcmp(c->x->device_kind, "npu") == 0) return "PYTORCH_NPU_ALLOC_CONF";
    return "PYTORCH_CUDA_ALLOC_CONF";
}

/* The limit that is set now: told by the message, or by the command in the log. */
static plim_amount present_limit(const plim__case *c) {
    return c->x->limit.known ? c->x->limit : c->context->memory_setting;
}

/* Where nothing tells what is set now. */
#define UNKNOWN_LIMIT "NG"

/* A round number above what was not enough. */
static void add_double(plim__str *out, const plim__case *c, bool megabytes) {
    plim_amount limit = present_limit(c);
    uint64_t need = limit.known ? limit.bytes * 2 : 0;
    if (!need && (c->facts & PLIM_FACT_HEAP) && c->x->process.known) {
        uint64_t gib = (c->x->process.bytes * 2 + 512 * MIB) / (1024 * MIB); /* round figures are what people set */
        need = (gib ? gib : 1) * 1024 * MIB;
    }
    if (limit.known && c->x->requested.known && c->x->requested.bytes > limit.bytes) need = c->x->requested.bytes * 2;
    uint64_t held = limit.known && c->x->process.known ? c->x->process.bytes : 0;
    if (held + held / 4 > need) need = held + held / 4; /* more than it reached before it was ended */
    if (!need || need > (uint64_t)1 << 50) {
        plim__str_add(out, megabytes ? "8192" : UNKNOWN_LIMIT);
        return;
    }
    if (megabytes)
        plim__str_addf(out, "%llu", (unsigned long long)(need / MIB + (need % MIB != 0)));
    else if (need >= 2048 * MIB)
        plim__str_addf(out, "%lluG", (unsigned long long)((need + 1024 * MIB - 1) / (1024 * MIB)));
    else
        plim__str_addf(out, "%lluM", (unsigned long long)(need / MIB + (need % MIB != 0)));
}

/* A share of the card that fits: below what is free when that is known, else a step from the present one. */
static double better_share(const plim__case *c, bool lower) {
    const plim_explanation *x = c->x;
    double now = c->context->utilization > 0 ? c->context->utilization : 0.9, share;
    uint64_t others;
    double missing = x->shortfall.known && x->capacity.known && x->capacity.bytes
                         ? (double)x->shortfall.bytes / (double)x->capacity.bytes
                         : 0;
    if (!lower)
        share = now + missing + 0.05 > 0.95 ? 0.95 : now + missing + 0.05 < 0.9 ? 0.9 : now + missing + 0.05;
    else if (x->free.known && x->capacity.known && x->capacity.bytes && c->facts & PLIM_FACT_UTILIZATION)
        share = 0.97 * (double)x->free.bytes / (double)x->capacity.bytes;
    else if (x->cause == PLIM_CAUSE_OTHER_PROCESS && x->capacity.known && plim__others(x, &others) && others)
        share = 0.97 - (double)others / (double)x->capacity.bytes;
    else
        share = now - 0.1;
    if (lower && share >= now) share = now - 0.05;
    if (share < 0.05) share = 0.05;
    return (double)(int)(share * 100 + 1e-6) / 100;
}

static plim_amount larger_share(const plim__case *c) {
    double more = c->context->utilization > 0 ? better_share(c, false) - c->context->utilization : 0;
    return more > 0 && c->x->capacity.known ? plim__rounded(more * (double)c->x->capacity.bytes) : (plim_amount){0};
}

static const char *base_name(const char *path) {
    const char *base = path;
    for (const char *c = path; *c; c++)
        if (*c == '/' || *c == '\\') base = c + 1;
    return base;
}

static void add_place(plim__str *out, const plim_place *place) {
    if (!place->file[0] || place->line < 0) return;
    plim__str_addf(out, "%s line %lld: ", base_name(place->file), (long long)place->line);
}

/* Half of the tensor's first axis, and half of that again while this one tensor would still have a gigabyte. */
static long long shaped_batch(const plim_explanation *x) {
    int64_t batch = x->shape[0] / 2;
    uint64_t bytes = x->requested.known ? x->requested.bytes / 2 : 0;
    while (bytes > 1024 * MIB && batch > 1) batch /= 2, bytes /= 2;
    return (long long)batch;
}

/* TensorFlow names the tensor's shape, and no other figure tells the batch. */
static bool batch_is_first_axis(const plim__case *c) {
    return c->context->batch <= 1 && c->x->rank >= 3 && c->x->shape[0] > 1 && c->x->shape[0] <= 1024 &&
           strcmp(c->x->framework, "tensorflow") == 0 && !plim__conditions_hold("weights-shape", c);
}

static bool add_slot(plim__str *out, const char *name, size_t length, const plim__case *c) {
#define IS(text) (length == strlen(text) && memcmp(name, text, length) == 0)
    if (IS("conf")) return plim__str_add(out, conf(c)), true;
    if (IS("smi")) return plim__str_add(out, smi(c)), true;
    if (IS("device")) return plim__str_add(out, device(c)), true;
    if (IS("visible")) return plim__str_add(out, visible(c)), true;
    if (IS("card")) return plim__str_addf(out, "%d", c->card >= 0 ? c->card : 1), true;
    if (IS("at")) return add_place(out, &c->x->place), true;
    if (IS("double")) return add_double(out, c, false), true;
    if (IS("double_mb")) return add_double(out, c, true), true;
    if (IS("room")) {
        uint64_t gib = c->x->capacity.known ? c->x->capacity.bytes / (1024 * MIB) * 17 / 20 : 0;
        if (!gib) return plim__str_add(out, "20GiB"), true;
        return plim__str_addf(out, "%lluGiB", (unsigned long long)gib), true;
    }
    if (IS("lower")) return plim__str_addf(out, "%.2f", better_share(c, true)), true;
    if (IS("higher")) return plim__str_addf(out, "%.2f", better_share(c, false)), true;
    if (IS("limit_mb")) return plim__str_addf(out, "%llu", (unsigned long long)(present_limit(c).bytes / MIB)), true;
    if (IS("tokens")) {
        long long half = c->context->served >= 1024 && c->context->served <= 8192 ? c->context->served / 2 : 4096;
        plim__str_addf(out, "%lld", c->tokens > 0 ? (long long)c->tokens : half);
        return true;
    }
    if (IS("layers")) { /* below what is on the device now, or a first try */
        int64_t now = plim__llama_read(c->log).layers, fewer = now > 0 ? now * 3 / 4 : 20;
        plim__str_addf(out, "%lld", (long long)fewer);
        if (now > 0) plim__str_addf(out, " (%lld now)", (long long)now);
        return true;
    }
    if (IS("script")) {
        /* what is started is a script, not a part of it */
        const char *file = base_name(c->x->place.file);
        static const char *const starts[] = {"train", "test",    "main", "run", "infer",
                                             "demo",  "predict", "eval", "fine"};
        bool script = strcmp(c->x->place.function, "<module>") == 0;
        for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
            script |= strncmp(file, starts[i], strlen(starts[i])) == 0;
        script &= strstr(file, ".py") != NULL;
        return plim__str_add(out, script ? file : "..."), true;
    }
    if (IS("batch")) {
        bool one = c->context->batch_most == 1 || plim__context_has(c->context, PLIM_CONTEXT_BATCH_ONE) ||
                   !plim__context_has(c->context, PLIM_CONTEXT_BATCH_TRIED);
        return plim__str_add(out, one ? "the batch is 1 already" : "the batch was reduced already"), true;
    }
    if (IS("half_batch")) {
        const plim__program *program = plim__program_find(c);
        if (c->context->batch > 1)
            plim__str_addf(out, "%lld", (long long)(c->context->batch / 2));
        else if (batch_is_first_axis(c))
            plim__str_addf(out, "%lld (the tensor's first axis is %lld)", shaped_batch(c->x),
                           (long long)c->x->shape[0]);
        else if (program && program->batch > 1)
            plim__str_addf(out, "%d (%d is the default)", program->batch / 2, program->batch);
        else
            plim__str_add(out, "N // 2");
        return true;
    }
#undef IS
    return false;
}

/* A row's title or setting with its slots filled. */
static void write_text(const char *text, const plim__case *c, char *to, size_t size) {
    plim__str out = {0};
    for (const char *p = text; *p; p++) {
        const char *close = *p == '{' ? strchr(p, '}') : NULL;
        if (close && add_slot(&out, p + 1, (size_t)(close - p - 1), c))
            p = close;
        else
            plim__str_addc(&out, *p);
    }
    if (strstr(text, "{double}") && strstr(plim__str_text(&out), UNKNOWN_LIMIT))
        plim__str_add(&out, " (N: twice what it has now)");
    snprintf(to, size, "%s", plim__str_text(&out));
    plim__str_free(&out);
}

/* --- choosing ------------------------------------------------------------------------------------------------- */

/* One failure's fixes while they are gathered. */
typedef struct choice {
    plim_explanation *x;
    const plim__case *c;
    plim__lever levers[PLIM_EXPLANATION_FIXES]; /* of the fixes so far */
    const char *fills;                          /* what fills the device (situation.h) */
    plim__own own[PLIM_EXPLANATION_FIXES];      /* whether the log has an option for it */
    bool rest;                                  /* the levers on that were offered: now the others */
} choice;

enum { SAME_START = 24 };

/* The same advice in other words is no second advice. */
static bool is_offered(const choice *made, const plim_fix *fix, plim__lever lever) {
    const plim_explanation *x = made->x;
    bool device = x->cause == PLIM_CAUSE_FULL || x->cause == PLIM_CAUSE_FRAGMENTED || x->cause == PLIM_CAUSE_TOO_BIG;
    for (int i = 0; i < x->fix_count; i++) {
        if (strcmp(x->fixes[i].setting, fix->setting) == 0 || strcmp(x->fixes[i].title, fix->title) == 0) return true;
        bool same = strncmp(x->fixes[i].setting, fix->setting, SAME_START) == 0; /* the same with a word behind it */
        if (lever == PLIM_LEVER_LIMIT && made->levers[i] == lever && same) return true;
        if (lever == PLIM_LEVER_NEIGHBOURS && made->levers[i] == lever && same) return true; /* look who is there */
        if (device && made->levers[i] == lever && strpbrk(plim__lever_acts(lever), "wsbtck")) return true;
    }
    return false;
}

/* Where the log has an option for the lever, that is the one to turn. What the message itself says fits is better still. */
static plim__own write_setting(const choice *made, const plim__lever_row *row, plim_fix *fix) {
    char own[128];
    write_text(row->setting, made->c, fix->setting, sizeof fix->setting);
    if (made->c->tokens > 0 && strstr(row->setting, "{tokens}")) return PLIM_OWN_ABSENT;
    plim__own state = plim__own_option(row->lever, made->c->log, own, sizeof own);
    /* weights in fewer bits are trained through adapters only: the row says so, the option alone does not */
    bool bare = row->lever == PLIM_LEVER_QUANTIZE && plim__conditions_hold("train !lora", made->c);
    if (state != PLIM_OWN_OPEN || bare) return bare ? PLIM_OWN_ABSENT : state;
    bool accumulates = row->lever == PLIM_LEVER_BATCH && plim__conditions_hold("train pytorch", made->c);
    snprintf(fix->setting, sizeof fix->setting, "%s%s", own, accumulates ? ", with twice the accumulation steps" : "");
    return state;
}

static void write_saving(const choice *made, const plim__lever_row *row, plim__lever lever, plim_fix *fix) {
    const plim_explanation *x = made->x;
    plim__weight weight = {.reaches = -1};
    fix->saving = row->saving == PLIM_SAVING_SHARE ? larger_share(made->c) : estimate(row->saving, x);
    if (fix->saving.known) snprintf(fix->saving_note, sizeof fix->saving_note, "%s", saving_sentences[row->saving]);
    double left = batch_is_first_axis(made->c) ? (double)shaped_batch(x) / (double)x->shape[0] : 0.5;
    if (row->saving == PLIM_SAVING_HALF_REQUEST && fix->saving.known && left < 0.4) {
        fix->saving = part_of(x->requested, 1 - left);
        snprintf(fix->saving_note, sizeof fix->saving_note, "of this request; other activations shrink alike");
    }
    if (plim__weigh(lever, made->c, &weight)) {
        fix->saving = weight.saving;
        memcpy(fix->saving_note, weight.note, sizeof fix->saving_note);
    }
    fix->reaches = !fix->saving.known || !x->shortfall.known ? -1 : fix->saving.bytes >= x->shortfall.bytes;
    if (weight.reaches >= 0) fix->reaches = weight.reaches;
    bool known = x->requested.known && x->capacity.known && x->allocated.known && fix->saving.known;
    if (x->cause == PLIM_CAUSE_TOO_BIG && known && row->saving == PLIM_SAVING_HALF_TENSOR)
        fix->reaches = x->requested.bytes - fix->saving.bytes + x->allocated.bytes <= x->capacity.bytes;
}

/* Calls that came with a version. */
static bool is_too_young(const char *setting, size_t length, const plim__case *c) {
    static const struct {
        const char *call, *since;
    } calls[] = {{"autocast", "torch>=1.6"},           {"use_amp", "torch>=1.6"},
                 {"use_reentrant", "torch>=1.11"},     {"scaled_dot_product", "torch>=1.13"},
                 {"bitsandbytes", "torch>=1.8"},       {"BitsAndBytes", "torch>=1.8"},
                 {"expandable_segments", "torch>=2.0"}};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        const char *found = strstr(setting, calls[i].call);
        if (found && found < setting + length && !plim__conditions_hold(calls[i].since, c)) return true;
    }
    return false;
}

/* Takes out the clauses that name such a call, and the others stay; false where nothing is left. */
static bool leave_old(const char *setting, const plim__case *c, char *to, size_t size) {
    size_t used = 0;
    bool pytorch = plim__conditions_hold("pytorch", c);
    to[0] = 0;
    for (const char *at = setting; *at;) {
        const char *stop = strstr(at, "; ");
        size_t length = stop ? (size_t)(stop - at) : strlen(at);
        if (!pytorch || !is_too_young(at, length, c)) {
            int wrote = snprintf(to + used, size - used, "%s%.*s", used ? "; " : "", (int)length, at);
            used += wrote > 0 && (size_t)wrote < size - used ? (size_t)wrote : 0;
        }
        at += length + (stop ? 2 : 0);
    }
    return used > 0;
}

/* The batch has conditions of its own: samples of a graph and rays are batches, too. */
static bool is_spent(plim__lever lever) { return lever != PLIM_LEVER_BATCH && lever != PLIM_LEVER_OFFLOAD; }

static void offer(choice *made, const plim__lever_row *row) {
    plim_explanation *x = made->x;
    plim_fix *fix = &x->fixes[x->fix_count];
    plim__lever lever = row->lever;
    if (plim__lever_fits(lever, made->fills) == made->rest || !plim__lever_helps(lever, made->c)) return;
    char setting[sizeof fix->setting];
    if (!leave_old(row->setting, made->c, setting, sizeof setting)) return;
    memset(fix, 0, sizeof *fix);
    plim__lever_row left = *row;
    left.setting = setting;
    plim__own own = write_setting(made, &left, fix);
    if (own == PLIM_OWN_SPENT && is_spent(lever)) return;
    write_text(row->title, made->c, fix->title, sizeof fix->title);
    if (!plim__settings_left(fix->setting, made->c->log)) return; /* it is so already */
    if (is_offered(made, fix, lever)) return;
    write_saving(made, row, lever, fix);
    fix->cost = row->cost;
    made->own[x->fix_count] = own;
    made->levers[x->fix_count++] = lever;
}

/* Where a row says so, the settings of the program at hand stand: three of them leave little to add. */
enum { LEVERS = 3 };

static void offer_program(choice *made, int most) {
    const plim__program *program = plim__program_find(made->c);
    plim__lever_row row;
    int stop = made->x->fix_count + LEVERS < most ? made->x->fix_count + LEVERS : most;
    for (size_t n = 0; program && made->x->fix_count < stop && plim__program_lever(program, made->c, n, &row); n++)
        offer(made, &row);
}

/* Who uses a program or a server, and has no code of one's own in the log, cannot follow a line of Python. */
static bool is_beyond_reach(const choice *made, const char *setting) {
    static const char *const calls[] = {"from_pretrained(", "torch.",       "model.",    "pipe.", "loss.",
                                        ".cpu()",           "map_location", "device_map"};
    const plim__program *program = plim__program_find(made->c);
    if (!program || plim__program_is_library(program) || program->usual == PLIM_ACTIVITY_TRAIN) return false;
    if (made->x->place.file[0] || !plim__conditions_hold("!train !mps", made->c)) return false;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (strstr(setting, calls[i])) return true;
    return false;
}

static void offer_row(choice *made, const plim__fix_row *row, int most) {
    if (row->setting && is_beyond_reach(made, row->setting)) return;
    if (row->setting)
        offer(made, &(plim__lever_row){row->saving, row->cost, row->title, row->setting, row->lever});
    else
        offer_program(made, most);
}

/* A row that is to stand second waits for a first. */
static void offer_rows(choice *made, plim_cause cause, int most) {
    const plim_explanation *x = made->x;
    const plim__fix_row *waiting = NULL;
    for (size_t i = 0; i < plim__fix_row_count() && x->fix_count < most; i++) {
        const plim__fix_row *row = plim__fix_row_at(i);
        if (row->cause != cause || !names(row->frameworks, x->framework) || !plim__conditions_hold(row->when, made->c))
            continue;
        if (strncmp(row->when, "second", 6) == 0 && x->fix_count == 0) {
            waiting = row;
            continue;
        }
        offer_row(made, row, waiting && x->fix_count == 0 ? 1 : most);
        if (waiting && x->fix_count == 1 && most > 1) {
            offer_row(made, waiting, most);
            waiting = NULL;
            if (!row->setting) offer_row(made, row, most); /* the rest of the program's settings */
        }
    }
}

/* What the place of the failure itself says comes first; what is a matter of numbers (another process, a limit) does not
 * change with it. */
static void offer_spots(choice *made) {
    plim_cause cause = made->x->cause;
    if (cause == PLIM_CAUSE_OTHER_PROCESS) offer_rows(made, cause, 1); /* first who holds the rest */
    if (cause == PLIM_CAUSE_LIMIT || cause == PLIM_CAUSE_WARNING || cause == PLIM_CAUSE_BAD_SIZE ||
        cause == PLIM_CAUSE_DISGUISED)
        return;
    const char *fills = made->fills;
    made->fills = "";
    for (size_t i = 0; i < plim__spot_count && made->x->fix_count <= PLIM_SPOT_ADVICE; i++) {
        const plim__spot *spot = &plim__spots[i];
        if (!(made->c->context->spots >> i & 1) || !plim__conditions_hold(spot->when, made->c)) continue;
        for (size_t k = 0; k < PLIM_SPOT_ADVICE && spot->advice[k].title; k++)
            offer(made, &(plim__lever_row){PLIM_SAVING_UNKNOWN, 1, spot->advice[k].title, spot->advice[k].setting,
                                           spot->advice[k].lever});
    }
    made->fills = fills;
}

/* Levers on what fills the device come first; each part keeps the table's order. */
static void offer_cause(choice *made, plim_cause cause, int most) {
    made->rest = false;
    offer_rows(made, cause, most);
    if (!*made->fills) return;
    made->rest = true;
    offer_rows(made, cause, most);
    made->rest = false;
}

/* --- options of the log's own ------------------------------------------------------------------------------------ */

static void move_to(choice *made, int from, int to) {
    plim_explanation *x = made->x;
    plim_fix fix = x->fixes[from];
    plim__lever lever = made->levers[from];
    plim__own own = made->own[from];
    for (int i = from; i > to; i--)
        x->fixes[i] = x->fixes[i - 1], made->levers[i] = made->levers[i - 1], made->own[i] = made->own[i - 1];
    x->fixes[to] = fix, made->levers[to] = lever, made->own[to] = own;
}

static int index_of(const choice *made, plim__lever lever) {
    for (int i = 0; i < made->x->fix_count; i++)
        if (made->levers[i] == lever) return i;
    return -1;
}

/* Offers a lever for which the log has an option, where no row did; its index, -1 where it is no help here. */
static int offer_own(choice *made, plim__lever lever) {
    plim_explanation *x = made->x;
    char own[128];
    if (plim__own_option(lever, made->c->log, own, sizeof own) != PLIM_OWN_OPEN) return -1;
    plim__lever_row row;
    plim__lever_default(lever, &row);
    row.setting = own;
    /* an option that is off outweighs words that sound as if it were on */
    if (lever != PLIM_LEVER_CHECKPOINT && !plim__conditions_hold(plim__lever_when(lever), made->c)) return -1;
    if (x->fix_count == PLIM_EXPLANATION_FIXES) x->fix_count--;
    int before = x->fix_count;
    made->rest = false;
    offer(made, &row);
    return x->fix_count > before ? before : -1;
}

/* What an option of the log's own may stand before: switches that cost nothing of the result come before a smaller one. */
static bool gives_way(plim__lever second, plim__lever to) {
    switch (second) {
    case PLIM_LEVER_ALLOCATOR:
    case PLIM_LEVER_NEIGHBOURS:
    case PLIM_LEVER_MODEL:
    case PLIM_LEVER_MACHINE:
    case PLIM_LEVER_CHECK:
    case PLIM_LEVER_OTHER:
    case PLIM_LEVER_SHARD:
    case PLIM_LEVER_ADAPTERS: return true;
    case PLIM_LEVER_FEWER:
    case PLIM_LEVER_OPTIMIZER:
    case PLIM_LEVER_QUANTIZE:
    case PLIM_LEVER_OFFLOAD:
    case PLIM_LEVER_PRECISION: return to == PLIM_LEVER_LENGTH;
    default: return to == PLIM_LEVER_CHECKPOINT;
    }
}

/* An option that stands in the log exists in that program and is known to its user: it comes second at the latest. Off
 * switches and lengths are ones that were passed over; what comes first keeps its place unless it closes holes only. */
static void prefer_own_workers(choice *made) {
    bool host =
        made->x->cause == PLIM_CAUSE_HOST_MEMORY && plim__conditions_hold("!shm !win-commit !maps !files", made->c);
    if (!host || made->x->fix_count < 1) return;
    int at = index_of(made, PLIM_LEVER_WORKERS);
    if (at < 0) at = offer_own(made, PLIM_LEVER_WORKERS);
    if (at > 0 && made->own[at] == PLIM_OWN_OPEN) move_to(made, at, made->levers[0] == PLIM_LEVER_LIMIT ? 1 : 0);
}

static void prefer_own(choice *made) {
    static const plim__lever levers[] = {PLIM_LEVER_CHECKPOINT, PLIM_LEVER_LENGTH, PLIM_LEVER_INPUT, PLIM_LEVER_FEWER};
    plim_explanation *x = made->x;
    bool device = x->cause == PLIM_CAUSE_FULL || x->cause == PLIM_CAUSE_FRAGMENTED;
    if (!device || x->fix_count < 2) return;
    /* what is saved or read back is no matter of lengths */
    if (!plim__conditions_hold("!saved !save-trace !resumes !load", made->c)) return;
    bool trains = plim__conditions_hold("train", made->c);
    if (!trains && !plim__conditions_hold("infer", made->c)) return;
    for (size_t i = 0; i < sizeof levers / sizeof *levers; i++) {
        bool off = levers[i] == PLIM_LEVER_CHECKPOINT; /* somebody has switched it off: it costs time alone */
        if (off ? !trains : made->own[1] == PLIM_OWN_OPEN || !gives_way(made->levers[1], levers[i])) continue;
        int at = index_of(made, levers[i]);
        if (at == 0) continue;
        if (at < 0) at = offer_own(made, levers[i]);
        if (at < 1 || made->own[at] != PLIM_OWN_OPEN) continue;
        move_to(made, at, made->own[0] == PLIM_OWN_OPEN || made->levers[0] != PLIM_LEVER_ALLOCATOR ? 1 : 0);
        return;
    }
}

/* --- order -------------------------------------------------------------------------------------------------------- */

/* What gives less than a quarter of the shortfall goes behind what may reach it; the rest keeps the table's order. */
static bool is_behind(const plim_explanation *x, const plim_fix *fix) {
    if (fix->reaches != 0) return false;
    bool halves = strcmp(fix->saving_note, saving_sentences[PLIM_SAVING_HALF_REQUEST]) == 0; /* the rest, too */
    if (x->cause == PLIM_CAUSE_TOO_BIG && x->shortfall.known && halves)
        return fix->saving.bytes < x->shortfall.bytes / 2;
    return !x->shortfall.known || x->cause == PLIM_CAUSE_TOO_BIG || x->phase == PLIM_PHASE_LOADING ||
           fix->saving.bytes < x->shortfall.bytes / 4;
}

static void rank(plim_explanation *x) {
    plim_fix sorted[PLIM_EXPLANATION_FIXES];
    int count = 0;
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < x->fix_count; i++)
            if (is_behind(x, &x->fixes[i]) == (round == 1)) sorted[count++] = x->fixes[i];
    memcpy(x->fixes, sorted, (size_t)count * sizeof *sorted);
}

/* A setting of the allocator closes holes, where the version has one; beside it stands what a full device needs: less that
 * is live leaves larger holes, too. Where the cache is hardly larger than the request, or most of the device is live, that comes
 * first; where nearly all is live, the setting comes last. */
static void offer_for_holes(choice *made) {
    plim_explanation *x = made->x;
    bool packed = plim__conditions_hold("full-live", made->c) && x->allocated.bytes > x->capacity.bytes / 100 * 95;
    const plim__program *program = plim__program_find(made->c);
    bool serves = program && program->usual == PLIM_ACTIVITY_SERVE; /* a server has settings of its own for this */
    bool roomy = !x->allocated.known || !x->capacity.known || x->allocated.bytes < x->capacity.bytes / 100 * 85;
    bool sure = roomy && x->requested.known && plim__cached(x) >= x->requested.bytes + x->requested.bytes / 4;
    if (!packed && !serves && !sure) offer_cause(made, PLIM_CAUSE_FULL, x->fix_count + 1);
    int before = x->fix_count;
    if (!packed && !serves) offer_cause(made, PLIM_CAUSE_FRAGMENTED, before + 1);
    if (x->fix_count > before && !x->fixes[before].saving.known) x->fix_count = before; /* no setting closes them */
    offer_cause(made, PLIM_CAUSE_FULL, packed || serves ? PLIM_EXPLANATION_FIXES - 1 : PLIM_EXPLANATION_FIXES);
    if (packed || serves) offer_cause(made, PLIM_CAUSE_FRAGMENTED, x->fix_count + 1);
}

/* A figure of its own counts where language models are spoken of: elsewhere a "7b" may be anything. */
static double parameters_of(const plim__case *c) {
    bool language = plim__conditions_hold("llm", c) || plim__conditions_hold("transformers", c);
    return plim__parameters_read(c->log, !language);
}

void plim__choose_fixes(plim_explanation *x, const plim__reader *reader) {
    const plim__incident *incident = &reader->incident;
    plim__text log = {reader->begin, reader->end};
    plim__case c = {.x = x,
                    .facts = incident->facts.facts,
                    .context = &incident->context,
                    .tokens = incident->facts.tokens,
                    .op = incident->facts.op,
                    .used = incident->facts.used,
                    .log = log,
                    .card = plim__cards_read(log).first_empty};
    choice made = {.x = x, .c = &c};
    bool holes = x->cause == PLIM_CAUSE_FRAGMENTED && strcmp(x->framework, "pytorch") == 0 &&
                 plim__conditions_hold("pieces", &c);
    c.parameters = parameters_of(&c);
    char sentence[160];
    if (plim__weights_sentence(&c, sentence, sizeof sentence)) plim__add_evidence(x, "%s", sentence);
    made.fills = plim__fills(&c);
    offer_spots(&made);
    if (holes)
        offer_for_holes(&made);
    else
        offer_cause(&made, x->cause, PLIM_EXPLANATION_FIXES);
    prefer_own(&made);
    prefer_own_workers(&made);
    rank(x);
}

/* --- the tables as a page ------------------------------------------------------------------------------------- */

static void add_cell(plim__str *out, const char *text) {
    for (; *text; text++) {
        if (*text == '|') plim__str_addc(out, '\\');
        plim__str_addc(out, *text);
    }
}

static void add_row(plim__str *out, const plim__fix_row *row) {
    char when[512];
    if (!row->setting) {
        plim__str_addf(out, "| %s | | the program's own settings | see [programs](#programs) | |\n",
                       strcmp(row->frameworks, "*") == 0 ? "all" : row->frameworks);
        return;
    }
    plim__conditions_print(row->when, when, sizeof when);
    plim__str_addf(out, "| %s | ", strcmp(row->frameworks, "*") == 0 ? "all" : row->frameworks);
    add_cell(out, when);
    plim__str_add(out, " | ");
    add_cell(out, row->title);
    plim__str_add(out, " | `");
    add_cell(out, row->setting);
    plim__str_addf(out, "` | %s |\n", saving_sentences[row->saving]);
}

static void add_messages(plim__str *out, const plim__message *messages) {
    for (; messages->sentence; messages++) {
        plim__str_addf(out, "| %s | %s | `", messages->framework, messages->kind ? messages->kind : "");
        for (const char *c = messages->sentence; *c; c++) {
            if (*c == '\\' && c[1]) c++;
            if (*c != '{' && *c != '}') add_cell(out, (char[]){*c, 0});
        }
        plim__str_add(out, "` |\n");
    }
}

static void add_triggers(plim__str *out, const char *who, const plim__row *rows) {
    plim__str_addf(out, "| %s | ", who);
    for (const plim__row *row = rows; row->trigger; row++) {
        plim__str_addf(out, row == rows ? "`" : ", `");
        add_cell(out, row->trigger);
        plim__str_addc(out, '`');
    }
    plim__str_add(out, " |\n");
}

static void add_causes(plim__str *out) {
    static const struct {
        const char *word, *sentence, *shown;
    } causes[] = {
#define CAUSE(name, word, sentence, shown) {word, sentence, shown},
        PLIM_CAUSE_LIST(CAUSE)
#undef CAUSE
    };
    for (size_t c = 0; c < PLIM_CAUSE_NONE; c++) {
        plim__str_addf(out, "\n## %s\n\n%s. Shown by: %s.\n\n", causes[c].word, causes[c].sentence, causes[c].shown);
        plim__str_add(
            out, "| framework | evidence needed | what to do | setting or line | saving |\n|---|---|---|---|---|\n");
        for (size_t i = 0; i < plim__fix_row_count(); i++)
            if ((size_t)plim__fix_row_at(i)->cause == c) add_row(out, plim__fix_row_at(i));
    }
}

static void add_spots(plim__str *out) {
    plim__str_add(out, "\n## Places that name their cure\n\nA call, a file or a line of code in the log: what is said "
                       "about it comes before the rest.\n\n| place | found by | evidence needed | what to do | setting "
                       "or line |\n|---|---|---|---|---|\n");
    for (size_t i = 0; i < plim__spot_count; i++) {
        const plim__spot *spot = &plim__spots[i];
        char when[512];
        plim__conditions_print(spot->when, when, sizeof when);
        for (size_t a = 0; a < PLIM_SPOT_ADVICE && spot->advice[a].title; a++) {
            plim__str_addf(out, "| %s | ", spot->name);
            for (size_t k = 0; k < PLIM_SPOT_MARKS && spot->marks[k]; k++) {
                plim__str_add(out, k ? ", `" : "`");
                add_cell(out, spot->marks[k]);
                plim__str_addc(out, '`');
            }
            plim__str_addf(out, " | %s | %s | `", when, spot->advice[a].title);
            add_cell(out, spot->advice[a].setting);
            plim__str_add(out, "` |\n");
        }
    }
}

static void add_programs(plim__str *out) {
    plim__str_add(
        out, "\n## Programs\n\nA program is found by what it prints, else by its name; the first that is found counts. "
             "The phase decides which of its\nlevers come first.\n\n| program | found by | levers |\n|---|---|---|\n");
    for (size_t i = 0; i < plim__program_count(); i++) {
        const plim__program *program = plim__program_at(i);
        plim__str_addf(out, "| %s | ", program->name);
        add_cell(out, program->marks ? program->marks : "");
        if (program->names) plim__str_addf(out, "%s%s", program->marks ? "; by name: " : "by name: ", program->names);
        plim__str_add(out, " | ");
        bool first = true;
        for (int lever = 0; lever < PLIM_LEVER_COUNT; lever++) {
            if (!plim__program_setting(program, (plim__lever)lever)) continue;
            plim__str_addf(out, "%s%s: `", first ? "" : "<br>", plim__lever_title((plim__lever)lever));
            add_cell(out, plim__program_setting(program, (plim__lever)lever));
            plim__str_addc(out, '`');
            first = false;
        }
        plim__str_add(out, " |\n");
    }
}

plim_status plim_explanation_causes(char **text, plim_error *error) {
    PLIM__NEED(text, error);
    *text = NULL;
    plim__str out = {0};
    *text = NULL;
    plim__str_add(
        &out,
        "# Why training runs out of memory, and what to change first\n\n"
        "Printed by `plimsoll explain --causes` from the tables in `src/diagnose` (`fixes*.c`, `spots.c`,\n"
        "`programs_*.c`, `messages_*.c`): adding a fix or a message is adding a row there. Causes are checked in this "
        "order; fixes\n"
        "stand in the order to try, one is offered only when its evidence is there, and one whose saving is far below\n"
        "what is missing stands behind the others. In braces: what is filled in from the log.\n");
    add_causes(&out);
    add_spots(&out);
    add_programs(&out);
    plim__str_add(&out,
                  "\n## Messages that are one sentence\n\nFigures stand in angle brackets; brackets hold what may be "
                  "missing.\n\n| program | device | sentence |\n|---|---|---|\n");
    add_messages(&out, plim__messages_device);
    add_messages(&out, plim__messages_host);
    plim__str_add(&out,
                  "\n## Messages with a reader of their own\n\nThe words that give them away, without blanks.\n\n| "
                  "reader | words |\n|---|---|\n");
    add_triggers(&out, "PyTorch", plim__rows_pytorch);
    add_triggers(&out, "TensorFlow", plim__rows_tensorflow);
    add_triggers(&out, "JAX, XLA", plim__rows_jax);
    add_triggers(&out, "runtimes", plim__rows_runtime);
    add_triggers(&out, "host, schedulers", plim__rows_host);
    add_triggers(&out, "names and words", plim__rows_words);
    if (out.failed) {
        plim__str_free(&out);
        return plim__fail_memory(error, "the page of causes", out.length);
    }
    *text = out.data;
    return PLIM_OK;
}
