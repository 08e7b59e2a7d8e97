/* plimsoll top: who holds the memory, live or once; above it what the machine really allows. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "cli/activity.h"
#include "cli/command.h"
#include "cli/limits_text.h"
#include "cli/terminal.h"
#include "core/clock.h"
#include "plimsoll/bytes.h"

typedef struct viewer {
    plim__args *args;
    plim__terminal terminal;
    plim_process_table *table;
    plim_limits limits;
    plim_process_key key;
    int64_t rows; /* 0: as many as fit */
    double interval, start;
} viewer;

/* --- for a person --------------------------------------------------------------------------------------------- */

static void add_gpus(plim__str *out, viewer *v, bool tell) {
    plim_process_gpu gpu;
    for (size_t i = 0; i < plim_process_table_gpu_count(v->table); i++) {
        if (!plim_process_table_get_gpu(v->table, i, &gpu)) continue;
        char a[PLIM_BYTES_TEXT], b[PLIM_BYTES_TEXT], name[32];
        snprintf(name, sizeof name, "GPU %zu", i);
        plim__terminal_addf(out, &v->terminal, PLIM_STYLE_BOLD, "%-9s", name);
        plim__terminal_bar(out, &v->terminal, &(plim__bar_part){(double)gpu.used, PLIM_STYLE_MAGENTA, 0}, 1,
                           (double)gpu.total, plim__limits_bar(&v->terminal));
        plim__str_addf(out, " %10s of %10s  %s\n", plim_bytes_format(gpu.used, a), plim_bytes_format(gpu.total, b),
                       gpu.name);
    }
    const char *note = plim_process_table_gpu_note(v->table);
    if (*note && tell) plim__terminal_addf(out, &v->terminal, PLIM_STYLE_DIM, "GPUs are left out: %s.\n", note);
}

static const char *cell(bool known, uint64_t bytes, char buffer[PLIM_BYTES_TEXT]) {
    if (!known) return "-";
    return bytes ? plim_bytes_format(bytes, buffer) : "0";
}

static bool has_gpus(const viewer *v) { return !*plim_process_table_gpu_note(v->table); }

static const char *growth_cell(const plim_process *row, char *buffer, size_t size) {
    char text[PLIM_BYTES_TEXT];
    double growth = row->growth;
    if (!row->growth_known) return "-";
    if (growth > -1024 && growth < 1024) return "0";
    snprintf(buffer, size, "%c%s", growth < 0 ? '-' : '+',
             plim_bytes_format((uint64_t)(growth < 0 ? -growth : growth), text));
    return buffer;
}

/* Columns in their order, each with the width of a terminal from which it is shown. */
static const struct {
    const char *text;
    int width, least;
    plim_process_key key;
} columns[] = {{"PID", 7, 0, PLIM_PROCESS_PID},
               {"RSS", 10, 0, PLIM_PROCESS_RSS},
               {"PSS", 10, 60, PLIM_PROCESS_PSS},
               {"SWAP", 10, 80, PLIM_PROCESS_SWAP},
               {"SHARED", 10, 100, PLIM_PROCESS_SHARED},
               {"GPU", 10, 100, PLIM_PROCESS_GPU},
               {"GROWTH/min", 11, 80, PLIM_PROCESS_GROWTH},
               {"PROCESS", 0, 0, PLIM_PROCESS_NAME}};
#define COLUMNS (sizeof columns / sizeof *columns)

/* What is sorted by is always there. */
static bool is_shown(const viewer *v, size_t column) {
    return !v->terminal.is_terminal || v->terminal.width >= columns[column].least || columns[column].key == v->key;
}

static void add_row(plim__str *out, const viewer *v, const plim_process *p) {
    char a[PLIM_BYTES_TEXT], b[PLIM_BYTES_TEXT], c[PLIM_BYTES_TEXT], d[PLIM_BYTES_TEXT], e[PLIM_BYTES_TEXT],
        f[PLIM_BYTES_TEXT + 1];
    char pid[24];
    snprintf(pid, sizeof pid, "%ld", (long)p->pid);
    const char *const cells[COLUMNS] = {pid,
                                        cell(true, p->rss, a),
                                        cell(p->detailed, p->pss, b),
                                        cell(p->detailed, p->swap, c),
                                        cell(p->detailed || p->shared, p->shared, d),
                                        cell(has_gpus(v), p->gpu, e),
                                        growth_cell(p, f, sizeof f),
                                        p->command};
    plim__str line = {0};
    for (size_t i = 0; i < COLUMNS; i++)
        if (is_shown(v, i))
            plim__str_addf(&line, "%s%*s", i == 0 ? "" : columns[i].width ? " " : "  ", columns[i].width, cells[i]);
    int width = v->terminal.is_terminal ? v->terminal.width : 120;
    plim__str_addf(out, "%.*s\n", width, plim__str_text(&line));
    plim__str_free(&line);
}

