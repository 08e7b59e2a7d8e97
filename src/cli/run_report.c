/* What `plimsoll run` says. */
#include "cli/run_report.h"

#include <stdio.h>
#include <string.h>

#include "cli/explanation.h"
#include "cli/limits_text.h"
#include "plimsoll/bytes.h"

/* --- the command's words -------------------------------------------------------------------------------------- */

void plim__run_words_start(plim__run_words *words) {
    *words = (plim__run_words){0};
    for (int i = 0; i < 2; i++)
        (void)plim_explainer_create(&words->explainers[i], NULL); /* without it the rest is still told */
}

void plim__run_words_feed(plim__run_words *words, int stream, const char *data, size_t size) {
    plim_explainer **explainer = &words->explainers[stream == 2];
    if (!*explainer || plim_explainer_feed(*explainer, data, size, NULL) == PLIM_OK) return;
    plim_explainer_free(*explainer);
    *explainer = NULL;
}

/* A shell writes "Killed" whoever did it; we know better. */
static bool just_says_killed(const plim_explanation *explanation) {
    return strcmp(explanation->framework, "kernel") == 0 && !explanation->process.known && !explanation->limit.known;
}

/* What the kernel writes to its log of such a death, also when that log may not be read: the same knowledge explains
 * it. */
static void kernels_words(plim__str *out, const plim_watch_result *findings) {
    unsigned long long kib = findings->peak / 1024, limit = findings->limits.cgroup_limit / 1024;
    bool group = findings->limits.cgroup_limit < findings->limits.memory_total;
    switch (findings->death) {
    case PLIM_DEATH_OOM_CGROUP:
    case PLIM_DEATH_OOM_CHILD:
    case PLIM_DEATH_OOM_MACHINE:
        if (group) plim__str_addf(out, "memory: usage %llukB, limit %llukB, failcnt 1\n", limit, limit);
        plim__str_addf(out,
                       "%s: Killed process 1 (command) total-vm:%llukB, anon-rss:%llukB, file-rss:0kB, shmem-rss:0kB\n",
                       group ? "Memory cgroup out of memory" : "Out of memory", kib, kib);
        break;
    case PLIM_DEATH_SHM:
        plim__str_add(out, "RuntimeError: DataLoader worker (pid 1) is killed by signal: Bus error.\n");
        break;
    default: break;
    }
}

static void explain_death(plim__run_words *words, const plim_watch_result *findings) {
    plim__str text = {0};
    const plim_explanation *explanation;
    kernels_words(&text, findings);
    if (text.length && !text.failed && plim_explainer_create(&words->kernels, NULL) == PLIM_OK &&
        plim_explainer_feed(words->kernels, text.data, text.length, NULL) == PLIM_OK &&
        plim_explainer_finish(words->kernels, &explanation, NULL) == PLIM_OK && explanation->found)
        words->explanation = explanation;
    plim__str_free(&text);
}

/* "Use plimsoll run" is no help to who did. */
static void drop_own_advice(plim__run_words *words) {
    plim_explanation *copy = &words->copy;
    *copy = *words->explanation;
    words->explanation = copy;
    int kept = 0;
    for (int i = 0; i < copy->fix_count; i++)
        if (!strstr(copy->fixes[i].setting, "plimsoll run")) copy->fixes[kept++] = copy->fixes[i];
    copy->fix_count = kept;
}

/* Advice that more room would help. */
static bool asks_for_room(const plim_fix *fix) {
    static const char *const words[] = {"Raise", "more memory", "higher limit", "Ask ", "Enlarge"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(fix->title, words[i])) return true;
    return false;
}

static void put_first(plim_explanation *x, const char *title, const char *setting) {
    int last = x->fix_count < PLIM_EXPLANATION_FIXES ? x->fix_count : PLIM_EXPLANATION_FIXES - 1;
    memmove(&x->fixes[1], &x->fixes[0], (size_t)last * sizeof *x->fixes);
    x->fix_count = last + 1;
    plim_fix *fix = &x->fixes[0];
    *fix = (plim_fix){.reaches = -1, .cost = 1};
    snprintf(fix->title, sizeof fix->title, "%s", title);
    snprintf(fix->setting, sizeof fix->setting, "%s", setting);
}

static void add_first_evidence(plim_explanation *x, const char *text) {
    int last = x->evidence_count < PLIM_EXPLANATION_EVIDENCE ? x->evidence_count : PLIM_EXPLANATION_EVIDENCE - 1;
    memmove(x->evidence[1], x->evidence[0], (size_t)last * sizeof x->evidence[0]);
    snprintf(x->evidence[0], sizeof x->evidence[0], "%s", text);
    x->evidence_count = last + 1;
}

/* What was measured outweighs what the last line says: memory that grew all along is a leak, whichever limit it met at
 * last, and a higher one only delays it. */
