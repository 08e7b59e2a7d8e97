/* What `plimsoll run` says. */
#include "cli/run_report.h"

#include <string.h>

#include "cli/limits_text.h"
#include "plimsoll/bytes.h"

void plim__run_words_start(plim__run_words *words) { words->unused = 0; }
void plim__run_words_feed(plim__run_words *words, int stream, const char *data, size_t size) {
    (void)words, (void)stream, (void)data, (void)size;
}
void plim__run_words_finish(plim__run_words *words) { (void)words; }
void plim__run_words_free(plim__run_words *words) { (void)words; }

/* --- the meter ------------------------------------------------------------------------------------ */

void plim__run_meter(plim__str *out, const plim__terminal *terminal, const plim__sample *sample,
                     const plim__limits *limits) {
    char a[PLIM_BYTES_TEXT], b[PLIM_BYTES_TEXT], time[PLIM_SECONDS_TEXT];
    plim__limiter limiter;
    uint64_t ceiling = plim__limits_ceiling(limits, &limiter);
    plim__seconds_format(sample->seconds, time, sizeof time);
    plim__terminal_addf(out, terminal, PLIM_STYLE_BOLD, "plimsoll");
    plim__str_addf(out, " %s  ", time);
    double share = ceiling ? (double)sample->rss / (double)ceiling : 0;
    plim__style style = share > 0.9 ? PLIM_STYLE_RED : share > 0.7 ? PLIM_STYLE_YELLOW : PLIM_STYLE_GREEN;
    plim__terminal_bar(out, terminal, &(plim__bar_part){(double)sample->rss, style, 0}, 1, (double)ceiling, 16);
    plim__str_addf(out, " %s of %s (%s)", plim_bytes_format(sample->rss, a), plim_bytes_format(ceiling, b),
                   plim__limiter_word(limiter));
    if (sample->swap) plim__str_addf(out, "  swap %s", plim_bytes_format(sample->swap, a));
    if (sample->shm) plim__str_addf(out, "  shm %s", plim_bytes_format(sample->shm, a));
    if (sample->gpu) plim__str_addf(out, "  gpu %s", plim_bytes_format(sample->gpu, a));
    if (sample->processes > 1) plim__str_addf(out, "  %u processes", sample->processes);
    if (sample->step >= 0) plim__str_addf(out, "  step %lld", (long long)sample->step);
}

/* --- the report ----------------------------------------------------------------------------------- */

static void add_death(plim__str *out, const plim__terminal *terminal, const plim__findings *findings) {
    plim__terminal_addf(out, terminal, PLIM_STYLE_BOLD, "plimsoll:");
    plim__str_addc(out, ' ');
    plim__style style = findings->death.memory ? PLIM_STYLE_RED : PLIM_STYLE_PLAIN;
    plim__terminal_addf(out, terminal, style, "%s", findings->death.sentence);
    plim__str_addc(out, '\n');
    for (size_t i = 0; i < findings->death.evidence_count; i++)
        plim__str_addf(out, "  - %s\n", findings->death.evidence[i]);
}

static void add_curve(plim__str *out, const plim__terminal *terminal, const plim__findings *findings) {
    char text[256], time[PLIM_SECONDS_TEXT];
    plim__findings_curve_text(findings, text, sizeof text);
    plim__str_addf(out, "  - %s", text);
    double left = plim__findings_seconds_left(findings);
    if (left > 0) {
        plim__seconds_format(left, time, sizeof time);
        plim__str_addf(out, " (at that rate the limit is reached in %s)", time);
    }
    plim__str_addc(out, '\n');
    bool worth =
        findings->death.memory || findings->curve.kind == PLIM_CURVE_GROWTH || findings->curve.kind == PLIM_CURVE_CLIFF;
    if (findings->count < 2 || (!worth && findings->leave_with != 0)) return;
    plim__limiter limiter = findings->ceiling_limiter;
    plim__str_addc(out, '\n');
    plim__terminal_chart(out, terminal,
                         &(plim__chart){.x = findings->x,
                                        .y = findings->peaks,
                                        .count = findings->count,
                                        .width = terminal->width < 100 ? terminal->width : 100,
                                        .limit = findings->ceiling == PLIM_NO_LIMIT ? 0 : (double)findings->ceiling,
                                        .limit_label = plim__limiter_word(limiter),
                                        .style = PLIM_STYLE_CYAN});
}

