/* The command line: --name value, --name=value, -n value, switches, `--` ends the options. */
#include "cli/args.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/activity.h"
#include "cli/config.h"
#include "cli/effects.h"
#include "cli/terminal.h"
#include "cli/threads_auto.h"
#include "core/error.h"
#include "core/str.h"
#include "core/vec.h"

struct plim__args {
    const plim__command *command;
    PLIM_VEC(const char *) positional;
    struct {
        struct given {
            const char *name, *value;
        } * items;
        size_t count, capacity;
    } given;
    plim__config config; /* of --config: what it gave is in it */
    int threads;         /* that --threads auto has found; 0: it was not asked */
};

static const plim__option common[] = {
    {"json", 0, NULL, "print one JSON object on standard output and nothing else"},
    {"threads", 0, "N|auto",
     "use N threads; the default is the cores this process may use; auto (train, plan): what pays, measured"},
    {"help", 'h', NULL, "show this help"},
};

const plim__option *plim__option_at(const plim__command *command, size_t index) {
    const plim__option *own = command->options;
    for (; own && own->name; own++)
        if (index-- == 0) return own;
    /* a command that gives an option of its own a common name (run --json FILE) hides the common one */
    for (size_t i = 0; i < sizeof common / sizeof *common; i++) {
        bool hidden = false;
        for (const plim__option *o = command->options; o && o->name; o++)
            hidden |= strcmp(o->name, common[i].name) == 0;
        if (!hidden && index-- == 0) return &common[i];
    }
    return NULL;
}

static const plim__option *find_option(const plim__command *command, const char *name, size_t length, char letter) {
    const plim__option *option;
    for (size_t i = 0; (option = plim__option_at(command, i)); i++) {
        if (letter && option->letter == letter) return option;
        if (!letter && strlen(option->name) == length && strncmp(option->name, name, length) == 0) return option;
    }
    return NULL;
}

/* The option that a word begins with, that begins with it, or whose explanation has it: --validation-data, --mixup. */
static const char *related_option(const plim__command *command, const char *name) {
    const plim__option *option;
    const char *explained = NULL;
    size_t length = strlen(name);
    for (size_t i = 0; length >= 4 && (option = plim__option_at(command, i)); i++) {
        size_t own = strlen(option->name);
        if (own >= 4 && strncmp(name, option->name, own < length ? own : length) == 0) return option->name;
        if (!explained && strstr(option->help, name)) explained = option->name;
    }
    return explained;
}

static int unknown_option(const plim__args *args, const char *word) {
    char name[64];
    const char *best = NULL;
    const plim__option *option;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word + 2, "="), word[1] == '-' ? word + 2 : "");
    for (size_t i = 0; *name && (option = plim__option_at(args->command, i)); i++)
        best = plim__str_nearest(name, best, option->name);
    if (!best) best = related_option(args->command, name);
    return plim__say_usage(args, best ? "unknown option '%s'; is --%s meant?" : "unknown option '%s'", word, best);
}

/* Consumes one option at argv[*at]. An exit code. */
static int take_option(plim__args *args, int argc, char **argv, int *at) {
    const char *word = argv[*at], *value = NULL;
    const plim__option *option;
    if (word[1] == '-') {
        const char *equals = strchr(word, '=');
        size_t length = equals ? (size_t)(equals - word) - 2 : strlen(word) - 2;
        option = find_option(args->command, word + 2, length, 0);
        if (equals) value = equals + 1;
    } else {
        option = find_option(args->command, NULL, 0, word[1]);
        if (option && word[2]) value = word + 2;
    }
    if (!option) return unknown_option(args, word);
    if (!option->value && value) return plim__say_usage(args, "--%s takes no value", option->name);
    if (option->value && !value) {
        if (*at + 1 >= argc) return plim__say_usage(args, "--%s needs a value: %s", option->name, option->value);
        value = argv[++*at];
    }
    if (!plim__vec_push(&args->given, (struct given){option->name, value ? value : ""}))
        return plim__say_failure(args, "out of memory");
    return PLIM_EXIT_OK;
}

/* "-" alone is standard input and "-1" is a number: both are positional. */
static bool is_option(const char *word) { return word[0] == '-' && word[1] && !(word[1] >= '0' && word[1] <= '9'); }

static int parse(plim__args *args, int argc, char **argv) {
    bool options = true;
    for (int i = 0; i < argc; i++) {
        if (options && strcmp(argv[i], "--") == 0) {
            options = false;
        } else if (options && is_option(argv[i])) {
            int code = take_option(args, argc, argv, &i);
            if (code != PLIM_EXIT_OK) return code;
        } else {
            if (args->command->passthrough) options = false;
            if (!plim__vec_push(&args->positional, argv[i])) return plim__say_failure(args, "out of memory");
        }
    }
    return PLIM_EXIT_OK;
}

static const plim__command *find_command(const char *name) {
    for (size_t i = 0; i < plim__command_count; i++)
        if (strcmp(plim__commands[i]->name, name) == 0) return plim__commands[i];
    return NULL;
}

