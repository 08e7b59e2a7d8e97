/* Tables for people. */
#include "cli/table_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "cli/format.h"
#include "cli/terminal.h"
#include "core/str.h"

enum { FEW = 64, MOST_CLASSES = 100 };

enum { DATE_NUMBERS = 6 }; /* that a date becomes */

static bool is_number(const plim_table_column *c) { return c->numbers > 0 && c->texts == 0; }
/* Numbers that --decimal makes of texts. */
static bool is_written(const plim_table_column *c) { return c->commas > 0 && c->commas == c->texts; }
static bool is_date(const plim_table_column *c) { return c->dates > 0 && c->dates == c->texts && c->numbers == 0; }
/* Texts that differ in nearly every row say nothing that can be learned from one row to the next. */
static bool is_label(const plim_table_column *c) {
    return c->texts > 3 && !is_date(c) && !is_written(c) &&
           (c->different < 0 || c->different > FEW || c->different == c->texts);
}

/* Whole numbers one after the other, each once: they count the rows. */
static bool is_number_of_row(const plim_table *table, const plim_table_column *c) {
    int64_t rows = plim_table_rows(table);
    return is_number(c) && c->whole && rows >= 20 && c->numbers == rows && (c->different < 0 || c->different == rows) &&
           c->most - c->least == (double)(rows - 1) && c->mean == (c->least + c->most) / 2;
}

/* Texts as a reader can tell them apart: in quotes, without line ends, not too long. */
static void add_examples(plim__str *line, const plim_table_column *c) {
    for (int i = 0; i < 3 && c->examples[i]; i++) {
        plim__str text = {0};
        plim__str_add(&text, plim__shown(c->examples[i]));
        plim__terminal_cut_middle(&text, 23);
        plim__str_addf(line, "%s'%s'", i ? ", " : ": ", plim__str_text(&text));
        plim__str_free(&text);
    }
}

/* One of the cells is a mistake, most likely: which. */
static void add_mixed(plim__str *line, const plim_table_column *c) {
    plim__str text = {0};
    plim__str_add(&text, plim__shown(c->text));
    plim__terminal_cut_middle(&text, 23);
    plim__str_addf(line, " %-9s %lld number%s and %lld text%s, the first '%s' in line %lld", "mixed",
                   (long long)c->numbers, c->numbers == 1 ? "" : "s", (long long)c->texts, c->texts == 1 ? "" : "s",
                   plim__str_text(&text), (long long)c->text_line);
    plim__str_free(&text);
}

static void print_column(const plim_table *table, const plim_table_column *c, const char *mark) {
    plim__str line = {0};
    const char *more = c->different < 0 ? "more than " : "";
    long long different = (long long)(c->different < 0 ? 1024 : c->different);
    plim__str_add(&line, "  ");
    plim__terminal_pad(&line, plim__shown(c->name), 20);
    if (is_number(c))
        plim__str_addf(&line, " %-9s %.6g to %.6g, mean %.6g%s", c->whole ? "whole" : "number", c->least, c->most,
                       c->mean, is_number_of_row(table, c) ? ", counts the rows" : "");
    else if (is_date(c))
        plim__str_addf(&line, " %-9s %s%lld different", "date", more, different);
    else if (is_written(c))
        plim__str_addf(&line, " %-9s with commas", "number");
    else if (c->numbers > 0)
        add_mixed(&line, c);
    else if (c->texts == 0)
        plim__str_addf(&line, " %-9s no value", "empty");
    else
        plim__str_addf(&line, " %-9s %s%lld different%s", is_label(c) ? "text" : "category", more, different,
                       is_label(c) ? " texts" : "");
    if (!is_number(c) && (c->numbers == 0 || is_written(c))) add_examples(&line, c);
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

static size_t count_columns(const plim_table *table) {
    plim_table_column c;
    size_t count = 0;
    while (plim_table_get_column(table, count, &c)) count++;
    return count;
}

/* Whether "a,b,-1" has the column, by its name or number, as the options of data sets do. */
static bool lists(const char *list, const plim_table *table, size_t at) {
    plim_table_column c;
    char number[24], from_end[24];
    if (!list || !plim_table_get_column(table, at, &c)) return false;
    if (strcmp(list, c.name) == 0) return true;
    snprintf(number, sizeof number, "%zu", at);
    snprintf(from_end, sizeof from_end, "-%zu", count_columns(table) - at);
    for (const char *word = list;; word++) {
        size_t length = strcspn(word, ",");
        const char *const names[] = {c.name, number, from_end};
        for (size_t i = 0; i < 3; i++)
            if (strlen(names[i]) == length && strncmp(word, names[i], length) == 0) return true;
        word += length;
        if (!*word) return false;
    }
}

/* The column to propose where no --target is given. */
static size_t guess_target(const plim_table *table) {
    plim_table_column c;
    size_t count = 0, named = SIZE_MAX;
    for (; plim_table_get_column(table, count, &c); count++)
        if (is_target_name(c.name)) named = count;
    return named != SIZE_MAX ? named : count - 1;
}

static bool is_class(const plim_table_column *c) {
    if (is_written(c)) return false;
    if (c->texts > 0) return c->different > 0 && c->different <= MOST_CLASSES;
    return c->whole && c->least >= 0 && c->most < MOST_CLASSES && c->different > 0 && c->different <= MOST_CLASSES;
}

/* As one word of a shell. */
static void add_word(plim__str *out, const char *option, const char *word) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-,";
    plim__str_add(out, option);
    if (*word && strspn(word, plain) == strlen(word)) {
        plim__str_add(out, word);
        return;
    }
    plim__str_addc(out, '\'');
    for (; *word; word++) plim__str_addf(out, *word == '\'' ? "'\\''" : "%c", *word);
    plim__str_addc(out, '\'');
}

