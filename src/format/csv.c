/* Reading CSV rows. A row is taken into one buffer and cut there, so that cells need no memory of their own. */
#include "format/csv.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/alloc.h"
#include "core/error.h"

plim_status plim__csv_open(plim__csv *csv, const char *path, plim_error *error) {
    struct stat info;
    *csv = (plim__csv){.path = path};
    csv->stream = fopen(path, "rbe");
    if (!csv->stream) return plim__fail_errno(error, errno, "cannot open '%s'", path);
    if (fstat(fileno(csv->stream), &info) != 0) return plim__fail_errno(error, errno, "cannot read '%s'", path);
    if (!S_ISREG(info.st_mode)) return plim__fail(error, PLIM_INVALID, "'%s' is not a regular file", path);
    return PLIM_OK;
}

void plim__csv_close(plim__csv *csv) {
    if (csv->stream) fclose(csv->stream);
    plim__free(csv->cells);
    plim__free(csv->row);
    *csv = (plim__csv){0};
}

plim_status plim__csv_rewind(plim__csv *csv, plim_error *error) {
    if (fseeko(csv->stream, 0, SEEK_SET) != 0) return plim__fail_errno(error, errno, "cannot read '%s'", csv->path);
    csv->line = csv->lines = 0;
    return PLIM_OK;
}

/* --- a row ---------------------------------------------------------------------------------------------------- */

static plim_status add_byte(plim__csv *csv, int byte, plim_error *error) {
    if (csv->row_bytes == csv->row_capacity) {
        size_t larger = csv->row_capacity ? csv->row_capacity * 2 : 4096;
        if (larger > PLIM__CSV_MAX_ROW)
            return plim__fail(error, PLIM_CORRUPT,
                              "'%s' line %lld: a row of more than %d bytes (a quote that is never closed?)", csv->path,
                              (long long)csv->line, PLIM__CSV_MAX_ROW);
        char *grown = plim__realloc(csv->row, larger, 1);
        if (!grown) return plim__fail_memory(error, "a row of a CSV file", larger);
        csv->row = grown;
        csv->row_capacity = larger;
    }
    csv->row[csv->row_bytes++] = (char)byte;
    return PLIM_OK;
}

/* One row with its line breaks inside of quotes, as it is, then a zero byte. *ended: nothing was left. */
static plim_status read_row(plim__csv *csv, bool *ended, plim_error *error) {
    bool quoted = false;
    int c = 0;
    csv->row_bytes = 0;
    csv->line = csv->lines + 1;
    while ((c = getc_unlocked(csv->stream)) != EOF) {
        if (c == '"') quoted = !quoted;
        if (c == 0 && csv->lines == 0)
            return plim__fail(
                error, PLIM_CORRUPT,
                "'%s' has zero bytes in its first line: not a CSV file, or one in UTF-16 (spreadsheets call "
                "it Unicode), which 'iconv -f UTF-16 -t UTF-8' makes readable",
                csv->path);
        if (c == 0)
            return plim__fail(error, PLIM_CORRUPT, "'%s' line %lld has a zero byte: not a CSV file", csv->path,
                              (long long)csv->lines + 1);
        if (c == '\r') { /* alone or before \n: the end of a line */
            int after = getc_unlocked(csv->stream);
            if (after != '\n' && after != EOF) ungetc(after, csv->stream);
            c = '\n';
        }
        if (c == '\n') {
            csv->lines++;
            if (!quoted) break;
        }
        PLIM_TRY(add_byte(csv, c, error));
    }
    if (ferror(csv->stream)) return plim__fail_errno(error, errno, "cannot read '%s'", csv->path);
    if (quoted)
        return plim__fail(error, PLIM_CORRUPT, "'%s' line %lld: a quote is never closed", csv->path,
                          (long long)csv->line);
    if (c == EOF && csv->row_bytes > 0) csv->lines++;
    *ended = c == EOF && csv->row_bytes == 0;
    return add_byte(csv, 0, error);
}

static bool is_blank(const char *text) { return text[strspn(text, " \t")] == 0; }

static char find_delimiter(const char *row) {
    static const char candidates[] = {',', ';', '\t'};
    char best = ',';
    size_t most = 0;
    for (size_t i = 0; i < sizeof candidates; i++) {
        size_t count = 0;
        bool quoted = false;
        for (const char *c = row; *c; c++) {
            if (*c == '"') quoted = !quoted;
            count += !quoted && *c == candidates[i];
        }
        if (count > most) best = candidates[i];
        if (count > most) most = count;
    }
    return best;
}