/* The heading of each column; the one sorted by is marked. */
static void add_heading(plim__str *out, const viewer *v) {
    for (size_t i = 0; i < COLUMNS; i++) {
        char text[32];
        if (!is_shown(v, i)) continue;
        snprintf(text, sizeof text, "%s%s", columns[i].key == v->key ? "*" : "", columns[i].text);
        plim__terminal_addf(out, &v->terminal, PLIM_STYLE_BOLD, "%s%*s",
                            i == 0             ? ""
                            : columns[i].width ? " "
                                               : "  ",
                            columns[i].width, text);
    }
    plim__str_addc(out, '\n');
}

static size_t lines_of(const plim__str *text) {
    size_t lines = 0;
    for (size_t i = 0; i < text->length; i++) lines += text->data[i] == '\n';
    return lines;
}

/* Lines that are too long for the terminal are broken between words. */
static void add_lines(plim__str *out, const viewer *v, const plim__str *text) {
    for (const char *from = plim__str_text(text), *end; *from; from = end + 1) {
        plim__str line = {0};
        end = strchr(from, '\n');
        if (!end) break;
        plim__str_addn(&line, from, (size_t)(end - from));
        bool fits =
            !v->terminal.is_terminal || plim__terminal_columns(plim__str_text(&line)) <= (size_t)v->terminal.width;
        if (fits)
            plim__str_add(out, plim__str_text(&line));
        else
            plim__terminal_wrap(out, plim__str_text(&line), v->terminal.width, 9);
        plim__str_addc(out, '\n');
        plim__str_free(&line);
    }
}

static size_t rows_once(const viewer *v) { return v->rows ? (size_t)v->rows : 20; }

static void draw(plim__str *out, viewer *v, bool live) {
    plim__str limits = {0};
    plim__limits_text(&limits, &v->terminal, &v->limits);
    add_gpus(&limits, v, !live || plim__clock_seconds() - v->start < 10);
    add_lines(out, v, &limits);
    plim__str_free(&limits);
    plim__str_addc(out, '\n');
    add_heading(out, v);
    size_t rows = live ? (size_t)v->rows : rows_once(v), taken = lines_of(out) + 1;
    if (live && (!rows || taken + rows > (size_t)v->terminal.height))
        rows = (size_t)v->terminal.height > taken ? (size_t)v->terminal.height - taken : 0;
    size_t count = plim_process_table_count(v->table);
    for (size_t i = 0; i < count && i < rows; i++) {
        plim_process process;
        plim_process_table_get(v->table, i, &process);
        add_row(out, v, &process);
    }
    if (live)
        plim__terminal_addf(out, &v->terminal, PLIM_STYLE_DIM,
                            v->terminal.width < 78
                                ? "q quit  sort: r p s h g w i n"
                                : "q quit  sort: r rss  p pss  s swap  h shared  g gpu  w growth  i pid  n name");
    else if (count > rows)
        plim__str_addf(out, "and %zu more (--rows N shows them)\n", count - rows);
}

/* --- for a script --------------------------------------------------------------------------------------------- */

static json_t *row_json(const plim_process *p, bool gpus) {
    char name[sizeof p->name];
    for (size_t i = 0; i < sizeof name; i++)
        name[i] = p->name[i] < 0 || p->name[i] == 127 ? '?' : p->name[i]; /* JSON is UTF-8 */
    return json_pack("{s:i, s:i, s:s, s:s, s:I, s:o, s:o, s:o, s:o, s:o}", "pid", p->pid, "parent", p->parent, "name",
                     name, "command", p->command, "rss", (json_int_t)p->rss, "pss",
                     p->detailed ? json_integer((json_int_t)p->pss) : json_null(), "swap",
                     p->detailed ? json_integer((json_int_t)p->swap) : json_null(), "shared",
                     p->detailed || p->shared ? json_integer((json_int_t)p->shared) : json_null(), "gpu",
                     gpus ? json_integer((json_int_t)p->gpu) : json_null(), "growth_bytes_per_minute",
                     p->growth_known ? json_real(p->growth) : json_null());
}