/* To a list of columns: by its number where its name would be two names there. */
static void add_name(plim__str *list, const char *name, size_t at) {
    if (list->length) plim__str_addc(list, ',');
    if (strchr(name, ','))
        plim__str_addf(list, "%zu", at);
    else
        plim__str_add(list, name);
}

/* What the columns come to with the options that were given, and those that they still ask for. */
struct proposal {
    long long features, gaps, targets, classes, embedded, rows; /* `rows` of an embedding */
    plim__str target, drop, categories;
    bool commas, decimal_comma; /* numbers have some; one of them is no mark of thousands */
    double size;                /* of the largest number to be predicted */
};

static void note_commas(struct proposal *p, const plim_table_column *c) {
    p->commas |= is_written(c);
    p->decimal_comma |= is_written(c) && c->grouped < c->commas;
}

static void propose_input(struct proposal *p, const plim_table *table, size_t at, bool embed, bool category) {
    plim_table_column column, *c = &column;
    plim_table_get_column(table, at, c);
    if ((is_label(c) && !embed && !category) || c->numbers + c->texts == 0 || is_number_of_row(table, c)) {
        add_name(&p->drop, c->name, at);
        return;
    }
    bool mixed = c->numbers > 0 && c->texts > 0 && !is_written(c);
    note_commas(p, c);
    if (category || (mixed && !embed)) add_name(&p->categories, c->name, at);
    p->gaps += c->missing;
    if (embed) {
        p->embedded++;
        p->rows += c->different + 1;
    } else {
        p->features += category || mixed                ? c->different
                       : is_date(c)                     ? DATE_NUMBERS
                       : c->texts > 0 && !is_written(c) ? c->different
                                                        : 1;
    }
}

/* The largest number of a column; of numbers with commas, what their digits before the decimal mark come to. */
static double size_of(const plim_table_column *c) {
    double size = fmax(fabs(c->least), fabs(c->most));
    for (int i = 0; is_written(c) && i < 3 && c->examples[i]; i++) {
        double value = 0;
        char mark = c->grouped < c->commas ? ',' : '.';
        for (const char *at = c->examples[i]; *at && *at != mark; at++)
            if (*at >= '0' && *at <= '9') value = 10 * value + (*at - '0');
        size = fmax(size, value);
    }
    return size;
}

/* A network's answers begin near 0, and an update of Adam moves each weight by the learning rate: large numbers are not reached in
 * some hundred updates at the default. */
static const char *rate_for(double size) { return size > 1000 ? " --lr 0.1" : size > 10 ? " --lr 0.01" : ""; }

