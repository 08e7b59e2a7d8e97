/* Tables for people. */
#include "cli/table_text.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "cli/terminal.h"
#include "core/str.h"

enum { FEW = 64, MOST_CLASSES = 100 };

enum { DATE_NUMBERS = 6 }; /* that a date becomes */

static bool is_number(const plim_table_column *c) { return c->numbers > 0 && c->texts == 0; }
static bool is_date(const plim_table_column *c) { return c->dates > 0 && c->dates == c->texts && c->numbers == 0; }
/* Texts that differ in nearly every row say nothing that can be learned from one row to the next. */
static bool is_label(const plim_table_column *c) {
    return c->texts > 3 && !is_date(c) && (c->different < 0 || c->different > FEW || c->different == c->texts);
}

static void print_column(const plim_table_column *c, const char *mark) {
    plim__str line = {0};
    plim__str_addf(&line, "  %-20s ", c->name);
    if (is_number(c))
        plim__str_addf(&line, "%-9s %.6g to %.6g, mean %.6g", c->whole ? "whole" : "number", c->least, c->most,
                       c->mean);
    else if (is_date(c))
        plim__str_addf(&line, "%-9s %s%lld different", "date", c->different < 0 ? "more than " : "",
                       (long long)(c->different < 0 ? 1024 : c->different));
    else if (c->numbers > 0)
        plim__str_addf(&line, "%-9s %lld numbers and %lld texts", "mixed", (long long)c->numbers, (long long)c->texts);
    else if (is_label(c))
        plim__str_addf(&line, "%-9s %s%lld different texts", "text", c->different < 0 ? "more than " : "",
                       (long long)(c->different < 0 ? 1024 : c->different));
    else
        plim__str_addf(&line, "%-9s %lld different", "category", (long long)c->different);
    for (int i = 0; !is_number(c) && i < 3 && c->examples[i]; i++)
        plim__str_addf(&line, "%s%.20s", i ? ", " : ": ", c->examples[i]);
    if (c->missing) plim__str_addf(&line, ", %lld missing", (long long)c->missing);
    plim__terminal_line(stdout, "%s%s", plim__str_text(&line), mark);
    plim__str_free(&line);
}

static bool is_target_name(const char *name) {
    static const char *const words[] = {"target", "label", "class", "y", "species", "outcome", "price", "survived"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcasecmp(name, words[i]) == 0) return true;
    return false;
}

static size_t find_target(const plim_table *table, const char *wanted) {
    plim_table_column c;
    size_t count = 0, named = SIZE_MAX;
    for (; plim_table_get_column(table, count, &c); count++)
        if (wanted ? strcmp(c.name, wanted) == 0 : is_target_name(c.name)) named = count;
    return named != SIZE_MAX ? named : count - 1;
}

static bool is_class(const plim_table_column *c) {
    if (c->texts > 0) return c->different > 0 && c->different <= MOST_CLASSES;
    return c->whole && c->least >= 0 && c->most < MOST_CLASSES && c->different > 0 && c->different <= MOST_CLASSES;
}

/* For a shell; names with a quote in them are left as they are. */
static void add_word(plim__str *out, const char *word) {
    bool plain =
        *word && strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-,") == strlen(word);
    plim__str_addf(out, plain ? "%s" : "'%s'", word);
}

static void print_commands(const plim_table *table, const char *path, size_t target) {
    plim_table_column c, goal;
    plim__str drop = {0}, mixed = {0}, name = {0};
    long long features = 0, gaps = 0;
    plim_table_get_column(table, target, &goal);
    for (size_t i = 0; plim_table_get_column(table, i, &c); i++) {
        if (i == target) continue;
        bool both = c.numbers > 0 && c.texts > 0;
        if (is_label(&c) || c.numbers + c.texts == 0) {
            plim__str_addf(&drop, "%s%s", drop.length ? "," : "", c.name);
            continue;
        }
        if (both) plim__str_addf(&mixed, "%s%s", mixed.length ? "," : "", c.name);
        features += is_date(&c) ? DATE_NUMBERS : c.texts > 0 ? c.different : 1;
        gaps += c.missing;
    }
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path, *dot = strrchr(base, '.');
    plim__str_addf(&name, "%.*s", (int)(dot ? dot - base : (ptrdiff_t)strlen(base)), base);
    bool class = is_class(&goal);
    long long classes = !class ? 1 : goal.texts > 0 ? (long long)goal.different : (long long)goal.most + 1;
    plim__str line = {0};
    add_word(&line, path);
    plim__str_add(&line, " --target ");
    add_word(&line, goal.name);
    if (drop.length) plim__str_add(&line, " --drop "), add_word(&line, plim__str_text(&drop));
    if (mixed.length) plim__str_add(&line, " --categories "), add_word(&line, plim__str_text(&mixed));
    if (gaps) plim__str_add(&line, " --missing mean");
    printf("next:\n  plimsoll zoo tabular --features %lld --classes %lld -o %s.onnx\n", features, classes,
           plim__str_text(&name));
    printf("  plimsoll train %s.onnx --data %s --normalise%s --validation 0.2 --epochs 20 --out %s-trained.onnx\n",
           plim__str_text(&name), plim__str_text(&line), class ? "" : " --loss mse", plim__str_text(&name));
    plim__str_free(&drop);
    plim__str_free(&mixed);
    plim__str_free(&name);
    plim__str_free(&line);
}

void plim__table_describe(const plim_table *table, const char *path, const char *target) {
    plim_table_column c;
    size_t goal = find_target(table, target);
    printf("%s: a table of %lld rows\n", path, (long long)plim_table_rows(table));
    for (size_t i = 0; plim_table_get_column(table, i, &c); i++)
        print_column(&c, i == goal ? target ? ", to be predicted" : ", to be predicted?" : "");
    print_commands(table, path, goal);
}

json_t *plim__table_json(const plim_table *table) {
    json_t *list = json_array();
    plim_table_column c;
    for (size_t i = 0; plim_table_get_column(table, i, &c); i++) {
        json_t *name = json_string(c.name);
        json_array_append_new(list, json_pack("{s:o, s:I, s:I, s:I, s:I, s:b, s:f, s:f, s:f}", "name",
                                              name ? name : json_string("?"), "numbers", (json_int_t)c.numbers, "texts",
                                              (json_int_t)c.texts, "missing", (json_int_t)c.missing, "different",
                                              (json_int_t)c.different, "whole", c.whole && c.numbers > 0, "least",
                                              c.least, "most", c.most, "mean", c.mean));
    }
    return list;
}