static plim_status add_cell(plim__csv *csv, char *cell, plim_error *error) {
    if (csv->cell_count == csv->cell_capacity) {
        size_t larger = csv->cell_capacity ? csv->cell_capacity * 2 : 64;
        if (larger > PLIM__CSV_MAX_CELLS)
            return plim__fail(error, PLIM_UNSUPPORTED, "'%s' line %lld has more than %d cells", csv->path,
                              (long long)csv->line, PLIM__CSV_MAX_CELLS / 2);
        char **grown = plim__realloc(csv->cells, larger, sizeof *grown);
        if (!grown) return plim__fail_memory(error, "a row of a CSV file", larger * sizeof *grown);
        csv->cells = grown;
        csv->cell_capacity = larger;
    }
    csv->cells[csv->cell_count++] = cell;
    return PLIM_OK;
}

/* Unquotes the cell that begins at `at`, in place; gives the place after its delimiter, NULL after the last one. */
static char *cut_cell(char *at, char delimiter, char **cell) {
    while (*at == ' ' || (*at == '\t' && delimiter != '\t')) at++;
    char *write = at;
    *cell = at;
    bool quoted = false;
    for (; *at && (quoted || *at != delimiter); at++) {
        if (*at != '"')
            *write++ = *at;
        else if (quoted && at[1] == '"')
            *write++ = *at++;
        else
            quoted = !quoted;
    }
    char *next = *at ? at + 1 : NULL;
    while (write > *cell && (write[-1] == ' ' || write[-1] == '\t')) write--;
    *write = 0;
    return next;
}

plim_status plim__csv_next(plim__csv *csv, plim_error *error) {
    bool ended = false;
    csv->cell_count = 0;
    do {
        PLIM_TRY(read_row(csv, &ended, error));
        if (ended) return PLIM_OK;
    } while (is_blank(csv->row));
    char *at = csv->row, *cell;
    if (strncmp(at, "\xef\xbb\xbf", 3) == 0) at += 3; /* a byte-order mark */
    if (!csv->delimiter) csv->delimiter = find_delimiter(at);
    while (at) {
        at = cut_cell(at, csv->delimiter, &cell);
        PLIM_TRY(add_cell(csv, cell, error));
    }
    return PLIM_OK;
}

/* --- numbers -------------------------------------------------------------------------------------------------- */

/* strtod in the locale that everyone writes CSV in; made once, never freed. */
static locale_t plain_locale(void) {
    static locale_t made;
    locale_t found = __atomic_load_n(&made, __ATOMIC_ACQUIRE);
    if (found) return found;
    found = newlocale(LC_ALL_MASK, "C", NULL);
    __atomic_store_n(&made, found, __ATOMIC_RELEASE); /* "C" is static: two threads make the same one */
    return found;
}

/* Up to 15 digits and a small power of ten are exact in double arithmetic: one correctly rounded operation. */
static bool short_number(const char *text, double *number) {
    static const double powers[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
    bool negative = *text == '-';
    if (*text == '-' || *text == '+') text++;
    int64_t digits = 0;
    int count = 0, after = 0;
    for (; *text >= '0' && *text <= '9'; text++, count++) digits = count < 15 ? digits * 10 + (*text - '0') : digits;
    if (*text == '.')
        for (text++; *text >= '0' && *text <= '9'; text++, count++, after++)
            digits = count < 15 ? digits * 10 + (*text - '0') : digits;
    if (*text || count == 0 || count > 15) return false;
    *number = (double)digits / powers[after];
    if (negative) *number = -*number;
    return true;
}

bool plim__csv_number(const char *text, double *number) {
    if (short_number(text, number)) return true;
    char *end;
    locale_t plain = plain_locale();
    *number = plain ? strtod_l(text, &end, plain) : strtod(text, &end);
    return *text && *text != ' ' && !*end && isfinite(*number);
}

static const char numerals[] = "0123456789";

/* 1.234.567,5e3 with a decimal comma; groups have three digits each. */
static bool is_written(const char *t, char decimal) {
    char mark = decimal == ',' ? '.' : ',';
    if (*t == '-' || *t == '+') t++;
    size_t first = strspn(t, numerals);
    t += first;
    if (first == 0 || (*t == mark && first > 3)) return false;
    for (; *t == mark; t += 4)
        if (strspn(t + 1, numerals) != 3) return false;
    if (*t == decimal) {
        size_t after = strspn(t + 1, numerals);
        if (after == 0) return false;
        t += 1 + after;
    }
    if (*t == 'e' || *t == 'E') {
        t += t[1] == '-' || t[1] == '+' ? 2 : 1;
        if (!*t) return false;
        t += strspn(t, numerals);
    }
    return !*t;
}

bool plim__csv_number_with_comma(const char *text, char decimal) {
    return strchr(text, ',') && is_written(text, decimal);
}

bool plim__csv_number_in(const char *text, char decimal, double *number) {
    char plain[64], *write = plain, mark = decimal == ',' ? '.' : ',';
    if (!decimal || (!strchr(text, ',') && !strchr(text, '.'))) return plim__csv_number(text, number);
    if (!is_written(text, decimal) || strlen(text) >= sizeof plain) return false;
    for (; *text; text++)
        if (*text != mark) *write++ = *text == decimal ? '.' : *text;
    *write = 0;
    return plim__csv_number(plain, number);
}