/* A file for train serves other commands too: what only train knows does not concern them. */
static int unknown_key(const plim__args *args, const plim__setting *s) {
    const plim__command *train = find_command("train");
    const plim__option *option;
    const char *best = NULL;
    if (train && find_option(train, s->key, strlen(s->key), 0)) return PLIM_EXIT_OK;
    for (size_t i = 0; (option = plim__option_at(args->command, i)); i++)
        best = plim__str_nearest(s->key, best, option->name);
    best = plim__str_nearest(s->key, best, "model");
    return plim__say_usage(args, best ? "%s line %d: unknown key '%s'; is %s meant?" : "%s line %d: unknown key '%s'",
                           plim__args_get(args, "config"), s->line, s->key, best);
}

static int take_setting(plim__args *args, const plim__setting *s, size_t from_line) {
    const plim__option *option = find_option(args->command, s->key, strlen(s->key), 0);
    if (strcmp(s->key, "model") == 0) {
        if (args->positional.count > 0) return PLIM_EXIT_OK;
        return plim__vec_push(&args->positional, s->value) ? PLIM_EXIT_OK : plim__say_failure(args, "out of memory");
    }
    if (!option) return unknown_key(args, s);
    if (strcmp(s->key, "config") == 0 || strcmp(s->key, "help") == 0)
        return plim__say_usage(args, "%s line %d: '%s' is for the command line", plim__args_get(args, "config"),
                               s->line, s->key);
    for (size_t i = 0; i < from_line; i++) /* the command line counts first */
        if (strcmp(args->given.items[i].name, option->name) == 0) return PLIM_EXIT_OK;
    if (s->is_switch != !option->value)
        return plim__say_usage(
            args, option->value ? "%s line %d: '%s' needs a value: %s" : "%s line %d: '%s' is true or false",
            plim__args_get(args, "config"), s->line, s->key, option->value);
    if (s->is_switch && strcmp(s->value, "false") == 0) return PLIM_EXIT_OK;
    return plim__vec_push(&args->given, (struct given){option->name, s->is_switch ? "" : s->value})
               ? PLIM_EXIT_OK
               : plim__say_failure(args, "out of memory");
}

/* What --config has goes behind what the command line has, as far as that left it open. */
static int take_config(plim__args *args) {
    const char *path = plim__args_get(args, "config");
    plim_error error;
    if (!path) return PLIM_EXIT_OK;
    if (plim__config_load(&args->config, path, &error) != PLIM_OK) return plim__say_error(args, &error);
    size_t from_line = args->given.count;
    for (size_t i = 0; i < args->config.settings.count; i++) {
        int code = take_setting(args, &args->config.settings.items[i], from_line);
        if (code != PLIM_EXIT_OK) return code;
    }
    return PLIM_EXIT_OK;
}

static int save_config(const plim__args *args) {
    plim_error error;
    return plim__config_save(args, &error) == PLIM_OK ? PLIM_EXIT_OK : plim__say_error(args, &error);
}

/* A number, or for what trains `auto`. */
static bool check_threads(plim__args *args) {
    int64_t threads = 1;
    const char *name = args->command->name;
    if (!plim__threads_are_auto(args)) return plim__args_int(args, "threads", 1, 4096, &threads);
    bool trains = strcmp(name, "train") == 0 || strcmp(name, "plan") == 0;
    if (!trains) plim__say_usage(args, "--threads auto: only train and plan measure it; give a number");
    /* a saved plan has its number of threads, and adapters are not what is measured */
    const char *other = plim__args_has(args, "lora") ? "lora" : plim__args_has(args, "plan") ? "plan" : NULL;
    if (trains && other) plim__say_usage(args, "--threads auto: not with --%s; give a number", other);
    return trains && !other;
}

int plim__args_run(const plim__command *command, int argc, char **argv) {
    plim__args args = {.command = command};
    int code = parse(&args, argc, argv);
    if (code == PLIM_EXIT_OK && !command->passthrough) code = take_config(&args);
    bool helps = plim__args_has(&args, "help");
    if (code == PLIM_EXIT_OK && helps) plim__help_command(command);
    if (code == PLIM_EXIT_OK && !helps && !(check_threads(&args) && plim__effects_check(&args))) code = PLIM_EXIT_USAGE;
    if (code == PLIM_EXIT_OK && !helps && !command->passthrough) code = save_config(&args);
    if (code == PLIM_EXIT_OK && !helps && plim__threads_are_auto(&args)) args.threads = plim__threads_measure(&args);
    if (code == PLIM_EXIT_OK && !helps) code = command->run(&args);
    plim__vec_free(&args.positional);
    plim__vec_free(&args.given);
    plim__config_free(&args.config);
    return code;
}

size_t plim__args_count(const plim__args *args) { return args->positional.count; }

const char *plim__args_at(const plim__args *args, size_t index) {
    return index < args->positional.count ? args->positional.items[index] : NULL;
}

const char *plim__args_get_nth(const plim__args *args, const char *name, size_t index) {
    for (size_t i = 0; i < args->given.count; i++)
        if (strcmp(args->given.items[i].name, name) == 0 && index-- == 0) return args->given.items[i].value;
    return NULL;
}

