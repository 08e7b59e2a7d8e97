/* Reading and writing options as TOML. */
#include "cli/config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/args.h"
#include "core/error.h"
#include "core/file.h"

#define MARK "# plimsoll "

enum { MOST_BYTES = 1 << 20 };

typedef struct reader {
    plim__config *config;
    const char *at, *path;
    int line;
    plim_error *error;
} reader;

void plim__config_free(plim__config *config) {
    for (size_t i = 0; i < config->settings.count; i++) {
        plim__free(config->settings.items[i].key);
        plim__free(config->settings.items[i].value);
    }
    plim__vec_free(&config->settings);
}

static plim_status bad(const reader *r, const char *what) {
    return plim__fail(r->error, PLIM_CORRUPT, "'%s' line %d: %s", r->path, r->line, what);
}

/* --- reading -------------------------------------------------------------------------------------------------- */

/* Blanks and comments; with `lines`, ends of lines too. */
static void skip(reader *r, bool lines) {
    for (;; r->at++) {
        if (*r->at == '#')
            while (r->at[1] && r->at[1] != '\n') r->at++;
        else if (*r->at == '\n' && lines)
            r->line++;
        else if (*r->at != ' ' && *r->at != '\t' && *r->at != '\r')
            return;
    }
}

static bool is_key_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

static plim_status read_escape(reader *r, plim__str *out) {
    static const char letters[] = "btnfr\"\\", meant[] = "\b\t\n\f\r\"\\";
    const char *found = *r->at ? strchr(letters, *r->at) : NULL;
    if (!found) return bad(r, "an escape that is not known; '...' takes texts as they are");
    plim__str_addc(out, meant[found - letters]);
    r->at++;
    return PLIM_OK;
}

/* "text" with escapes, or 'text' without. */
static plim_status read_text(reader *r, plim__str *out) {
    char quote = *r->at++;
    while (*r->at != quote) {
        if (!*r->at || *r->at == '\n') return bad(r, "a text does not end on its line");
        if (*r->at == '\\' && quote == '"') {
            r->at++;
            PLIM_TRY(read_escape(r, out));
        } else {
            plim__str_addc(out, *r->at++);
        }
    }
    r->at++;
    return PLIM_OK;
}

/* A number, true or false, as it is written. */
static plim_status read_word(reader *r, plim__str *out, bool *is_switch) {
    size_t length = strcspn(r->at, " \t\r\n,]#");
    char *end;
    plim__str_addn(out, r->at, length);
    const char *word = plim__str_text(out);
    *is_switch = strcmp(word, "true") == 0 || strcmp(word, "false") == 0;
    (void)strtod(word, &end);
    if (!*is_switch && (length == 0 || *end || strpbrk(word, "xXpPnN")))
        return bad(r, "a value is a number, true, false, a list, or a text in quotes");
    r->at += length;
    return PLIM_OK;
}

static plim_status add(reader *r, const char *key, const plim__str *value, bool is_switch, bool is_first) {
    plim__setting made = {plim__strdup(key), plim__strdup(plim__str_text(value)), is_switch, is_first, r->line};
    if (!value->failed && made.key && made.value && plim__vec_push(&r->config->settings, made)) return PLIM_OK;
    plim__free(made.key);
    plim__free(made.value);
    return plim__fail_memory(r->error, "a configuration", strlen(key));
}

/* Numbers become one value with commas, texts one value each. */
static plim_status read_list(reader *r, const char *key, plim__str *value) {
    plim__str numbers = {0};
    size_t texts = 0, words = 0;
    plim_status status = PLIM_OK;
    for (r->at++, skip(r, true); status == PLIM_OK && *r->at != ']'; skip(r, true)) {
        bool is_switch = false, quoted = *r->at == '"' || *r->at == '\'';
        plim__str_clear(value);
        status = quoted ? read_text(r, value) : read_word(r, value, &is_switch);
        if (status == PLIM_OK && is_switch) status = bad(r, "true and false do not stand in lists");
        if (status == PLIM_OK && quoted) status = add(r, key, value, false, texts == 0);
        if (!quoted) plim__str_addf(&numbers, "%s%s", words ? "," : "", plim__str_text(value));
        texts += quoted;
        words += !quoted;
        skip(r, true);
        if (status == PLIM_OK && *r->at == ',')
            r->at++;
        else if (status == PLIM_OK && *r->at != ']')
            status = bad(r, "a list has commas between its values and ends with ]");
    }
    if (status == PLIM_OK && texts && words) status = bad(r, "a list has numbers or texts, not both");
    if (status == PLIM_OK && !texts && !words) status = bad(r, "an empty list");
    if (status == PLIM_OK && words) status = add(r, key, &numbers, false, true);
    if (status == PLIM_OK) r->at++;
    plim__str_free(&numbers);
    return status;
}

static plim_status read_value(reader *r, const char *key) {
    plim__str value = {0};
    bool is_switch = false;
    plim_status status;
    if (*r->at == '[') {
        status = read_list(r, key, &value);
    } else {
        status = *r->at == '"' || *r->at == '\'' ? read_text(r, &value) : read_word(r, &value, &is_switch);
        if (status == PLIM_OK) status = add(r, key, &value, is_switch, true);
    }
    plim__str_free(&value);
    return status;
}

