/* plimsoll report: memory over time as a page, a chart in the terminal, JSON, or another tool's format. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/activity.h"
#include "cli/command.h"
#include "cli/format.h"
#include "cli/terminal.h"
#include "core/alloc.h"

typedef struct job {
    plim__args *args;
    plim_report *report;
    plim_error error;
} job;

static int print_text(job *j) {
    plim__terminal terminal = plim__terminal_of(STDOUT_FILENO);
    plim_report_text_options options = {
        .width = terminal.width, .colour = terminal.colour, .unicode = terminal.unicode};
    if (terminal.is_terminal && terminal.height > 30) options.height = terminal.height / 2 - 2;
    char *text;
    if (plim_report_print(j->report, &options, &text, &j->error) != PLIM_OK)
        return plim__say_failure(j->args, "out of memory");
    int code = PLIM_EXIT_OK;
    if (fputs(text, stdout) < 0 || fflush(stdout) != 0)
        code = plim__say_failure(j->args, "cannot write standard output");
    plim_text_free(text);
    return code;
}

static int print_json(job *j) {
    char *text;
    if (plim_report_print_json(j->report, &text, &j->error) != PLIM_OK)
        return plim__say_failure(j->args, "out of memory");
    bool good = puts(text) >= 0 && fflush(stdout) == 0;
    plim_text_free(text);
    return good ? PLIM_EXIT_OK : plim__say_failure(j->args, "cannot write standard output");
}

/* A record that took hours is not to be replaced by its own page. */
static bool is_input(const job *j, const char *path) {
    struct stat in, out;
    return stat(plim__args_at(j->args, 0), &in) == 0 && stat(path, &out) == 0 && in.st_dev == out.st_dev &&
           in.st_ino == out.st_ino;
}

static int refuse_input(const job *j, const char *path) {
    return plim__say_failure(j->args, "'%s' is the file to read: give another with -o", path);
}

static int export_to(job *j, const char *format, const char *path) {
    if (is_input(j, path)) return refuse_input(j, path);
    if (plim_report_export(j->report, format, path, &j->error) != PLIM_OK) return plim__say_error(j->args, &j->error);
    if (!plim__args_json(j->args)) printf("wrote %s\n", plim__shown(path));
    return PLIM_EXIT_OK;
}

/* "runs/run.trace" gives "run.html" in the current folder. */
static char *page_path(const char *file) {
    const char *slash = strrchr(file, '/'), *name = slash ? slash + 1 : file, *dot = strrchr(name, '.');
    size_t length = dot && dot != name ? (size_t)(dot - name) : strlen(name);
    char *path = plim__alloc(length + sizeof ".html");
    if (path) snprintf(path, length + sizeof ".html", "%.*s.html", (int)length, name);
    return path;
}

static int write_page(job *j, const char *path) {
    if (is_input(j, path)) return refuse_input(j, path);
    plim_report_info info;
    if (plim_report_get_info(j->report, &info, &j->error) != PLIM_OK ||
        plim_report_save(j->report, path, &j->error) != PLIM_OK)
        return plim__say_error(j->args, &j->error);
    if (plim__args_json(j->args)) return PLIM_EXIT_OK;
    char peak[PLIM_BYTES_TEXT], events[PLIM_BYTES_TEXT];
    printf("%s: peak %s, %s events\n", plim__shown(path), plim_bytes_format(info.peak_bytes, peak),
           plim_bytes_group(info.events, events));
    if (*info.note) printf("note: %s\n", plim__shown(info.note));
    return PLIM_EXIT_OK;
}

static int write_default_page(job *j) {
    char *path = page_path(plim__args_at(j->args, 0));
    int code = path ? write_page(j, path) : plim__say_failure(j->args, "out of memory");
    plim__free(path);
    return code;
}

static int deliver(job *j) {
    const char *out = plim__args_get(j->args, "output"), *format = plim__args_get(j->args, "export");
    bool text = plim__args_has(j->args, "text"), json = plim__args_json(j->args);
    int code = PLIM_EXIT_OK;
    if (format)
        code = export_to(j, format, out);
    else if (out)
        code = write_page(j, out);
    else if (!text && !json)
        code = write_default_page(j);
    if (code == PLIM_EXIT_OK && text && !json) code = print_text(j);
    if (code == PLIM_EXIT_OK && json) code = print_json(j);
    return code;
}

static int run(plim__args *args) {
    const char *path = plim__args_at(args, 0), *format = plim__args_get(args, "export");
    int64_t device = -1;
    uint64_t budget = 0;
    if (!path || plim__args_count(args) > 1) return plim__say_usage(args, "give one file");
    if (!plim__args_int(args, "device", 0, 4095, &device) || !plim__args_bytes(args, "budget", &budget))
        return PLIM_EXIT_USAGE;
    if (format && strcmp(format, "torch-snapshot") != 0 && strcmp(format, "perfetto") != 0 &&
        strcmp(format, "csv") != 0)
        return plim__say_choice(args, "export", "torch-snapshot, perfetto or csv");
    if (format && !plim__args_has(args, "output")) return plim__say_usage(args, "--export needs -o FILE");
    job j = {.args = args};
    plim__activity_say(args, "reading %s", path);
    plim_status status = plim_report_load(path, (int)device, &j.report, &j.error);
    if (status == PLIM_OK) status = plim_report_set_budget(j.report, budget, &j.error);
    plim__activity_end();
    int code = status == PLIM_OK ? deliver(&j) : plim__say_error(args, &j.error);
    plim_report_free(j.report);
    return code;
}

static const plim__option options[] = {
    {"output", 'o', "FILE", "write the page (or the export) here; the default page is named after FILE"},
    {"text", 't', NULL, "draw a chart in the terminal and list the largest holders at the peak"},
    {"export", 0, "FORMAT", "write torch-snapshot, perfetto or csv to -o FILE"},
    {"device", 0, "N", "of a snapshot with several devices, show this one"},
    {"budget", 0, "BYTES", "draw this budget, and say when a leak would reach it"},
    {0},
};

const plim__command plim__command_report = {
    .name = "report",
    .usage = "FILE [-o OUT.html] [--text] [--export FORMAT -o OUT]",
    .summary = "Show memory over time: as a page, in the terminal, or for other tools",
    .description = "FILE is a trace that Plimsoll recorded, a PyTorch memory snapshot (.pickle), or a log with a\n"
                   "TensorFlow allocator dump; which one it is, is told by its content. The page is one file that\n"
                   "works offline.",
    .options = options,
    .examples = "  plimsoll report run.trace -o run.html\n"
                "  plimsoll report run.trace --text\n"
                "  plimsoll report snapshot.pickle --budget 24GB --json\n"
                "  plimsoll report run.trace --export torch-snapshot -o run.pickle",
    .run = run,
};
