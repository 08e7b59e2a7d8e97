/* The curve of a search for a learning rate. */
#include "cli/lr_plot.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/terminal.h"
#include "core/error.h"

#define FIRST 10 /* losses that are not judged */
#define DELAY 9  /* updates of a hundred by which the mean follows: keep / (1 - keep) */

void plim__lr_curve_begin(plim__lr_curve *c, int64_t updates) {
    c->count = 0;
    c->delay = updates > 100 / DELAY ? (size_t)(updates * DELAY / 100) : 1;
    c->keep = (double)c->delay / (double)(c->delay + 1);
}

void plim__lr_curve_add(plim__lr_curve *c, double rate, double loss) {
    if (c->count == PLIM__LR_MOST) return;
    size_t n = c->count++;
    double before = n > 0 ? c->smooth[n - 1] * (1 - pow(c->keep, (double)n)) : 0;
    c->rates[n] = rate;
    c->losses[n] = loss;
    c->smooth[n] = (c->keep * before + (1 - c->keep) * loss) / (1 - pow(c->keep, (double)n + 1));
    if (n == 0 || c->smooth[n] < c->best) c->best = c->smooth[n];
}

bool plim__lr_curve_diverges(const plim__lr_curve *c) {
    return c->count > FIRST && c->best > 0 && c->smooth[c->count - 1] > 4 * c->best;
}

double plim__lr_curve_find(const plim__lr_curve *c) {
    size_t lowest = 0, best = 0;
    double steepest = 0;
    for (size_t i = 0; i < c->count; i++)
        if (c->smooth[i] < c->smooth[lowest]) lowest = i;
    for (size_t i = 2; i + 2 <= lowest; i++) { /* over four steps: single ones are noise */
        double slope = (c->smooth[i + 2] - c->smooth[i - 2]) / log(c->rates[i + 2] / c->rates[i - 2]);
        if (slope < steepest) {
            steepest = slope;
            best = i;
        }
    }
    return best == 0 ? 0 : c->rates[best > c->delay ? best - c->delay : 0];
}

/* The range that is drawn: from the least to twice the first loss at most, so that the end does not flatten the rest. */
static void find_range(const plim__lr_curve *c, double *low, double *high) {
    *low = *high = c->count ? c->smooth[0] : 0;
    for (size_t i = 0; i < c->count; i++) {
        *low = fmin(*low, c->smooth[i]);
        *high = fmax(*high, c->smooth[i]);
    }
    if (c->count && *high > 2 * c->smooth[0] - *low && *low < c->smooth[0]) *high = 2 * c->smooth[0] - *low;
    if (!(*high > *low)) *high = *low + 1;
}

/* 0..1 along the axis of rates. */
static double across(const plim__lr_curve *c, double rate) {
    double span = log(c->rates[c->count - 1] / c->rates[0]);
    return span > 0 ? log(rate / c->rates[0]) / span : 0;
}

/* A smoothed loss is that of the rates some updates before it; where there are too few, it is drawn as it is. */
static size_t first_drawn(const plim__lr_curve *c) { return c->count > 2 * c->delay ? c->delay : 0; }
static double rate_of(const plim__lr_curve *c, size_t i) { return c->rates[i - first_drawn(c)]; }

