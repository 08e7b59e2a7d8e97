/* plimsoll run: starts a command, passes its streams through, watches its memory, and explains if it dies. */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/run_report.h"
#include "cli/terminal.h"
#include "core/alloc.h"
#include "core/clock.h"
#include "core/file.h"
#include "core/json.h"

typedef struct runner {
    plim__args *args;
    plim_watch *watch;
    plim__terminal terminal;
    FILE *record;
    plim__file_writer json;
    plim__run_words words;  /* what the command printed, as far as it is about memory */
    atomic_bool line_start; /* the last byte on the terminal ended a line */
    atomic_bool meter_shown;
} runner;

static const char erase_line[] = "\r\033[K";

/* Every byte that the command writes comes by here, right before it goes out. */
static void tap(void *context, int stream, const char *data, size_t size) {
    runner *r = context;
    if (atomic_exchange(&r->meter_shown, false)) (void)!write(STDERR_FILENO, erase_line, sizeof erase_line - 1);
    if (size) atomic_store(&r->line_start, data[size - 1] == '\n' || data[size - 1] == '\r');
    plim__run_words_feed(&r->words, stream, data, size);
}

/* --- the meter ------------------------------------------------------------------------------------------------ */

static void show_meter(runner *r, bool asked) {
    plim_watch_sample sample;
    plim_limits limits;
    if (!plim_watch_get_sample(r->watch, &sample)) return;
    if (plim_watch_get_limits(r->watch, &limits, NULL) != PLIM_OK) return;
    bool in_place = r->terminal.is_terminal && !asked;
    if (in_place && !atomic_load(&r->line_start)) return; /* the command is in the middle of a line */
    plim__str line = {0};
    if (in_place)
        plim__str_add(&line, erase_line);
    else if (r->terminal.is_terminal && !atomic_load(&r->line_start))
        plim__str_add(&line, "\r\n");
    plim__run_meter(&line, &r->terminal, &sample, &limits);
    if (!in_place) plim__str_add(&line, r->terminal.is_terminal ? "\r\n" : "\n"); /* the terminal may be raw */
    if (in_place) atomic_store(&r->meter_shown, true);
    bool written = !line.failed && plim_watch_write(r->watch, STDERR_FILENO, line.data, line.length);
    if (in_place && !written) atomic_store(&r->meter_shown, false);
    plim__str_free(&line);
}

/* --- the run -------------------------------------------------------------------------------------------------- */

static void write_record_header(runner *r, char *const *argv) {
    json_t *command = json_array();
    for (size_t i = 0; argv[i]; i++) json_array_append_new(command, json_stringn_nocheck(argv[i], strlen(argv[i])));
    char when[32] = "";
    time_t now = time(NULL);
    struct tm utc;
    if (gmtime_r(&now, &utc)) strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &utc);
    json_t *header = json_pack("{s:i, s:o, s:s}", "plimsoll_record", 1, "command", command, "started", when);
    if (header) json_dumpf(header, r->record, JSON_COMPACT);
    fputc('\n', r->record);
    fflush(r->record);
    json_decref(header);
}

static int open_outputs(runner *r, char *const *argv) {
    const char *record = plim__args_get(r->args, "record"), *json = plim__args_get(r->args, "json");
    plim_error error;
    if (record) {
        r->record = fopen(record, "we");
        if (!r->record) return plim__say_failure(r->args, "cannot write '%s': %s", record, strerror(errno));
        write_record_header(r, argv);
    }
    if (json && plim__file_writer_open(&r->json, json, &error) != PLIM_OK) return plim__say_error(r->args, &error);
    return PLIM_EXIT_OK;
}

static void wait_for_end(runner *r) {
    bool meter = plim__args_has(r->args, "meter");
    double pause = !meter ? 3600 : r->terminal.is_terminal ? 1 : 10;
    double next = plim__clock_seconds() + (meter && r->terminal.is_terminal ? 0.3 : pause);
    for (;;) {
        double left = next - plim__clock_seconds();
        plim_watch_event event = plim_watch_wait(r->watch, left);
        if (event == PLIM_WATCH_DONE) break;
        if (event == PLIM_WATCH_REQUEST) show_meter(r, true);
        if (plim__clock_seconds() < next) continue;
        if (meter) show_meter(r, false);
        next = plim__clock_seconds() + pause;
    }
    if (atomic_exchange(&r->meter_shown, false)) (void)!write(STDERR_FILENO, erase_line, sizeof erase_line - 1);
}