static void believe_growth(plim_explanation *x, const plim_watch_result *findings) {
    char text[256], rate[PLIM_BYTES_TEXT], grown[PLIM_BYTES_TEXT];
    if (findings->curve != PLIM_CURVE_GROWTH || !x->found) return;
    int kept = 0;
    for (int i = 0; i < x->fix_count; i++)
        if (!asks_for_room(&x->fixes[i])) x->fixes[kept++] = x->fixes[i];
    x->fix_count = kept;
    plim_bytes_format((uint64_t)(findings->bytes_per_second * 60), rate);
    snprintf(x->headline, sizeof x->headline, "A leak: memory grew by %s per minute until there was no more", rate);
    snprintf(x->recurrence, sizeof x->recurrence, "it will happen again, later with a higher limit");
    if (findings->grower[0]) {
        plim_bytes_format(findings->grower_bytes, grown);
        snprintf(text, sizeof text, "process %ld (%s) grew by %s while it was watched", (long)findings->grower_pid,
                 findings->grower, grown);
        add_first_evidence(x, text);
    }
    add_first_evidence(x, findings->curve_sentence);
    bool steps = findings->per_step_known;
    put_first(x,
              steps ? "Find what each step keeps: a higher limit would only delay it"
                    : "Find what is never released: a higher limit would only delay it",
              "lists and caches that grow, losses kept with their graph (total += loss.item()); Python: "
              "tracemalloc.start(25), "
              "and compare two snapshots some steps apart");
    x->confidence = 0.9;
}

void plim__run_words_finish(plim__run_words *words, const plim_watch_result *findings) {
    for (int i = 0; i < 2; i++) { /* errors go to standard error: what is found there counts more */
        const plim_explanation *explanation;
        if (!words->explainers[i] || plim_explainer_finish(words->explainers[i], &explanation, NULL) != PLIM_OK)
            continue;
        if (explanation->found && !just_says_killed(explanation)) words->explanation = explanation;
    }
    if (!words->explanation && findings->by_memory) explain_death(words, findings);
    if (words->explanation) drop_own_advice(words);
    if (words->explanation) believe_growth(&words->copy, findings);
}

void plim__run_words_free(plim__run_words *words) {
    for (int i = 0; i < 2; i++) plim_explainer_free(words->explainers[i]);
    plim_explainer_free(words->kernels);
    *words = (plim__run_words){0};
}

/* --- the meter ------------------------------------------------------------------------------------------------ */

void plim__run_meter(plim__str *out, const plim__terminal *terminal, const plim_watch_sample *sample,
                     const plim_limits *limits) {
    char a[PLIM_BYTES_TEXT], b[PLIM_BYTES_TEXT], time[PLIM_SECONDS_TEXT];
    uint64_t ceiling = limits->ceiling;
    plim__seconds_format(sample->seconds, time, sizeof time);
    plim__terminal_addf(out, terminal, PLIM_STYLE_BOLD, "plimsoll");
    plim__str_addf(out, " %s  ", time);
    double share = ceiling ? (double)sample->rss / (double)ceiling : 0;
    plim__style style = share > 0.9 ? PLIM_STYLE_RED : share > 0.7 ? PLIM_STYLE_YELLOW : PLIM_STYLE_GREEN;
    plim__terminal_bar(out, terminal, &(plim__bar_part){(double)sample->rss, style, 0}, 1, (double)ceiling, 16);
    plim__str_addf(out, " %s of %s (%s)", plim_bytes_format(sample->rss, a), plim_bytes_format(ceiling, b),
                   plim_limiter_name(limits->ceiling_limiter));
    if (sample->swap) plim__str_addf(out, "  swap %s", plim_bytes_format(sample->swap, a));
    if (sample->shm) plim__str_addf(out, "  shm %s", plim_bytes_format(sample->shm, a));
    if (sample->gpu) plim__str_addf(out, "  gpu %s", plim_bytes_format(sample->gpu, a));
    if (sample->processes > 1) plim__str_addf(out, "  %u processes", sample->processes);
    if (sample->step >= 0) plim__str_addf(out, "  step %lld", (long long)sample->step);
}

/* --- the report ----------------------------------------------------------------------------------------------- */

static void add_death(plim__str *out, const plim__terminal *terminal, const plim_watch_result *findings) {
    plim__terminal_addf(out, terminal, PLIM_STYLE_BOLD, "plimsoll:");
    plim__str_addc(out, ' ');
    plim__style style = findings->by_memory ? PLIM_STYLE_RED : PLIM_STYLE_PLAIN;
    plim__terminal_addf(out, terminal, style, "%s", findings->sentence);
    plim__str_addc(out, '\n');
    for (int i = 0; i < findings->evidence_count; i++) plim__str_addf(out, "  - %s\n", findings->evidence[i]);
}

/* Limits that no kernel kills for: allocations just fail. */
static void add_ulimits(plim__str *out, const plim_limits *limits) {
    char text[PLIM_BYTES_TEXT];
    if (limits->rlimit_as != PLIM_NO_LIMIT)
        plim__str_addf(out, "  - ulimit -v allowed it %s of address space\n",
                       plim_bytes_format(limits->rlimit_as, text));
    if (limits->rlimit_data != PLIM_NO_LIMIT)
        plim__str_addf(out, "  - ulimit -d allowed it %s of data\n", plim_bytes_format(limits->rlimit_data, text));
}

