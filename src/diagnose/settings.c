/* Options and tables that a log quotes. */
#include "diagnose/settings.h"

#include <ctype.h>
#include <string.h>

enum { OPTION = 96 };

/* --- options --------------------------------------------------------------------------------------------------- */

static bool is_name(char c) { return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.'; }

/* An option at `at`: "--name value", "--name=value", "--name", "name=value". Names in capitals are variables, which
 * frameworks print in their own advice. Returns its length, 0 for none. */
static size_t option_length(const char *at) {
    size_t name = 0, length;
    bool dashes = at[0] == '-' && at[1] == '-';
    while (is_name(at[name])) name++;
    if (at[0] == '-' && isalpha((unsigned char)at[1]) && name <= 5 && at[name] == ' ') { /* "-r 2", "-ngl 20" */
        size_t value = strspn(at + name + 1, "0123456789");
        return value ? name + 1 + value : 0;
    }
    if (name < 4 || (!dashes && !islower((unsigned char)*at)) || at[name] == '(') return 0;
    length = name;
    bool yaml = !dashes && at[length] == ':' && at[length + 1] == ' ' && at[length + 2] != '-';
    if (yaml) length++;                                    /* "cutoff_len: 1024" */
    if (!dashes && strncmp(at + length, " = '", 4) == 0) { /* TOML */
        size_t value = strcspn(at + length + 4, " ,;)");
        return value ? length + 4 + value : 0;
    }
    if (yaml || at[length] == '=' || (dashes && at[length] == ' ' && at[length + 1] != '-')) {
        size_t value = strcspn(at + length + 1, " ,;)");
        if (!value) return dashes ? name : 0;
        bool word = yaml || at[length] == '=' || isdigit((unsigned char)at[length + 1]) || at[length + 1] == '\'';
        static const char *const words[] = {"True", "true", "fp8", "fp16", "bf16", "half", "none", "auto", "cpu"};
        for (size_t i = 0; i < sizeof words / sizeof *words && !word; i++)
            word = strlen(words[i]) == value && memcmp(at + length + 1, words[i], value) == 0;
        if (word) return length + 1 + value;
    }
    const char *after = at + length + strspn(at + length, " "); /* "--max_length halved" goes on as a sentence */
    return dashes && (!*after || strchr("-;(,)", *after)) ? length : 0;
}

/* A switch of the command line that a file of settings has: "--cache_latents" as "cache_latents = true". */
static bool is_switched_on(plim__text log, const char *option, size_t length) {
    if (length < 6 || option[0] != '-' || memchr(option, ' ', length) || memchr(option, '=', length)) return false;
    option += 2, length -= 2;
    for (const char *at = log.at; (size_t)(log.end - at) > length; at++) {
        at = memchr(at, option[0], (size_t)(log.end - at) - length);
        if (!at) return false;
        if (memcmp(at, option, length) != 0 || (at > log.at && is_name(at[-1]))) continue;
        const char *value = at + length;
        while (value < log.end && strchr("\"' =:", *value) && *value) value++;
        bool set = value > at + length && log.end - value >= 4 &&
                   (memcmp(value, "true", 4) == 0 || memcmp(value, "True", 4) == 0);
        if (set) return true;
    }
    return false;
}

/* Whether the option stands in the log: its letters, with "=", ":" or blanks where it has one of them. */
static bool stands_in(plim__text log, const char *option, size_t length) {
    for (const char *at = log.at; (size_t)(log.end - at) >= length; at++) {
        at = memchr(at, option[0], (size_t)(log.end - at) - length + 1);
        if (!at) return false;
        if (at > log.at && is_name(at[-1])) continue;
        /* what a program advises is no setting */
        if (plim__has_before(log.at, at, 60, "try ") || plim__has_before(log.at, at, 8, "use '")) continue;
        const char *a = at;
        size_t i = 0;
        while (i < length && a < log.end) {
            if (strchr("= :", option[i])) {
                const char *gap = a;
                while (i + 1 < length && strchr("= :'", option[i + 1])) i++;
                while (a < log.end && (*a == ' ' || *a == '=' || *a == ':' || *a == '"' || *a == '\'')) a++;
                if (a == gap) break;
                i++;
                continue;
            }
            if (option[i] == '\'' && *a == '"') {
                a++, i++;
                continue;
            }
            if (tolower((unsigned char)*a) != tolower((unsigned char)option[i])) break;
            a++, i++;
        }
        if (i == length && (a == log.end || !is_name(*a))) return true;
    }
    return false;
}

/* Options that help from their first value on: another value is no new advice. */
static bool is_turned(plim__text log, const char *option, size_t length) {
    static const char *const names[] = {"eval_accumulation_steps", "max_split_size_mb"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t name = strlen(names[i]);
        if (length > name && memcmp(option, names[i], name) == 0 && stands_in(log, names[i], name)) return true;
    }
    return false;
}

/* A variable at `at`: "NAME=value" in capitals. Returns its length, 0 for none. */
static size_t variable_length(const char *at) {
    size_t name = 0;
    while (isupper((unsigned char)at[name]) || isdigit((unsigned char)at[name]) || at[name] == '_') name++;
    return name >= 6 && at[name] == '=' ? name + strcspn(at + name, " ,;)") : 0;
}

/* A framework's or somebody's advice: "try setting NAME=value", "Use NAME=value to", "the variable NAME=value". */
static bool is_advice(plim__text log, const char *at) {
    static const char *const words[] = {"set ", "setting ", "use ", "using ", "try ", "variable ", "with ", "add "};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (plim__has_before(log.at, at, strlen(words[i]) + 2, words[i])) return true;
    return false;
}

/* Set for the process to the same value: "export NAME=value", 'environ["NAME"] = "value"', "NAME=value command". */
static bool is_exported(plim__text log, const char *variable, size_t length) {
    size_t name = strcspn(variable, "="), value = length - name - 1;
    for (const char *at = log.at; (size_t)(log.end - at) >= name; at++) {
        at = memchr(at, variable[0], (size_t)(log.end - at) - name + 1);
        if (!at) return false;
        if (memcmp(at, variable, name) != 0) continue;
        bool told = plim__has_before(log.at, at, 10, "environ[") || plim__has_before(log.at, at, 8, "export ");
        bool alone = at == log.at || strchr(" \n\t$`", at[-1]); /* "NAME=value command" */
        if (!told && (!alone || is_advice(log, at))) continue;
        const char *set = at + name;
        while (set < log.end && strchr("\"'] =", *set) && *set) set++;
        if ((size_t)(log.end - set) >= value && memcmp(set, variable + name + 1, value) == 0) return true;
    }
    return false;
}

static size_t take_out(char *setting, size_t at, size_t length) {
    size_t end = at + length;
    while (setting[end] == ' ' || setting[end] == ',') end++;
    static const char *const joins[] = {"with ", "and ", "or "};
    for (size_t i = 0; i < sizeof joins / sizeof *joins; i++) {
        size_t join = strlen(joins[i]);
        if (at > join && memcmp(setting + at - join, joins[i], join) == 0) at -= join;
    }
    memmove(setting + at, setting + end, strlen(setting + end) + 1);
    return at;
}

bool plim__settings_left(char *setting, plim__text log) {
    size_t options = 0, gone = 0;
    for (size_t at = 0; setting[at] && setting[at] != ';' && setting[at] != '(';) {
        bool begins = at == 0 || strchr(" ,", setting[at - 1]);
        size_t variable = begins ? variable_length(setting + at) : 0;
        size_t length = variable ? variable : begins ? option_length(setting + at) : 0;
        if (!length) {
            at++;
            continue;
        }
        options++;
        if (variable
                ? is_exported(log, setting + at, length)
                : length < OPTION && (stands_in(log, setting + at, length) || is_turned(log, setting + at, length) ||
                                      is_switched_on(log, setting + at, length))) {
            gone++;
            at = take_out(setting, at, length);
        } else {
            at += length;
        }
    }
    for (size_t end = strlen(setting); end && strchr(" ,", setting[end - 1]);) setting[--end] = 0;
    if (gone && strncmp(setting, "or ", 3) == 0) memmove(setting, setting + 3, strlen(setting + 3) + 1);
    return !options || gone < options;
}

/* --- cards ----------------------------------------------------------------------------------------------------- */

plim__cards plim__cards_read(plim__text log) {
    plim__cards cards = {.first_empty = -1};
    int64_t used, total;
    plim__text t = log;
    while (t.at < t.end && (t.at = memchr(t.at, '/', (size_t)(t.end - t.at)))) {
        const char *number = t.at;
        plim__text after = {t.at + 1, t.end};
        t.at++;
        while (number > log.at && (number[-1] == ' ' || isalnum((unsigned char)number[-1]))) number--;
        plim__text before = {number, t.end};
        if (!plim__take(&before, " %iMiB /", &used) || !plim__take(&after, " %iMiB", &total)) continue;
        if (total < 512 || used < 0 || used > total) continue;
        cards.full += used > total / 100 * 90;
        if (used < total / 10) {
            if (!cards.empty++) cards.first_empty = cards.count;
        }
        cards.count++;
    }
    return cards;
}