static plim_status read_line(reader *r) {
    char key[64];
    size_t length = 0;
    if (*r->at == '[') return bad(r, "tables are not known: all keys stand on their own");
    while (is_key_letter(r->at[length])) length++;
    if (length == 0 || length >= sizeof key) return bad(r, "a line is KEY = VALUE");
    memcpy(key, r->at, length);
    key[length] = 0;
    for (size_t i = 0; i < r->config->settings.count; i++)
        if (strcmp(r->config->settings.items[i].key, key) == 0) {
            char what[128];
            snprintf(what, sizeof what, "'%s' was set in line %d already", key, r->config->settings.items[i].line);
            return bad(r, what);
        }
    r->at += length;
    skip(r, false);
    if (*r->at != '=') return bad(r, "a line is KEY = VALUE");
    r->at++;
    skip(r, false);
    PLIM_TRY(read_value(r, key));
    skip(r, false);
    return *r->at && *r->at != '\n' ? bad(r, "something follows the value") : PLIM_OK;
}

plim_status plim__config_parse(plim__config *config, const char *text, const char *path, plim_error *error) {
    reader r = {config, text, path, 1, error};
    for (skip(&r, true); *r.at; skip(&r, true)) PLIM_TRY(read_line(&r));
    return PLIM_OK;
}

plim_status plim__config_load(plim__config *config, const char *path, plim_error *error) {
    FILE *file = fopen(path, "re");
    if (!file) return plim__fail_errno(error, errno, "cannot open '%s'", path);
    plim__str text = {0};
    char buffer[4096];
    for (size_t got; text.length <= MOST_BYTES && (got = fread(buffer, 1, sizeof buffer, file)) > 0;)
        plim__str_addn(&text, buffer, got);
    bool failed = ferror(file) != 0;
    fclose(file);
    plim_status status = PLIM_OK;
    if (failed)
        status = plim__fail(error, PLIM_IO, "cannot read '%s'", path);
    else if (text.failed)
        status = plim__fail_memory(error, path, MOST_BYTES);
    else if (text.length > MOST_BYTES || strlen(plim__str_text(&text)) != text.length)
        status = plim__fail(error, PLIM_CORRUPT, "'%s' is no configuration file", path);
    if (status == PLIM_OK) status = plim__config_parse(config, plim__str_text(&text), path, error);
    plim__str_free(&text);
    return status;
}

/* --- writing -------------------------------------------------------------------------------------------------- */

static void print_text(plim__str *out, const char *text) {
    plim__str_addc(out, '"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') plim__str_addc(out, '\\');
        if (*text == '\n')
            plim__str_add(out, "\\n");
        else if (*text == '\t')
            plim__str_add(out, "\\t");
        else
            plim__str_addc(out, *text);
    }
    plim__str_addc(out, '"');
}

static bool is_number(const char *text) {
    char *end;
    (void)strtod(text, &end);
    return *text && !*end && !strpbrk(text, "xXpPnN") && *text != ' ';
}

static void print_values(const plim__args *args, const plim__option *option, plim__str *out) {
    const char *value;
    bool several = plim__args_get_nth(args, option->name, 1) != NULL;
    plim__str_addf(out, "%s = %s", option->name, several ? "[" : "");
    for (size_t i = 0; (value = plim__args_get_nth(args, option->name, i)); i++) {
        if (i > 0) plim__str_add(out, ", ");
        if (!option->value)
            plim__str_add(out, "true");
        else if (is_number(value) && !several)
            plim__str_add(out, value);
        else
            print_text(out, value);
        if (!option->value) break;
    }
    plim__str_add(out, several && option->value ? "]\n" : "\n");
}

void plim__config_print(const plim__args *args, plim__str *out) {
    static const char *const left_out[] = {"config", "save-config", "help", "json"};
    const plim__command *command = plim__args_command(args);
    const plim__option *option;
    plim__str_addf(out, MARK "%s --config FILE\n", command->name);
    if (plim__args_at(args, 0)) {
        plim__str_add(out, "model = ");
        print_text(out, plim__args_at(args, 0));
        plim__str_addc(out, '\n');
    }
    for (size_t i = 0; (option = plim__option_at(command, i)); i++) {
        bool leave = !plim__args_has(args, option->name);
        for (size_t k = 0; k < sizeof left_out / sizeof *left_out; k++) leave |= strcmp(option->name, left_out[k]) == 0;
        if (!leave) print_values(args, option, out);
    }
}

/* Whether a file that is there may be replaced: one that this wrote. */
static bool is_ours(const char *path) {
    char start[sizeof MARK] = "";
    FILE *file = fopen(path, "re");
    if (!file) return errno == ENOENT;
    size_t got = fread(start, 1, sizeof start - 1, file);
    fclose(file);
    return got == 0 || strcmp(start, MARK) == 0;
}

plim_status plim__config_save(const plim__args *args, plim_error *error) {
    const char *path = plim__args_get(args, "save-config");
    if (!path) return PLIM_OK;
    if (!is_ours(path))
        return plim__fail(error, PLIM_INVALID, "'%s' is there already and is no configuration of plimsoll's own", path);
    plim__str text = {0};
    plim__config_print(args, &text);
    FILE *file = text.failed ? NULL : fopen(path, "we");
    int code = errno;
    bool written = file && fwrite(plim__str_text(&text), 1, text.length, file) == text.length;
    if (file && fclose(file) != 0) written = false;
    bool short_of_memory = text.failed;
    plim__str_free(&text);
    if (written) return PLIM_OK;
    return short_of_memory ? plim__fail_memory(error, "a configuration", 1)
                           : plim__fail_errno(error, code, "cannot write '%s'", path);
}