static json_t *table_json(viewer *v) {
    json_t *processes = json_array(), *gpus = json_array();
    for (size_t i = 0; i < plim_process_table_count(v->table) && (v->rows == 0 || i < (size_t)v->rows); i++) {
        plim_process process;
        plim_process_table_get(v->table, i, &process);
        json_array_append_new(processes, row_json(&process, has_gpus(v)));
    }
    plim_process_gpu gpu;
    for (size_t i = 0; i < plim_process_table_gpu_count(v->table); i++)
        if (plim_process_table_get_gpu(v->table, i, &gpu))
            json_array_append_new(gpus, json_pack("{s:i, s:s, s:I, s:I}", "index", (int)i, "name", gpu.name, "total",
                                                  (json_int_t)gpu.total, "used", (json_int_t)gpu.used));
    return json_pack("{s:o, s:o, s:o, s:s, s:o}", "limits", plim__limits_json(&v->limits), "gpus", gpus, "gpu_note",
                     has_gpus(v) ? json_null() : json_string(plim_process_table_gpu_note(v->table)), "sorted_by",
                     plim_process_key_name(v->key), "processes", processes);
}

/* --- once ----------------------------------------------------------------------------------------------------- */

static plim_status update(viewer *v, size_t detailed, plim_error *error) {
    plim_status status = plim_limits_read(0, &v->limits, error);
    if (status != PLIM_OK) return status;
    return plim_process_table_update(v->table, v->key, detailed, error);
}

static int show_once(viewer *v) {
    plim_error error;
    struct timespec pause = {(time_t)v->interval, (long)((v->interval - (double)(time_t)v->interval) * 1e9)};
    /* growth needs two readings */
    plim__activity_say(v->args, "watching processes for %g s, to see which grow", v->interval);
    plim_status status = update(v, 0, &error);
    if (status == PLIM_OK) nanosleep(&pause, NULL);
    /* details of what is shown: reading those of all processes can take a second */
    bool largest = v->key == PLIM_PROCESS_RSS && (v->rows || !plim__args_json(v->args));
    if (status == PLIM_OK) status = update(v, largest ? rows_once(v) : SIZE_MAX, &error);
    plim__activity_end();
    if (status != PLIM_OK) return plim__say_error(v->args, &error);
    if (plim__args_json(v->args)) return plim__say_json(v->args, table_json(v));
    plim__str out = {0};
    draw(&out, v, false);
    bool good = !out.failed && fputs(plim__str_text(&out), stdout) >= 0 && fflush(stdout) == 0;
    plim__str_free(&out);
    return good ? PLIM_EXIT_OK : plim__say_failure(v->args, "cannot write standard output");
}

/* --- live ----------------------------------------------------------------------------------------------------- */

static volatile sig_atomic_t asked_to_end, asked_to_stop;

static void on_signal(int number) {
    if (number == SIGTSTP)
        asked_to_stop = 1;
    else if (number != SIGWINCH)
        asked_to_end = 1;
}

static void enter_screen(struct termios *before, bool keys) {
    if (keys) {
        struct termios raw = *before;
        raw.c_lflag &= (tcflag_t) ~(ICANON | ECHO);
        tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
    }
    fputs("\033[?1049h\033[?25l", stdout); /* the other screen, no cursor */
}

static void leave_screen(const struct termios *before, bool keys) {
    fputs("\033[?25h\033[?1049l", stdout);
    fflush(stdout);
    if (keys) tcsetattr(STDIN_FILENO, TCSADRAIN, before);
}

/* False to quit. */
static bool take_key(viewer *v, char key) {
    static const char keys[PLIM_PROCESS_KEYS + 1] = "rpshgwin";
    const char *at = key ? strchr(keys, key) : NULL;
    if (at) v->key = (plim_process_key)(at - keys);
    return key != 'q' && key != 'Q' && key != 3;
}

static bool wait_for_key(viewer *v, bool keys) {
    double until = plim__clock_seconds() + v->interval;
    struct pollfd input = {.fd = keys ? STDIN_FILENO : -1, .events = POLLIN};
    for (double left; (left = until - plim__clock_seconds()) > 0;) {
        int ready = poll(&input, 1, (int)(left * 1000) + 1);
        if (ready < 0) return true; /* a signal: see which */
        if (ready == 0) continue;
        char key;
        if (read(STDIN_FILENO, &key, 1) != 1) return false; /* the terminal is gone */
        return take_key(v, key);
    }
    return true;
}

