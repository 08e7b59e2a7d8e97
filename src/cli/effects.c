/* The table of effects. */
#include "cli/effects.h"

#include <stdio.h>
#include <string.h>

#include "core/str.h"

/* Words are separated by spaces. A word of `others` is an option, an option with a value (its default counts), or "@" for an
 * argument that is no option. */
typedef enum relation { NEEDS, NOT_WITH, NEVER } relation;
static const struct rule {
    const char *commands, *options;
    relation relation;
    const char *others; /* NEEDS: one of them; NOT_WITH: none */
} rules[] = {
#define LOSS_DETAILS "label-smoothing ignore-index class-weights"
#define DATA                                                                                                           \
    "ignore-job kind split validation target seq stride token-bytes image resize channels random-crop random-flip "    \
    "columns drop categories embed decimal missing normalise layout mean std raw unpack-limit skip-bad no-shuffle "    \
    "workers "                                                                                                         \
    "data-depth data-buffer"
    {"train", "resume checkpoint-every", NEEDS, "checkpoint"},
    {"train", "best patience", NEEDS, "val validation"},
    {"train", "trace-every", NEEDS, "trace report"},
    {"train", "replan", NEEDS, "plan"},
    {"train", "spill no-spill", NEEDS, "budget plan"},
    {"train plan find-lr", "base", NEEDS, "lora freeze"},
    {"train plan", "spill", NOT_WITH, "no-spill"},
    {"train plan find-lr", "nesterov", NEEDS, "optimizer=sgd"},
    {"train plan find-lr", "nesterov dampening", NEEDS, "momentum"},
    {"train plan find-lr", "betas", NEEDS, "optimizer=adamw optimizer=adam optimizer=lion"},
    {"train plan find-lr", "eps", NOT_WITH, "optimizer=sgd optimizer=lion"},
    {"train plan", "lr-step lr-gamma", NEEDS, "schedule=step"},
    {"train plan", "lr-least", NEEDS, "schedule=cosine schedule=linear"},
    {"predict", LOSS_DETAILS " huber-delta loss-counts", NEVER, NULL},
    {"", LOSS_DETAILS, NEEDS, "loss=cross_entropy"},
    {"", "huber-delta", NEEDS, "loss=huber"},
    {"plan", "budget", NOT_WITH, "device-memory"},
    {"plan", DATA " tokenizer val drop-last augment oversample epochs steps", NEEDS, "data"},
    {"evaluate infer predict", "no-shuffle", NEVER, NULL}, /* the order of the data is that of the answers */
    {"infer", DATA " tokenizer", NEEDS, "data"},
    {"infer", "input zeros repeat profile", NOT_WITH, "data"},
    {"predict", DATA, NOT_WITH, "prompt"},
    {"predict", "format out top data", NOT_WITH, "prompt"},
    {"predict", "format out", NOT_WITH, "json"},
    {"predict", "generate temperature top-k top-p seed", NEEDS, "prompt"},
    {"explain", "gpu optimizer precision batch size without", NEEDS, "model"},
    {"explain", "model", NOT_WITH, "causes"},
    {"zoo", "output classes image channels seq width layers heads kv-heads hidden vocab features weights seed", NEEDS,
     "@"},
    {"inspect", "batch size without graph weights report", NOT_WITH, "passes"},
    {"fit", "gpu optimizer precision checkpoint-every-block micro-batch framework allocator output batch size",
     NOT_WITH, "list-gpus"},
    {"help", "man", NOT_WITH, "completion"},
    {"explain run top size zoo report replay pack ops help budget data", "threads", NEVER, NULL},
#undef LOSS_DETAILS
#undef DATA
};

/* What counts where an option was not given. */
static const struct usual {
    const char *name, *value;
} usual[] = {{"loss", "cross_entropy"}, {"optimizer", "adamw"}, {"schedule", "constant"}};

/* How many arguments a command reads; those that are not here say so themselves. */
static const struct places {
    const char *command;
    size_t most;
} places[] = {{"train", 1}, {"plan", 1}, {"evaluate", 1}, {"infer", 1}, {"inspect", 1},
              {"zoo", 1},   {"help", 1}, {"budget", 2},   {"costs", 0}, {"ops", 0}};

/* Which kinds of data an option is for. */
static const struct use {
    const char *options, *kinds, *words;
} uses[] = {
    {"seq stride", "text tokens synthetic", "text"},
    {"token-bytes", "tokens", "files of tokens"},
    {"tokenizer", "text", "text"},
    {"image resize channels random-crop random-flip skip-bad", "images", "images"},
    {"columns drop categories embed decimal missing normalise", "csv", "tables"},
    {"layout", "npy npz", "arrays"},
    {"target", "csv npz", "tables and NPZ files"},
    {"mean std", "images idx npy npz csv", "images, arrays and tables"},
    {"raw", "images idx npy npz", "images and arrays"},
    {"unpack-limit", "npz idx", "compressed files"},
};