static void propose_target(struct proposal *p, const plim_table_column *c, size_t at) {
    add_name(&p->target, c->name, at);
    note_commas(p, c);
    p->size = fmax(p->size, size_of(c));
    p->classes = p->targets++ || !is_class(c) ? 0 : c->texts > 0 ? (long long)c->different : (long long)c->most + 1;
}

static struct proposal propose(const plim_table *table, const plim__args *args, size_t guess) {
    struct proposal p = {0};
    plim_table_column c;
    const char *target = plim__args_get(args, "target"), *columns = plim__args_get(args, "columns"),
               *drop = plim__args_get(args, "drop"), *embed = plim__args_get(args, "embed"),
               *categories = plim__args_get(args, "categories");
    if (drop) plim__str_add(&p.drop, drop);
    for (size_t i = 0; plim_table_get_column(table, i, &c); i++) {
        if (target ? lists(target, table, i) : i == guess)
            propose_target(&p, &c, i);
        else if (!lists(drop, table, i) && (!columns || lists(columns, table, i)))
            propose_input(&p, table, i, lists(embed, table, i), lists(categories, table, i));
    }
    return p;
}

static void print_commands(struct proposal *p, const plim__args *args, const char *path) {
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path, *dot = strrchr(base, '.');
    plim__str name = {0}, line = {0}, model = {0};
    plim__str_addf(&name, "%.*s", (int)(dot ? dot - base : (ptrdiff_t)strlen(base)), base);
    plim__str_addf(&model, "%s.onnx", plim__str_text(&name));
    plim__str_addf(&line, "next:\n  plimsoll zoo tabular --features %lld", p->features);
    if (p->embedded) plim__str_addf(&line, " --seq %lld --vocab %lld", p->embedded, p->rows);
    plim__str_addf(&line, " --classes %lld", p->classes ? p->classes : p->targets);
    add_word(&line, " -o ", plim__str_text(&model));
    add_word(&line, "\n  plimsoll train ", plim__str_text(&model));
    add_word(&line, " --data ", path);
    add_word(&line, " --target ", plim__str_text(&p->target));
    if (plim__args_has(args, "columns")) add_word(&line, " --columns ", plim__args_get(args, "columns"));
    if (p->drop.length) add_word(&line, " --drop ", plim__str_text(&p->drop));
    if (p->categories.length) add_word(&line, " --categories ", plim__str_text(&p->categories));
    if (p->embedded) add_word(&line, " --embed ", plim__args_get(args, "embed"));
    const char *missing = plim__args_get(args, "missing"), *decimal = plim__args_get(args, "decimal");
    if (p->commas || decimal)
        plim__str_addf(&line, " --decimal %s", decimal ? decimal : p->decimal_comma ? "comma" : "point");
    if (p->gaps || missing) plim__str_addf(&line, " --missing %s", missing ? missing : "mean");
    plim__str_addf(&line, " --normalise%s%s --validation 0.2 --epochs 20", p->classes ? "" : " --loss mse",
                   p->classes ? "" : rate_for(p->size));
    plim__str_clear(&model);
    plim__str_addf(&model, "%s-trained.onnx", plim__str_text(&name));
    add_word(&line, " --out ", plim__str_text(&model));
    plim__terminal_commands(stdout, plim__str_text(&line));
    plim__str_free(&name);
    plim__str_free(&line);
    plim__str_free(&model);
}

void plim__table_describe(const plim_table *table, const char *path, const plim__args *args) {
    plim_table_column c;
    const char *target = plim__args_get(args, "target");
    size_t guess = guess_target(table);
    struct proposal p = propose(table, args, guess);
    printf("%s: a table of %lld rows\n", plim__shown(path), (long long)plim_table_rows(table));
    for (size_t i = 0; plim_table_get_column(table, i, &c); i++)
        print_column(table, &c,
                     target       ? lists(target, table, i) ? ", to be predicted" : ""
                     : i == guess ? ", to be predicted?"
                                  : "");
    if (p.targets && p.features + p.embedded > 0) print_commands(&p, args, path);
    plim__str_free(&p.target);
    plim__str_free(&p.drop);
    plim__str_free(&p.categories);
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