void plim__run_report(plim__str *out, const plim__terminal *terminal, const plim__run_story *story) {
    add_death(out, terminal, story->findings);
    add_curve(out, terminal, story->findings);
}

/* --- JSON ------------------------------------------------------------------------------------------ */

static json_t *bytes_or_null(uint64_t bytes) {
    return bytes == PLIM_NO_LIMIT ? json_null() : json_integer((json_int_t)bytes);
}

static json_t *death_json(const plim__death *death) {
    json_t *evidence = json_array();
    for (size_t i = 0; i < death->evidence_count; i++) json_array_append_new(evidence, json_string(death->evidence[i]));
    return json_pack("{s:s, s:b, s:b, s:s, s:o}", "kind", plim__death_word(death->kind), "memory", death->memory,
                     "certain", death->certain, "sentence", death->sentence, "evidence", evidence);
}

static json_t *curve_json(const plim__findings *findings) {
    const plim__curve *curve = &findings->curve;
    char text[256];
    plim__findings_curve_text(findings, text, sizeof text);
    bool growth = curve->kind == PLIM_CURVE_GROWTH, cliff = curve->kind == PLIM_CURVE_CLIFF;
    double left = plim__findings_seconds_left(findings);
    return json_pack("{s:s, s:b, s:s, s:o, s:o, s:o, s:o, s:o, s:f, s:f}", "kind", plim__curve_word(curve->kind),
                     "leak", growth, "sentence", text, "bytes_per_minute",
                     growth ? json_real(curve->bytes_per_second * 60) : json_null(), "bytes_per_step",
                     growth && curve->per_step_known ? json_real(curve->bytes_per_step) : json_null(), "jump_bytes",
                     cliff ? json_integer((json_int_t)curve->jump_bytes) : json_null(), "jump_seconds",
                     cliff ? json_real(curve->jump_seconds) : json_null(), "seconds_to_limit",
                     left > 0 ? json_real(left) : json_null(), "from_seconds", curve->from, "to_seconds", curve->to);
}

json_t *plim__run_json(const plim__run_story *story) {
    const plim__findings *findings = story->findings;
    json_t *command = json_array();
    for (size_t i = 0; story->argv[i]; i++) json_array_append_new(command, json_string_nocheck(story->argv[i]));
    char name[32] = "";
    if (findings->signal) plim__signal_name(findings->signal, name, sizeof name);
    return json_pack(
        "{s:o, s:i, s:o, s:f, s:o, s:o, s:{s:I, s:b, s:I, s:I, s:I, s:I, s:i}, s:o, s:o, s:{s:i, s:f}}", "command",
        command, "exit_code", findings->leave_with, "signal", findings->signal ? json_string(name) : json_null(),
        "seconds", findings->seconds, "death", death_json(&findings->death), "curve", curve_json(findings), "peak",
        "rss", (json_int_t)findings->peak, "sampled", findings->peak_was_sampled, "pss", (json_int_t)findings->pss_most,
        "swap", (json_int_t)findings->swap_most, "shm", (json_int_t)findings->shm_most, "gpu",
        (json_int_t)findings->gpu_most, "processes", (int)findings->processes_most, "limit",
        bytes_or_null(findings->ceiling), "limits", plim__limits_json(&findings->limits), "watch", "samples",
        (int)findings->count, "cpu_seconds", findings->watch_cpu_seconds);
}
