/* The command line: --name value, --name=value, -n value, switches, `--` ends the options. */
#include "cli/args.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
};

static const plim__option common[] = {
    {"json", 0, NULL, "print one JSON object on standard output and nothing else"},
    {"threads", 0, "N", "use N threads; the default is the cores this process may use"},
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

/* Consumes one option at argv[*at]. */
static bool take_option(plim__args *args, int argc, char **argv, int *at) {
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
    if (!option) return plim__say_usage(args, "unknown option '%s'", word), false;
    if (!option->value && value) return plim__say_usage(args, "--%s takes no value", option->name), false;
    if (option->value && !value) {
        if (*at + 1 >= argc) return plim__say_usage(args, "--%s needs a value: %s", option->name, option->value), false;
        value = argv[++*at];
    }
    if (!plim__vec_push(&args->given, (struct given){option->name, value ? value : ""}))
        return plim__say_failure(args, "out of memory"), false;
    return true;
}

/* "-" alone is standard input and "-1" is a number: both are positional. */
static bool is_option(const char *word) { return word[0] == '-' && word[1] && !(word[1] >= '0' && word[1] <= '9'); }

static bool parse(plim__args *args, int argc, char **argv) {
    bool options = true;
    for (int i = 0; i < argc; i++) {
        if (options && strcmp(argv[i], "--") == 0) {
            options = false;
        } else if (options && is_option(argv[i])) {
            if (!take_option(args, argc, argv, &i)) return false;
        } else {
            if (args->command->passthrough) options = false;
            if (!plim__vec_push(&args->positional, argv[i])) return plim__say_failure(args, "out of memory"), false;
        }
    }
    return true;
}

int plim__args_run(const plim__command *command, int argc, char **argv) {
    plim__args args = {.command = command};
    int code = PLIM_EXIT_USAGE;
    if (parse(&args, argc, argv)) {
        int64_t threads = 1;
        if (plim__args_has(&args, "help")) {
            plim__help_command(command);
            code = PLIM_EXIT_OK;
        } else if (plim__args_int(&args, "threads", 1, 4096, &threads)) {
            code = command->run(&args);
        }
    }
    plim__vec_free(&args.positional);
    plim__vec_free(&args.given);
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
    if (text) return atoi(text);
    cpu_set_t set;
    int count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    return count > 0 ? count : 1;
}

static void say(const plim__args *args, const char *format, va_list list) {
    fprintf(stderr, "plimsoll %s: ", args->command->name);
    vfprintf(stderr, format, list);
    fputc('\n', stderr);
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
    fprintf(stderr, "usage: plimsoll %s %s\n", args->command->name, args->command->usage);
    return PLIM_EXIT_USAGE;
}

int plim__say_json(const plim__args *args, json_t *object) {
    if (!object) return plim__say_failure(args, "out of memory");
    int bad = json_dumpf(object, stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
    json_decref(object);
    if (bad || putchar('\n') == EOF || fflush(stdout) != 0)
        return plim__say_failure(args, "cannot write standard output");
    return PLIM_EXIT_OK;
}