static void add_curve(plim__str *out, const plim__terminal *terminal, const plim_watch_result *findings) {
    char time[PLIM_SECONDS_TEXT];
    plim__str_addf(out, "  - %s", findings->curve_sentence);
    double left = findings->seconds_to_limit;
    if (left > 0) {
        plim__seconds_format(left, time, sizeof time);
        plim__str_addf(out, " (at that rate the limit is reached in %s)", time);
    }
    plim__str_addc(out, '\n');
    bool worth = findings->by_memory || findings->curve == PLIM_CURVE_GROWTH || findings->curve == PLIM_CURVE_CLIFF;
    if (findings->count < 2 || (!worth && findings->exit_code != 0)) return;
    plim__str_addc(out, '\n');
    plim__terminal_chart(
        out, terminal,
        &(plim__chart){.x = findings->times,
                       .y = findings->bytes,
                       .count = findings->count,
                       .width = terminal->width < 100 ? terminal->width : 100,
                       .limit = findings->limits.ceiling == PLIM_NO_LIMIT ? 0 : (double)findings->limits.ceiling,
                       .limit_label = plim_limiter_name(findings->limits.ceiling_limiter),
                       .style = PLIM_STYLE_CYAN});
}

void plim__run_report(plim__str *out, const plim__terminal *terminal, const plim__run_story *story) {
    const plim_explanation *explanation = story->words->explanation;
    if (explanation) {
        plim__explanation_print(out, terminal, explanation);
        plim__str_addc(out, '\n');
    }
    add_death(out, terminal, story->findings);
    add_ulimits(out, &story->findings->limits);
    add_curve(out, terminal, story->findings);
}

/* --- JSON ----------------------------------------------------------------------------------------------------- */

static json_t *bytes_or_null(uint64_t bytes) {
    return bytes == PLIM_NO_LIMIT ? json_null() : json_integer((json_int_t)bytes);
}

static json_t *death_json(const plim_watch_result *findings) {
    json_t *evidence = json_array();
    for (int i = 0; i < findings->evidence_count; i++)
        json_array_append_new(evidence, json_string(findings->evidence[i]));
    return json_pack("{s:s, s:b, s:b, s:s, s:o}", "kind", plim_death_name(findings->death), "memory",
                     findings->by_memory, "certain", findings->certain, "sentence", findings->sentence, "evidence",
                     evidence);
}

static json_t *curve_json(const plim_watch_result *f) {
    bool growth = f->curve == PLIM_CURVE_GROWTH, cliff = f->curve == PLIM_CURVE_CLIFF;
    double left = f->seconds_to_limit;
    return json_pack("{s:s, s:b, s:s, s:o, s:o, s:o, s:o, s:o, s:f, s:f}", "kind", plim_curve_name(f->curve), "leak",
                     growth, "sentence", f->curve_sentence, "bytes_per_minute",
                     growth ? json_real(f->bytes_per_second * 60) : json_null(), "bytes_per_step",
                     growth && f->per_step_known ? json_real(f->bytes_per_step) : json_null(), "jump_bytes",
                     cliff ? json_integer((json_int_t)f->jump_bytes) : json_null(), "jump_seconds",
                     cliff ? json_real(f->jump_seconds) : json_null(), "seconds_to_limit",
                     left > 0 ? json_real(left) : json_null(), "from_seconds", f->from, "to_seconds", f->to);
}

json_t *plim__run_json(const plim__run_story *story) {
    const plim_watch_result *findings = story->findings;
    json_t *command = json_array();
    for (size_t i = 0; story->argv[i]; i++) json_array_append_new(command, json_string_nocheck(story->argv[i]));
    const plim_explanation *explanation = story->words->explanation;
    return json_pack(
        "{s:o, s:i, s:o, s:f, s:o, s:o, s:{s:I, s:b, s:I, s:I, s:I, s:I, s:i}, s:o, s:o, s:o, s:{s:i, s:f}}", "command",
        command, "exit_code", findings->exit_code, "signal",
        findings->signal ? json_string(findings->signal_name) : json_null(), "seconds", findings->seconds, "death",
        death_json(findings), "curve", curve_json(findings), "peak", "rss", (json_int_t)findings->peak, "sampled",
        findings->peak_sampled, "pss", (json_int_t)findings->pss_peak, "swap", (json_int_t)findings->swap_peak, "shm",
        (json_int_t)findings->shm_peak, "gpu", (json_int_t)findings->gpu_peak, "processes",
        (int)findings->processes_peak, "limit", bytes_or_null(findings->limits.ceiling), "limits",
        plim__limits_json(&findings->limits), "explanation",
        explanation ? plim__explanation_json(explanation) : json_null(), "watch", "samples", (int)findings->count,
        "cpu_seconds", findings->watch_cpu_seconds);
}