void plim__lr_curve_print(const plim__lr_curve *c, double found) {
    enum { ROWS = 10, MOST = 100 };
    plim__terminal terminal = plim__terminal_of(1);
    int width = terminal.width - 12 < 20 ? 20 : terminal.width - 12 > MOST ? MOST : terminal.width - 12;
    char cells[ROWS][MOST + 1];
    double low, high;
    if (c->count < 2) return;
    find_range(c, &low, &high);
    memset(cells, ' ', sizeof cells);
    for (size_t i = first_drawn(c); i < c->count; i++) {
        int x = (int)(across(c, rate_of(c, i)) * (width - 1));
        double y = fmin(1, fmax(0, (c->smooth[i] - low) / (high - low)));
        cells[ROWS - 1 - (int)(y * (ROWS - 1) + 0.5)][x] = '*';
    }
    if (found > 0)
        for (int row = 0, x = (int)(across(c, found) * (width - 1)); row < ROWS; row++)
            if (cells[row][x] == ' ') cells[row][x] = '|';
    for (int row = 0; row < ROWS; row++) {
        int length = width;
        while (length > 0 && cells[row][length - 1] == ' ') length--;
        if (row == 0 || row == ROWS - 1)
            printf("%9.4g %.*s\n", row == 0 ? high : low, length, cells[row]);
        else
            printf("%9s %.*s\n", row == ROWS / 2 ? "loss" : "", length, cells[row]);
    }
    printf("%9s %-*.1e%*s%*.1e\n", "", (width - 13) / 2, c->rates[0], 13, "learning rate",
           width - 13 - (width - 13) / 2, c->rates[c->count - 1]);
}

static void draw(const plim__lr_curve *c, double found, FILE *out) {
    const double left = 70, top = 30, width = 640, height = 300;
    double low, high;
    find_range(c, &low, &high);
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"740\" "
          "height=\"390\" "
          "viewBox=\"0 0 740 390\" font-family=\"sans-serif\" font-size=\"12\">\n<title>Learning rates - "
          "Plimsoll</title>\n"
          "<rect width=\"740\" height=\"390\" fill=\"white\"/>\n",
          out);
    fprintf(out, "<path d=\"M%g,%g v%g h%g\" fill=\"none\" stroke=\"black\"/>\n", left, top, height, width);
    for (int i = 0; i <= 4; i++) {
        double y = top + height - height * i / 4;
        fprintf(out, "<text x=\"%g\" y=\"%g\" text-anchor=\"end\">%.4g</text>\n", left - 8, y + 4,
                low + (high - low) * i / 4);
    }
    for (int power = -12; power <= 4; power++) {
        double rate = pow(10, power), x = left + width * across(c, rate);
        if (rate < c->rates[0] * 0.999 || rate > c->rates[c->count - 1] * 1.001) continue;
        fprintf(out,
                "<path d=\"M%g,%g v5\" stroke=\"black\"/><text x=\"%g\" y=\"%g\" text-anchor=\"middle\">1e%d</text>\n",
                x, top + height, x, top + height + 20, power);
    }
    fprintf(out, "<text x=\"%g\" y=\"%g\" text-anchor=\"middle\">learning rate</text>\n", left + width / 2,
            top + height + 45);
    fprintf(out,
            "<text x=\"%g\" y=\"%g\">loss, smoothed</text>\n<polyline fill=\"none\" stroke=\"#1f5fa8\" "
            "stroke-width=\"2\" points=\"",
            left, top - 10);
    for (size_t i = first_drawn(c); i < c->count; i++)
        fprintf(out, "%.1f,%.1f ", left + width * across(c, rate_of(c, i)),
                top + height - height * fmin(1, fmax(0, (c->smooth[i] - low) / (high - low))));
    fputs("\"/>\n", out);
    if (found > 0)
        fprintf(out,
                "<path d=\"M%g,%g v%g\" stroke=\"#b03030\" stroke-dasharray=\"4 3\"/><text x=\"%g\" y=\"%g\" "
                "fill=\"#b03030\">%.1e</text>\n",
                left + width * across(c, found), top, height, left + width * across(c, found) + 6, top + 12, found);
    fputs("</svg>\n", out);
}

plim_status plim__lr_curve_save(const plim__lr_curve *c, double found, const char *path, plim_error *error) {
    if (c->count < 2) return plim__fail(error, PLIM_NUMERIC, "there are too few losses to draw");
    FILE *file = fopen(path, "we");
    if (!file) return plim__fail_errno(error, errno, "cannot write '%s'", path);
    draw(c, found, file);
    bool bad = ferror(file) != 0;
    return fclose(file) != 0 || bad ? plim__fail_errno(error, errno, "cannot write '%s'", path) : PLIM_OK;
}