/* What was found goes where it was asked for. Trouble here never changes the exit code, which is the command's. */
static void tell(runner *r, const plim_watch_result *findings, char *const *argv) {
    plim_error error;
    const plim__run_story story = {findings, &r->words, argv};
    bool failed = findings->exit_code != 0;
    if (failed || plim__args_has(r->args, "report")) {
        plim__str text = {0};
        if (!atomic_load(&r->line_start)) plim__str_addc(&text, '\n');
        plim__run_report(&text, &r->terminal, &story);
        fputs(plim__str_text(&text), stderr);
        plim__str_free(&text);
    }
    if (!r->json.path) return;
    json_t *object = plim__run_json(&story);
    plim__str text = {0};
    plim__json_print(&text, object, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
    plim__str_addc(&text, '\n');
    json_decref(object);
    if (text.failed)
        plim__say_failure(r->args, "out of memory");
    else if (plim__file_writer_write(&r->json, text.data, text.length, &error) != PLIM_OK ||
             plim__file_writer_commit(&r->json, &error) != PLIM_OK)
        plim__say_error(r->args, &error);
    plim__str_free(&text);
}

static int start(runner *r, char *const *argv) {
    plim_error error;
    int code = open_outputs(r, argv);
    if (code != PLIM_EXIT_OK) return code;
    plim__run_words_start(&r->words);
    const plim_watch_options options = {.output = tap, .context = r, .record = r->record};
    plim_status status = plim_watch_create(argv, &options, &r->watch, &error);
    if (status != PLIM_OK) {
        plim__say_error(r->args, &error);
        return status == PLIM_NOT_FOUND ? 127 : 126; /* as a shell would */
    }
    wait_for_end(r);
    const plim_watch_result *findings;
    if (plim_watch_finish(r->watch, &findings, &error) == PLIM_OK) {
        plim__run_words_finish(&r->words, findings);
        tell(r, findings, argv);
    } else {
        plim__say_error(r->args, &error); /* a command that cannot be watched still runs */
    }
    return plim_watch_exit_code(r->watch);
}

static int run(plim__args *args) {
    size_t count = plim__args_count(args);
    if (count == 0) return plim__say_usage(args, "no command was given");
    plim_watch_prepare();
    char **argv = plim__alloc_zero(count + 1, sizeof *argv);
    if (!argv) return plim__say_failure(args, "out of memory");
    for (size_t i = 0; i < count; i++)
        argv[i] = (char *)(uintptr_t)plim__args_at(args, i); /* execvp does not write to them */
    runner r = {.args = args, .terminal = plim__terminal_of(STDERR_FILENO)};
    atomic_init(&r.line_start, true);
    int code = start(&r, argv);
    plim_watch_free(r.watch);
    plim__run_words_free(&r.words);
    plim__file_writer_discard(&r.json);
    if (r.record) {
        bool bad = ferror(r.record) != 0;
        if (fclose(r.record) != 0 || bad) plim__say_failure(args, "cannot write '%s'", plim__args_get(args, "record"));
    }
    plim__free(argv);
    return code;
}

static const plim__option options[] = {
    {"json", 0, "FILE", "write what was found to FILE as one JSON object"},
    {"record", 0, "FILE", "keep the samples in FILE, one JSON object a line"},
    {"meter", 0, NULL, "show a line with the memory in use: each second on a terminal, else every 10 s"},
    {"report", 0, NULL, "tell about the memory also when the command succeeds"},
    {0},
};

const plim__command plim__command_run = {
    .name = "run",
    .usage = "[OPTION...] [--] COMMAND [ARGUMENT...]",
    .summary = "Run a command, watch its memory, and explain if it dies",
    .description =
        "The command's streams pass through unchanged; a terminal stays a terminal. Meanwhile the resident memory of "
        "all its\n"
        "processes, its cgroup, /dev/shm and GPUs are sampled, which takes less than 1 % of one core. SIGUSR1 prints "
        "one line.\n"
        "If the command fails, standard error gets the explanation: what its own output says about memory, how it died "
        "(the\n"
        "kernel for lack of memory, someone's SIGKILL, a full /dev/shm, an exit code) and how its memory went: a "
        "plateau, a\n"
        "cliff, or growth per minute and, where the output tells steps, per step.\n\n"
        "Leaves with the command's own exit code, 128 + N when signal N ended it, 127 when there is no such command "
        "and 126\n"
        "when it can't be executed.\n\n"
        "--record: the first line is {\"plimsoll_record\": 1, \"command\": [...], \"started\": \"...\"}, then a line a "
        "sample: t (seconds),\n"
        "rss, pss (0: not known), swap, cgroup, shm, available, gpu (bytes), processes, step (null: none was printed).",
    .options = options,
    .examples = "  plimsoll run -- python train.py\n"
                "  plimsoll run --meter --record memory.jsonl -- python train.py --epochs 3\n"
                "  plimsoll run --json found.json -- ./train || jq .death found.json",
    .run = run,
    .passthrough = true,
};