const char *plim__args_get(const plim__args *args, const char *name) {
    const char *last = NULL, *value;
    for (size_t i = 0; (value = plim__args_get_nth(args, name, i)); i++) last = value;
    return last;
}

bool plim__args_has(const plim__args *args, const char *name) { return plim__args_get(args, name) != NULL; }

int plim__args_floats(plim__args *args, const char *name, float *values, int most) {
    const char *text = plim__args_get(args, name);
    int count = 0;
    if (!text) return 0;
    for (char *end; count < most; text = end + 1) {
        values[count++] = strtof(text, &end);
        if (end == text || (*end && *end != ',')) break;
        if (!*end) return count;
    }
    plim__say_usage(args, "--%s %s: expected numbers with commas between them", name, plim__args_get(args, name));
    return -1;
}

bool plim__args_json(const plim__args *args) { return plim__args_has(args, "json"); }

const plim__command *plim__args_command(const plim__args *args) { return args->command; }

bool plim__args_int(plim__args *args, const char *name, int64_t least, int64_t most, int64_t *value) {
    const char *text = plim__args_get(args, name);
    if (!text) return true;
    char *end;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (errno || end == text || *end || number < least || number > most) {
        plim__say_usage(args, "--%s %s: expected a whole number from %" PRId64 " to %" PRId64, name, text, least, most);
        return false;
    }
    *value = number;
    return true;
}

bool plim__args_double(plim__args *args, const char *name, double *value) {
    const char *text = plim__args_get(args, name);
    if (!text) return true;
    char *end;
    double number = strtod(text, &end);
    if (end == text || *end) {
        plim__say_usage(args, "--%s %s: expected a number", name, text);
        return false;
    }
    *value = number;
    return true;
}

bool plim__args_bytes(plim__args *args, const char *name, uint64_t *value) {
    const char *text = plim__args_get(args, name);
    plim_error error;
    if (!text || plim_bytes_parse(text, value, &error) == PLIM_OK) return true;
    plim__say_usage(args, "--%s: %s", name, error.message);
    return false;
}

int plim__args_threads(const plim__args *args) {
    const char *text = plim__args_get(args, "threads");
    if (args->threads) return args->threads;
    if (text) return atoi(text);
    return plim_machine_threads();
}

static void say(const plim__args *args, const char *format, va_list list) {
    char text[2048];
    vsnprintf(text, sizeof text, format, list);
    plim__error_clean(text);
    plim__activity_end();
    fflush(stdout); /* lines come in the order in which they were said */
    plim__terminal_line(stderr, "plimsoll %s: %s", args->command->name, text);
}

void plim__say_note(const plim__args *args, const char *format, ...) {
    va_list list;
    va_start(list, format);
    say(args, format, list);
    va_end(list);
}

/* The words of "sgd, adam or lion". */
static const char *nearest_of(const char *given, const char *list, char best[64]) {
    const char *found = NULL;
    char word[64];
    while (*list) {
        size_t length = strcspn(list, ", ");
        snprintf(word, sizeof word, "%.*s", (int)length, list);
        bool joins = strcmp(word, "or") == 0 || strcmp(word, "and") == 0;
        if (*word && !joins && plim__str_nearest(given, found, word) == word) {
            snprintf(best, 64, "%s", word);
            found = best;
        }
        list += length;
        list += strspn(list, ", ");
    }
    return found;
}

int plim__say_choice(const plim__args *args, const char *option, const char *list) {
    char best[64];
    const char *given = plim__args_get(args, option), *nearest = nearest_of(given ? given : "", list, best);
    return plim__say_usage(args, nearest ? "--%s %s: expected %s; is %s meant?" : "--%s %s: expected %s", option, given,
                           list, nearest);
}

int plim__say_error(const plim__args *args, const plim_error *error) {
    return plim__say_failure(args, "%s", error->message);
}

int plim__say_failure(const plim__args *args, const char *format, ...) {
    va_list list;
    va_start(list, format);
    say(args, format, list);
    va_end(list);
    return PLIM_EXIT_FAILURE;
}

int plim__say_usage(const plim__args *args, const char *format, ...) {
    va_list list;
    va_start(list, format);
    say(args, format, list);
    va_end(list);
    plim__terminal_line(stderr, "usage: plimsoll %s %s", args->command->name, args->command->usage);
    return PLIM_EXIT_USAGE;
}

int plim__say_json(const plim__args *args, json_t *object) {
    if (!object) return plim__say_failure(args, "out of memory");
    plim__activity_end();
    int bad = json_dumpf(object, stdout,
                         JSON_INDENT(2) | JSON_PRESERVE_ORDER | (isatty(STDOUT_FILENO) ? JSON_ENSURE_ASCII : 0));
    json_decref(object);
    if (bad || putchar('\n') == EOF || fflush(stdout) != 0)
        return plim__say_failure(args, "cannot write standard output");
    return PLIM_EXIT_OK;
}