/* --- words -------------------------------------------------------------------------------------------------------- */

/* The next word of a list; false at its end. */
static bool next_word(const char **list, char word[64]) {
    while (**list == ' ') ++*list;
    size_t length = strcspn(*list, " ");
    if (!length) return false;
    snprintf(word, 64, "%.*s", (int)length, *list);
    *list += length;
    return true;
}

static bool has_word(const char *list, const char *wanted) {
    char word[64];
    while (next_word(&list, word))
        if (strcmp(word, wanted) == 0) return true;
    return false;
}

/* "option", "option=value" or "@" */
static bool holds(const plim__args *args, const char *other) {
    char name[64];
    const char *equals = strchr(other, '=');
    if (strcmp(other, "@") == 0) return plim__args_count(args) > 0;
    if (!equals) return plim__args_has(args, other);
    snprintf(name, sizeof name, "%.*s", (int)(equals - other), other);
    const char *value = plim__args_get(args, name);
    for (size_t i = 0; !value && i < sizeof usual / sizeof *usual; i++)
        if (strcmp(usual[i].name, name) == 0) value = usual[i].value;
    return value && strcmp(value, equals + 1) == 0;
}

/* The first word that holds, or NULL. */
static const char *find_holding(const plim__args *args, const char *others, char word[64]) {
    while (next_word(&others, word))
        if (holds(args, word)) return word;
    return NULL;
}

/* "--val or --validation"; "--loss huber" */
static void add_others(plim__str *out, const char *others) {
    char word[64];
    for (int i = 0; next_word(&others, word); i++) {
        char *equals = strchr(word, '=');
        if (equals) *equals = ' ';
        if (strcmp(word, "@") == 0)
            plim__str_add(out, "the name of a model");
        else
            plim__str_addf(out, "%s--%s", i ? " or " : "", word);
    }
}

/* --- rules -------------------------------------------------------------------------------------------------------- */

/* How the sentence goes on after "--option has no effect"; false: it has one. */
static bool breaks(const plim__args *args, const struct rule *rule, plim__str *out) {
    char word[64];
    const char *found = rule->others ? find_holding(args, rule->others, word) : NULL;
    if (rule->relation == NEEDS && !found) {
        plim__str_add(out, " without ");
        add_others(out, rule->others);
        return true;
    }
    if (rule->relation == NOT_WITH && found) {
        plim__str_add(out, " with ");
        add_others(out, found);
        return true;
    }
    if (rule->relation != NEVER) return false;
    plim__str_addf(out, " in %s", plim__args_command(args)->name);
    return true;
}

static bool check_rule(const plim__args *args, const struct rule *rule) {
    char option[64];
    const char *options = rule->options;
    if (*rule->commands && !has_word(rule->commands, plim__args_command(args)->name)) return true;
    while (next_word(&options, option)) {
        plim__str rest = {0};
        bool bad = plim__args_has(args, option) && breaks(args, rule, &rest);
        if (bad) plim__say_usage(args, "--%s has no effect%s", option, plim__str_text(&rest));
        plim__str_free(&rest);
        if (bad) return false;
    }
    return true;
}

static bool check_places(const plim__args *args) {
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (strcmp(places[i].command, plim__args_command(args)->name) == 0 && plim__args_count(args) > places[i].most) {
            plim__say_usage(args, "'%s' is one argument too many", plim__args_at(args, places[i].most));
            return false;
        }
    return true;
}

/* --- kinds of data ------------------------------------------------------------------------------------------------ */

static const char *data_path(const plim__args *args) {
    const char *path = plim__args_get(args, "data"), *name = plim__args_command(args)->name;
    if (path) return path;
    return strcmp(name, "data") == 0      ? plim__args_at(args, 0)
           : strcmp(name, "predict") == 0 ? plim__args_at(args, 1)
                                          : NULL;
}

/* Data that cannot be read is reported by who reads it. */
static bool check_data(const plim__args *args) {
    const char *path = data_path(args), *kind;
    if (!path || plim_data_find_kind(path, plim__args_get(args, "kind"), &kind, NULL) != PLIM_OK) return true;
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++) {
        char option[64];
        const char *options = uses[i].options;
        while (next_word(&options, option))
            if (plim__args_has(args, option) && !has_word(uses[i].kinds, kind)) {
                plim__say_usage(args, "--%s has no effect: it is for %s, and the data is %s", option, uses[i].words,
                                kind);
                return false;
            }
    }
    return true;
}

bool plim__effects_check(const plim__args *args) {
    if (!check_places(args)) return false;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (!check_rule(args, &rules[i])) return false;
    return check_data(args);
}