static void show_frame(viewer *v) {
    plim__str out = {0};
    v->terminal = plim__terminal_of(STDOUT_FILENO); /* the window may have a new size */
    draw(&out, v, true);
    fputs("\033[H", stdout);
    for (const char *line = plim__str_text(&out); *line;) { /* each line clears what was right of it: no flicker */
        size_t length = strcspn(line, "\n");
        printf("%.*s\033[K%s", (int)length, line, line[length] ? "\n" : "");
        line += length + (line[length] == '\n');
    }
    fputs("\033[J", stdout);
    fflush(stdout);
    plim__str_free(&out);
}

static int show_live(viewer *v) {
    struct termios before = {0};
    bool keys = isatty(STDIN_FILENO) && tcgetattr(STDIN_FILENO, &before) == 0;
    const int caught[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH};
    struct sigaction action = {.sa_handler = on_signal};
    for (size_t i = 0; i < sizeof caught / sizeof *caught; i++) sigaction(caught[i], &action, NULL);
    enter_screen(&before, keys);
    plim_error error = {.status = PLIM_OK};
    plim_status status = PLIM_OK;
    while (!asked_to_end && (status = update(v, (size_t)v->terminal.height, &error)) == PLIM_OK) {
        show_frame(v);
        if (!wait_for_key(v, keys)) break;
        if (asked_to_stop) {
            asked_to_stop = 0;
            leave_screen(&before, keys);
            raise(SIGSTOP);
            enter_screen(&before, keys);
        }
    }
    leave_screen(&before, keys);
    return status == PLIM_OK ? PLIM_EXIT_OK : plim__say_error(v->args, &error);
}

/* --- the command ---------------------------------------------------------------------------------------------- */

static bool read_options(viewer *v) {
    const char *sort = plim__args_get(v->args, "sort");
    if (sort) {
        int key = 0;
        while (key < PLIM_PROCESS_KEYS && strcmp(sort, plim_process_key_name((plim_process_key)key)) != 0) key++;
        if (key == PLIM_PROCESS_KEYS) {
            plim__say_choice(v->args, "sort", "rss, pss, swap, shared, gpu, growth, pid or name");
            return false;
        }
        v->key = (plim_process_key)key;
    }
    if (!plim__args_int(v->args, "rows", 1, 1000000, &v->rows) || !plim__args_double(v->args, "interval", &v->interval))
        return false;
    if (!(v->interval >= 0.1 && v->interval <= 3600)) {
        plim__say_usage(v->args, "--interval %s: expected 0.1 to 3600 seconds", plim__args_get(v->args, "interval"));
        return false;
    }
    return true;
}

static int run(plim__args *args) {
    viewer v = {.args = args, .terminal = plim__terminal_of(STDOUT_FILENO), .start = plim__clock_seconds()};
    bool once = plim__args_has(args, "once") || plim__args_json(args) || !v.terminal.is_terminal;
    v.interval = once ? 0.5 : 2;
    if (!read_options(&v)) return PLIM_EXIT_USAGE;
    if (plim__args_count(args) > 0)
        return plim__say_usage(args, "'%s' is one argument too many", plim__args_at(args, 0));
    plim_error error;
    if (plim_process_table_create(&v.table, &error) != PLIM_OK) return plim__say_error(args, &error);
    int code = once ? show_once(&v) : show_live(&v);
    plim_process_table_free(v.table);
    return code;
}

static const plim__option options[] = {
    {"once", 0, NULL, "print the table once and leave; so it is when standard output is no terminal"},
    {"sort", 's', "KEY", "sort by rss, pss, swap, shared, gpu, growth, pid or name"},
    {"rows", 'n', "N", "show at most N processes"},
    {"interval", 'i', "SECONDS", "read again after SECONDS (2; with --once 0.5, to see the growth)"},
    {0},
};

const plim__command plim__command_top = {
    .name = "top",
    .usage = "[OPTION...]",
    .summary = "Show who holds the memory: host, cgroup, /dev/shm, GPUs",
    .description =
        "Above the table are the limits that really apply to a process started here: the machine's memory, the cgroup "
        "with all that\n"
        "are above it, ulimits, overcommit and /dev/shm, and which of them is reached first.\n\n"
        "RSS counts pages that processes share in each of them; PSS divides them, so that it adds up. PSS, swap and "
        "sharing of other\n"
        "users' processes are known to root only. GPU memory comes from NVIDIA's driver library, where there is one.\n"
        "Keys: q quits; r p s h g w i n sort by RSS, PSS, swap, shared, GPU, growth, pid, name.",
    .options = options,
    .examples = "  plimsoll top\n  plimsoll top --once --sort growth --rows 5\n  plimsoll top --json | jq "
                "'.limits.limiter, .processes[0]'",
    .run = run,
    .quick = true,
};
