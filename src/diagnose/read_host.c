/* Host memory: NumPy, Python, the kernel's OOM killer, shells, schedulers, data loaders, C++, Windows. */
#include <stdio.h>
#include <string.h>

#include "diagnose/reader.h"
#include "diagnose/talk.h"

static plim__event host_event(plim__reader *reader, const char *framework, int strength, const char *start) {
    plim__event event = plim__event_at(reader, PLIM_GROUP_HOST, framework, plim__line_at(reader, start).at);
    event.kind = "host";
    event.facts |= PLIM_FACT_HOST;
    event.strength = strength;
    return event;
}

static plim__text trimmed_line(plim__reader *reader, const char *at) {
    plim__text line = plim__line_at(reader, at);
    while (line.at < line.end && (unsigned char)*line.at <= ' ') line.at++;
    while (line.end > line.at && (unsigned char)line.end[-1] <= ' ') line.end--;
    return line;
}

/* --- NumPy and Python ----------------------------------------------------------------------------------------- */

/* "Unable to allocate 1.61 GiB for an array with shape (753, 536, 536) and data type float64" */
static void parse_numpy(plim__reader *reader, const char *start, const char *end) {
    plim__event event = host_event(reader, "numpy", PLIM_FULL, start);
    plim__text t = plim__text_at(reader, end);
    plim_amount rounded = {0};
    event.group = PLIM_GROUP_RUNTIME;
    if (plim__take(&t, " array with shape")) {
        event.version = "NumPy 1.17";
    } else {
        /* re-typed messages leave out words: the size behind the exception's name is enough */
        bool named = plim__before(reader, start, 40, "MemoryError") || plim__has(t, 160, "data type");
        if (!plim__take(&t, " %S", &rounded)) {
            if (!named) return;
            plim__note_unread(reader, &event, t, "the request");
        }
        if (!plim__take(&t, " for an array") && !plim__take(&t, " for array") && !named) return;
        plim__take(&t, " with shape");
        plim__take(&t, " :");
    }
    if (plim__take(&t, " (")) event.rank = plim__take_dims(&t, ')', event.shape);
    if (plim__take(&t, " and data type")) {
        plim__skip_blank(&t);
        size_t length = 0;
        while (t.at < t.end && (unsigned char)*t.at > ' ' && !strchr("\"',;)", *t.at) &&
               length + 1 < sizeof event.dtype)
            event.dtype[length++] = *t.at++;
        while (length && event.dtype[length - 1] == '.') length--;
        event.dtype[length] = 0;
        /* the next line may be glued to it */
        for (size_t cut = length; cut > 3; cut--) {
            char word[sizeof event.dtype];
            snprintf(word, sizeof word, "%.*s", (int)cut, event.dtype);
            if (!plim__dtype_item(word)) continue;
            memcpy(event.dtype, word, sizeof word);
            break;
        }
    }
    event.requested = rounded;
    plim__event_size(&event);
    plim__report(reader, &event, t.at);
}

static void parse_memory_error(plim__reader *reader, const char *start, const char *end) {
    plim__text line = trimmed_line(reader, start), t = plim__text_at(reader, end);
    if (plim__has_before(reader->begin, start, 6, "OutOf") || plim__has_before(reader->begin, start, 7, "_Array"))
        return;
    if (plim__is_code_line(plim__line_at(reader, start)) || plim__has(line, 8, "except") || plim__has(line, 6, "raise"))
        return;
    /* "Memory error: ..." is a heading; the exception's name has no blank */
    if (memchr(start, ' ', (size_t)(end - start)) && t.at < t.end && *t.at == ':') return;
    if (plim__has(t, 20, ": std::bad_alloc")) return; /* read there: it may be a device's */
    if (plim__take(&t, " : bad allocation : cuda")) { /* a device's, thrown by an extension */
        plim__event device = plim__event_at(reader, PLIM_GROUP_RUNTIME, "cuda", line.at);
        device.kind = "gpu";
        plim__report(reader, &device, line.end);
        return;
    }
    if (plim__take(&t, " : bad allocation")) {
        plim__event event = host_event(reader, "cpp", PLIM_PLAIN, start);
        plim__report(reader, &event, t.at);
        return;
    }
    if (plim__has(t, 24, ": Unable to allocate") || plim__has(t, 32, ": Out of memory")) return; /* NumPy, CuPy */
    if (plim__before(reader, start, 30, "_exceptions")) return;
    if (t.at < t.end && *t.at != ':' && *t.at != '\n' && *t.at != '(' && *t.at != '"' && *t.at != '\'' && *t.at != ' ')
        return;
    plim__text rest = t;
    while (rest.at < rest.end && *rest.at == ' ') rest.at++;
    if (rest.at < rest.end && *rest.at != ':' && *rest.at != '\n' && *rest.at != '(' && *rest.at != '"') return;
    /* an exception stands at the start of its line, maybe behind a module's name */
    for (const char *c = line.at; c < start; c++)
        if (*c == ' ' && c > line.at && c[-1] != ':' && c[-1] != ']' && c[-1] != 'E' && c[-1] != ' ') return;
    plim__event event = host_event(reader, "python", PLIM_PLAIN, start);
    plim__report(reader, &event, end);
}

/* "OSError: [Errno 12] Cannot allocate memory", "fork: Cannot allocate memory" */
static void parse_cannot_allocate(plim__reader *reader, const char *start, const char *end) {
    plim__text line = plim__line_at(reader, start);
    if (plim__has_before(reader->begin, start, 16, "Errno 12]") ||
        plim__has_before(reader->begin, start, 16, "Errno 12")) {
        plim__event event = host_event(reader, "python", PLIM_PLAIN, start);
        plim__report(reader, &event, end);
    } else if (plim__has_before(line.at, start, 40, "fork")) {
        plim__event event = host_event(reader, "kernel", PLIM_PLAIN, start);
        plim__report(reader, &event, end);
    }
}

/* --- the kernel ----------------------------------------------------------------------------------------------- */

static plim_amount kilobytes(plim__text t, size_t reach, const char *name) {
    plim_amount amount = {0};
    char pattern[32];
    snprintf(pattern, sizeof pattern, "%s:%%n", name);
    if (plim__seek(&t, reach, pattern, &amount) && amount.known && amount.bytes < UINT64_MAX / 4096)
        return plim__exact(amount.bytes * 1024);
    return (plim_amount){0};
}

static void parse_kernel_kill(plim__reader *reader, const char *start, const char *end) {
    plim__text t = plim__text_at(reader, end);
    plim__event event = host_event(reader, "kernel", PLIM_STRONG, start);
    int64_t pid;
    if (!plim__take(&t, " %i", &pid)) return;
    event.facts |= PLIM_FACT_KILLED;
    static const char *const parts[] = {"anon-rss", "file-rss", "shmem-rss"};
    uint64_t sum = 0;
    bool known = false;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        plim_amount part = kilobytes(t, 260, parts[i]);
        if (!part.known) continue;
        known = true;
        sum += part.bytes;
    }
    if (known) event.process = plim__exact(sum);
    if (plim__before(reader, start, 40, "cgroup out of memory")) event.facts |= PLIM_FACT_LIMIT;
    plim__report(reader, &event, t.at);
}

static void parse_kernel_invoked(plim__reader *reader, const char *start, const char *end) {
    plim__event event = host_event(reader, "kernel", PLIM_HINT, start);
    event.facts |= PLIM_FACT_KILLED;
    plim__report(reader, &event, end);
}

static void parse_constraint(plim__reader *reader, const char *start, const char *end) {
    plim__event event = host_event(reader, "kernel", PLIM_HINT, start);
    event.facts |= PLIM_FACT_KILLED | PLIM_FACT_LIMIT;
    plim__report(reader, &event, end);
}

/* "memory: usage 4194304kB, limit 4194304kB, failcnt 1"; memory+swap and kmem are other lines. */
static void parse_usage(plim__reader *reader, const char *start, const char *end) {
    plim__text t = plim__text_at(reader, end);
    plim_amount usage, limit;
    if (start > reader->begin && (start[-1] == '+' || start[-1] == 'k')) return;
    if (!plim__take(&t, " %n kB, limit %n kB", &usage, &limit) || !limit.known) return;
    if (limit.bytes >= 9007199254740000u) return; /* no limit */
    plim__event event = host_event(reader, "kernel", PLIM_HINT, start);
    event.facts |= PLIM_FACT_LIMIT;
    event.limit = plim__exact(limit.bytes * 1024);
    plim__report(reader, &event, t.at);
}

/* --- shells --------------------------------------------------------------------------------------------------- */

static void report_killed(plim__reader *reader, const char *start, const char *end) {
    plim__event event = host_event(reader, "kernel", PLIM_WEAK, start);
    event.facts |= PLIM_FACT_KILLED;
    plim__report(reader, &event, end);
}

static bool digit(char c) { return c >= '0' && c <= '9'; }

static void parse_killed(plim__reader *reader, const char *start, const char *end) {
    plim__text line = trimmed_line(reader, start);
    bool capital = *start == 'K';
    while (line.end > end && strchr("\"'}],`*_", line.end[-1])) line.end--; /* a JSON string or a quotation ends here */
    while (line.at < start && strchr("*_`> ", *line.at)) line.at++;
    bool last = end >= line.end || (line.end - end == 3 && memcmp(end, ": 9", 3) == 0);
    bool first = start == line.at;
    if (capital && first && last) {
        report_killed(reader, start, end);
    } else if (capital && first && line.end - end > 2 && end[0] == ' ' && end[1] == ' ') {
        report_killed(reader, start, end); /* "Killed                  python train.py" */
    } else if (plim__take(&(plim__text){line.at, line.end}, "zsh: killed ") ||
               plim__has(line, 24, "Terminado (killed)")) {
        report_killed(reader, start, end);
    } else if (capital || (line.at < start && line.at[0] == '[')) {
        const char *c = start;
        while (c > line.at && c[-1] == ' ') c--;
        /* "x.sh: line 3: 4711 Killed  python", "[1]  + 4711 killed     python", "step 40Killed" */
        bool after_pid = c < start && c > line.at && digit(c[-1]);
        bool job = line.at[0] == '[' && line.at + 1 < start && digit(line.at[1]); /* a job of the shell */
        bool wide = line.end - end > 1 && end[0] == ' ' && (end[1] == ' ' || job || plim__has(line, 80, "line "));
        if (after_pid && (wide || last))
            report_killed(reader, start, end);
        else if (capital && last && c == start && !plim__has_before(line.at, start, 8, "OOM") && start > line.at &&
                 !((start[-1] >= 'a' && start[-1] <= 'z') || (start[-1] >= 'A' && start[-1] <= 'Z')))
            report_killed(reader, start, end);
        else if (capital && last && c == start && start - line.at > 12 &&
                 plim__has((plim__text){line.at, start}, 200, "it/s"))
            report_killed(reader, start, end);
    }
}

/* "it gets killed", "just \"Killed\" is printed": somebody's words, which count where memory is spoken of nearby. */
static void parse_told_killed(plim__reader *reader, const char *start, const char *end) {
    static const char *const verbs[] = {"was ",           "were ", "is ",  "are ",         "be ",      "been ",
                                        "being ",         "gets ", "get ", "got ",         "getting ", "just ",
                                        "automatically ", "\"",    "'",    "\xE2\x80\x9C", "`",        "\xE8\xA2\xAB"};
    plim__text line = plim__line_at(reader, start);
    if (line.end - line.at > 2000 || plim__is_code_line(line) || plim__is_change(line, start)) return;
    if (reader->incident.is_set && (reader->incident.facts.facts & PLIM_FACT_WARNING)) return; /* judged with it */
    bool told = false;
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs && !told; i++) {
        size_t length = strlen(verbs[i]);
        told = (size_t)(start - line.at) >= length && memcmp(start - length, verbs[i], length) == 0;
    }
    if (!told || plim__has(plim__text_at(reader, end), 14, "by user") || plim__has(line, 2000, "timeout")) return;
    const char *from = start - reader->begin > 600 ? start - 600 : reader->begin;
    static const char *const memory[] = {"memory", " ram", "gb ram", "oom", "\xE5\x86\x85\xE5\xAD\x98"};
    plim__text near = {from, reader->end - end > 600 ? end + 600 : reader->end};
    /* or where a job of that kind is spoken of, and not of a hand that ended it */
    static const char *const jobs[] = {"train",      "dataset",  "epoch",      "inference",
                                       "preprocess", "the data", "checkpoint", "shards"};
    static const char *const hands[] = {"manually", "ctrl",    "i killed",        "time limit",
                                        "walltime", "preempt", "by the scheduler"};
    bool spoken = plim__has_any(near, memory, sizeof memory / sizeof *memory);
    if (!spoken && (!plim__has_any(near, jobs, sizeof jobs / sizeof *jobs) ||
                    plim__has_any(near, hands, sizeof hands / sizeof *hands)))
        return;
    bool slurm = plim__has(near, 1400, "slurm");
    plim__event event = host_event(reader, slurm ? "slurm" : "kernel", PLIM_WEAK, start);
    event.facts |= PLIM_FACT_SAID | (slurm ? PLIM_FACT_LIMIT : PLIM_FACT_KILLED) | (spoken ? 0 : PLIM_FACT_POSSIBLE);
    plim__report(reader, &event, end);
}

/* The word alone on its line, in other languages. */
static void parse_killed_word(plim__reader *reader, const char *start, const char *end) {
    plim__text line = trimmed_line(reader, start);
    bool pid_before = start > line.at && start - line.at > 6 && (plim__has(line, 80, " line ") || digit(start[-2]));
    bool behind_bar = line.end == end && start - line.at > 12 &&
                      ((start[-1] == ' ' && start[-2] == ' ') || plim__has(line, 400, "%|"));
    if ((start == line.at && line.end - end <= 4) || pid_before || behind_bar ||
        (start == line.at && end < line.end && end[0] == ' '))
        report_killed(reader, start, end);
}

/* 137 is SIGKILL, whoever sent it: memory is one reason of several unless the log says so. */
static void report_code_137(plim__reader *reader, const char *start, const char *end) {
    plim__text line = plim__line_at(reader, start);
    if (reader->oom_denied || plim__is_supposed(line, start) || plim__explains(reader, end)) return;
    if (plim__has(line, 12, "what ") && plim__has((plim__text){end, line.end}, 4, "?"))
        return; /* what the code means */
    plim__event event = host_event(reader, "kernel", PLIM_WEAK, start);
    event.facts |= PLIM_FACT_KILLED | PLIM_FACT_POSSIBLE;
    plim__report(reader, &event, end);
}

static void parse_code_137(plim__reader *reader, const char *start, const char *end) {
    plim__text t = plim__text_at(reader, end);
    while (t.at < t.end && strchr(" \t:=\"'*`(", *t.at) && *t.at) t.at++;
    int64_t code;
    if (plim__take(&t, "%i", &code)) {
        if (code == 137) report_code_137(reader, start, t.at);
    } else if (plim__take(&t, " -9") && !(t.at < t.end && digit(*t.at))) {
        report_killed(reader, start, t.at);
    }
}

/* Docker's own line: "The command '/bin/sh -c ...' returned a non-zero code: 137". */
static void parse_code_of_build(plim__reader *reader, const char *start, const char *end) {
    plim__text line = trimmed_line(reader, start);
    if (plim__has(line, 100, "The command '") && !plim__is_change(line, start)) parse_code_137(reader, start, end);
}

/* --- schedulers ----------------------------------------------------------------------------------------------- */

static void report_slurm(plim__reader *reader, const char *start, const char *end) {
    plim__event event = host_event(reader, "slurm", PLIM_STRONG + 1, start);
    event.facts |= PLIM_FACT_LIMIT;
    plim__report(reader, &event, end);
}

static void parse_slurm_kill(plim__reader *reader, const char *start, const char *end) {
    if (plim__has(plim__text_at(reader, end), 40, "in step") ||
        plim__has(plim__text_at(reader, end), 40, "in StepId") || plim__before(reader, start, 60, "slurm"))
        report_slurm(reader, start, end);
}

static void parse_slurm_task(plim__reader *reader, const char *start, const char *end) {
    if (plim__has_before(reader->begin, start, 24, "task ") || plim__before(reader, start, 60, "srun"))
        report_slurm(reader, start, end);
}

/* "Limits: cpu: 10 memory: 16Gi", "\"limits\":{\"cpu\":\"4\",\"memory\":\"8Gi\"}" */
static bool take_kubernetes_limit(plim__text t, plim_amount *limit) {
    while (plim__seek(&t, 6000, "limits")) {
        plim__text s = t;
        size_t reach = 160;
        plim__text requests = t;
        if (plim__seek(&requests, reach, "requests")) reach = (size_t)(requests.at - t.at);
        while (plim__seek(&s, reach, "memory")) {
            while (s.at < s.end && strchr("\": =\t\n\\", *s.at) && *s.at) s.at++;
            if (plim__take(&s, "%S", limit) && limit->known) return true;
            if (s.at >= t.at + reach) break;
        }
    }
    return false;
}

/* "OOMKilled: false", "\"OOMKilled\": false": the container's state, and it was not. */
static bool says_no(plim__text t) {
    while (t.at < t.end && strchr(" \t\"':=\\", *t.at) && *t.at) t.at++;
    if (!plim__take(&t, "showed ") && !plim__take(&t, "shows ") && !plim__take(&t, "was ")) plim__take(&t, "is ");
    return plim__take(&t, "false") || plim__take(&t, "no") || plim__take(&t, "0");
}

/* "my job is OOM-killed", "the process was killed (OOM)": counts only when somebody tells of it. */
static void report_told(plim__reader *reader, const char *start, const char *end) {
    plim__text line = plim__line_at(reader, start);
    if (plim__is_code_line(line) || plim__is_change(line, start)) return;
    if (plim__explains(reader, end) || plim__is_supposed(line, start)) return;
    plim__event event = host_event(reader, "kernel", PLIM_WEAK, start);
    event.facts |= PLIM_FACT_KILLED | PLIM_FACT_SAID;
    plim__report(reader, &event, end);
}

/* A sentence has many words, and the state stands among them; in a state's line it is a value. */
static bool is_in_sentence(plim__text line, const char *start) {
    int words = 0;
    for (const char *c = line.at; c + 1 < line.end; c++)
        words += *c == ' ' && ((c[1] >= 'a' && c[1] <= 'z') || (c[1] >= 'A' && c[1] <= 'Z'));
    if (words < 9 || start == line.at) return false;
    return start[-1] == ' ' && !(start - line.at > 1 && strchr(":=|", start[-2]));
}

static void parse_oomkilled(plim__reader *reader, const char *start, const char *end) {
    plim__text line = plim__line_at(reader, start);
    if (says_no(plim__text_at(reader, end))) {
        reader->oom_denied = true;
        if (reader->incident.is_set && (reader->incident.facts.facts & PLIM_FACT_POSSIBLE))
            reader->incident.is_set = false;
        return;
    }
    /* "gets OOM killed" is a sentence, the state has no blank */
    if (memchr(start, ' ', (size_t)(end - start))) {
        report_told(reader, start, end);
        return;
    }
    bool told = plim__has_before(line.at, start, 24, "reason") && !plim__has_before(line.at, start, 5, " as ");
    if (!told && (plim__explains(reader, end) || plim__is_supposed(line, start))) return;
    if (plim__is_code_line(line) || plim__has_before(line.at, start, 6, "== ") ||
        (!told && line.end - line.at < 400 && plim__is_talk(line)) ||
        (told && plim__has(line, 400, "shows the reason")))
        return;
    plim__event event = host_event(reader, "kubernetes", PLIM_STRONG + 1, start);
    event.facts |= PLIM_FACT_LIMIT;
    if (!told && is_in_sentence(line, start)) {
        event.facts |= PLIM_FACT_SAID;
        event.strength = PLIM_WEAK;
    }
    const char *from = start - reader->begin > 2000 ? start - 2000 : reader->begin;
    const char *to = reader->end - end > 3000 ? end + 3000 : reader->end;
    if (!take_kubernetes_limit((plim__text){end, to}, &event.limit))
        take_kubernetes_limit((plim__text){from, start}, &event.limit);
    event.limit.exact = event.limit.known;
    plim__report(reader, &event, end);
}

/* "Memory on the node (IP: .., ID: ..) where the task (.., memory used=1.2GB) was running was 30.1GB / 31.0GB (0.97),
 * which exceeds the memory usage threshold of 0.95." */
static void parse_ray(plim__reader *reader, const char *start, const char *end) {
    plim__event event = host_event(reader, "ray", PLIM_STRONG + 1, start);
    const char *from = start - reader->begin > 500 ? start - 500 : reader->begin;
    plim__text t = {from, reader->end};
    size_t reach = (size_t)(end - from) + 500;
    plim_amount used;
    plim__text s = t;
    if (plim__seek(&s, reach, "memory used=%S", &event.process)) t = s;
    s = t;
    if (plim__seek(&s, reach, "was running was %S / %S", &used, &event.capacity)) event.used = used;
    if (!event.capacity.known) {
        s = t;
        if (plim__seek(&s, reach, " was %S / %S (0", &used, &event.capacity)) event.used = used;
    }
    plim__report(reader, &event, end);
}

static void parse_ray_workers(plim__reader *reader, const char *start, const char *end) {
    if (!plim__has(plim__text_at(reader, end), 120, "memory") && !plim__has(plim__text_at(reader, end), 120, "OOM"))
        return;
    plim__event event = host_event(reader, "ray", PLIM_STRONG + 1, start);
    plim__report(reader, &event, end);
}

/* "Worker ... exceeded 95% memory budget. Restarting..."; the lines before tell the limit. */
static void parse_dask(plim__reader *reader, const char *start, const char *end) {
    int64_t share;
    const char *from = start - reader->begin > 40 ? start - 40 : reader->begin;
    plim__text head = {from, start};
    if (!plim__seek(&head, 40, "exceeded %i%%", &share)) return;
    plim__event event = host_event(reader, "dask", PLIM_FULL, start);
    event.facts |= PLIM_FACT_LIMIT | PLIM_FACT_KILLED;
    from = start - reader->begin > 4000 ? start - 4000 : reader->begin;
    plim__text told = {from, start};
    while (plim__seek(&told, 4000, "Worker memory limit: %S", &event.limit)) {}
    plim__report(reader, &event, end);
}

/* "Mark-Compact 4097.2 (4150.9) -> 4097.2 (4150.9) MB": the collector's last line tells how full the heap was. */
static void parse_node(plim__reader *reader, const char *start, const char *end) {
    plim__event event = host_event(reader, "node", PLIM_FULL, start);
    event.facts |= PLIM_FACT_LIMIT | PLIM_FACT_HEAP;
    const char *from = start - reader->begin > 3000 ? start - 3000 : reader->begin;
    plim__text told = {from, start};
    static const char *const collections[] = {"Mark-", "Scavenge"}; /* the full ones tell more */
    for (size_t i = 0; i < sizeof collections / sizeof *collections && !event.process.known; i++)
        for (plim__text at = told; plim__seek(&at, 3000, collections[i]);) {
            plim__text line = {at.at, at.at};
            while (line.end < start && *line.end != '\n') line.end++;
            plim_amount used;
            if (plim__seek(&line, 120, "-> %m (%m) MB", &used, &(plim_amount){0})) event.process = used;
        }
    plim__report(reader, &event, end);
}

/* DeepSpeed's launcher ends what is left when one of its processes is gone; its own figures say whether memory was short. */
static void parse_sigkill_handler(plim__reader *reader, const char *start, const char *end) {
    plim__text t = plim__text_at(reader, end);
    if (!plim__has(t, 24, "Killing subprocess")) return;
    plim__event event = host_event(reader, "deepspeed", PLIM_WEAK, start);
    const char *from = start - reader->begin > 6000 ? start - 6000 : reader->begin;
    int64_t whole = 0, part;
    for (plim__text told = {from, start}; plim__seek(&told, 6000, "Virtual Memory:");) {
        plim_amount used;
        if (plim__seek(&told, 40, "used = %S", &used) && used.known) event.process = used;
        plim__seek(&told, 20, "percent = %i.%i%%", &whole, &part);
    }
    if (whole < 75) return; /* without them it may be any error */
    event.facts |= PLIM_FACT_KILLED | PLIM_FACT_POSSIBLE;
    plim__report(reader, &event, t.at);
}

static void parse_deepspeed(plim__reader *reader, const char *start, const char *end) {
    plim__text t = plim__text_at(reader, end);
    if (!plim__take(&t, " = -9") && !plim__take(&t, " = 137")) return;
    if (t.at < t.end && digit(*t.at)) return;
    plim__event event = host_event(reader, "deepspeed", PLIM_HINT, start);
    event.facts |= PLIM_FACT_KILLED;
    plim__report(reader, &event, t.at);
}

/* --- data loaders, C++, Windows --------------------------------------------------------------------------------------
 */

static void report_loader(plim__reader *reader, const char *start, const char *end, plim__facts facts) {
    plim__event event = host_event(reader, "pytorch", PLIM_STRONG, start);
    event.facts |= facts;
    plim__report(reader, &event, end);
}

static void parse_loader(plim__reader *reader, const char *start, const char *end) {
    plim__text t = plim__text_at(reader, end);
    if (plim__has(t, 16, "Bus error"))
        report_loader(reader, start, end, PLIM_FACT_SHM);
    else if (plim__has(t, 16, "Killed") && plim__before(reader, start, 60, "worker"))
        report_loader(reader, start, end, PLIM_FACT_KILLED);
    else if (plim__has(t, 16, "Terminated") && plim__before(reader, start, 60, "worker"))
        report_loader(reader, start, end, PLIM_FACT_KILLED | PLIM_FACT_POSSIBLE);
}

static void parse_bus_error(plim__reader *reader, const char *start, const char *end) {
    report_loader(reader, start, end, PLIM_FACT_SHM);
}

static void parse_mmap(plim__reader *reader, const char *start, const char *end) {
    plim__text t = plim__text_at(reader, end);
    plim__event event = host_event(reader, "pytorch", PLIM_STRONG, start);
    if (!plim__take(&t, " %n bytes from file", &event.requested)) return;
    event.facts |= PLIM_FACT_SHM;
    plim__report(reader, &event, t.at);
}

static void parse_no_space(plim__reader *reader, const char *start, const char *end) {
    plim__text line = plim__line_at(reader, start);
    /* semaphores of multiprocessing live there, too */
    if (!plim__has(line, 2000, "/dev/shm") && !plim__has(plim__text_at(reader, end), 40, "/dev/shm") &&
        !plim__before(reader, start, 300, "SemLock"))
        return;
    report_loader(reader, start, end, PLIM_FACT_SHM);
}

static void parse_bad_alloc(plim__reader *reader, const char *start, const char *end) {
    bool thrown = plim__before(reader, start, 40, "instance of") || plim__before(reader, start, 12, "what()");
    if (!thrown && (plim__is_change(plim__line_at(reader, start), start) || plim__explains(reader, end))) return;
    if (plim__is_code_line(plim__line_at(reader, start)) && !plim__has(plim__line_at(reader, start), 40, "what()"))
        return;
    plim__text after = plim__text_at(reader, end), line = plim__line_at(reader, start);
    size_t rest = (size_t)(line.end - end);
    /* Thrust and RMM throw it for every CUDA error; only one of them is about memory */
    if (plim__has(after, 40, "hipError")) {
        if (!plim__has(after, 60, "OutOfMemory") && !plim__has(after, 60, "MemoryAllocation")) return;
        plim__event gpu = plim__event_at(reader, PLIM_GROUP_RUNTIME, "hip", line.at);
        gpu.kind = "gpu";
        gpu.strength = PLIM_STRONG;
        plim__report(reader, &gpu, line.end);
        return;
    }
    if (plim__has(after, 300, "CUDA error") || plim__has(after, 300, "cudaError") || plim__has(after, 300, "RMM")) {
        if (plim__has(after, 300, "IllegalAddress") || plim__has(after, 300, "illegal memory access")) return;
        bool cut = plim__has(after, 300, "rmm/") && !plim__has(after, 300, "cudaError"); /* its reason is not pasted */
        if (!plim__has(after, 400, "out of memory") && !plim__has(after, 400, "MemoryAllocation") &&
            !plim__has(after, 400, "out_of_memory") && !plim__has(after, 400, "pool size exceeded") && !cut)
            return;
        plim__event gpu = plim__event_at(reader, PLIM_GROUP_RUNTIME, "rapids", line.at);
        gpu.kind = "gpu";
        gpu.strength = PLIM_STRONG;
        if (plim__before(reader, start, 400, "xgboost") || plim__has(after, 600, "xgboost")) gpu.framework = "xgboost";
        plim__report(reader, &gpu, line.end);
        return;
    }
    bool r = plim__before(reader, start, 200, "Error in ") && !plim__before(reader, start, 400, "Traceback");
    plim__event event = host_event(reader, r ? "r" : "cpp", PLIM_PLAIN, start);
    if (plim__has(line, (size_t)(line.end - line.at), "out of memory") && plim__has(after, rest, "cuda"))
        event.kind = "gpu", event.facts = 0;
    plim__report(reader, &event, end);
}

static void report_windows(plim__reader *reader, const char *start, const char *end) {
    plim__event event = host_event(reader, "windows", PLIM_PLAIN, start);
    event.facts |= PLIM_FACT_WIN_COMMIT;
    plim__report(reader, &event, end);
}

static void parse_winerror(plim__reader *reader, const char *start, const char *end) {
    plim__text t = plim__text_at(reader, end);
    int64_t code;
    if (plim__take(&t, " %i", &code) && (code == 1455 || code == 8)) report_windows(reader, start, t.at);
}

const plim__row plim__rows_host[] = {
    {"unabletoallocate", parse_numpy},
    {"memoryerror", parse_memory_error},
    {"cannotallocatememory", parse_cannot_allocate},
    {"killedprocess", parse_kernel_kill},
    {"killprocess", parse_kernel_kill},
    {"invokedoom-killer", parse_kernel_invoked},
    {"constraint_memcg", parse_constraint},
    {"memory:usage", parse_usage},
    {"killedasaresultoflimitof", parse_constraint},
    {"killed", parse_killed},
    {"killed", parse_told_killed},
    {"get\xC3\xB6tet", parse_killed_word},
    {"processusarr\xC3\xAAt\xC3\xA9", parse_killed_word},
    {"tu\xC3\xA9", parse_killed_word},
    {"\xD0\xA3\xD0\xB1\xD0\xB8\xD1\x82\xD0\xBE", parse_killed_word},
    {"\xE5\xB7\xB2\xE6\x9D\x80\xE6\xAD\xBB", parse_killed_word},
    {"\xE5\xBC\xB7\xE5\x88\xB6\xE7\xB5\x82\xE4\xBA\x86", parse_killed_word},
    {"terminatedbysignalsigkill", report_killed},
    {"terminatedwithsignalsigkill", report_killed},
    {"signal9(sigkill)", report_killed},
    {"killedbysignal9", report_killed},
    {"exitcode", parse_code_137},
    {"exitedwithcode", parse_code_137},
    {"exitstatus", parse_code_137},
    {"errorcode", parse_code_137},
    {"statuscode", parse_code_137},
    {"returncode", parse_code_137},
    {"non-zerocode", parse_code_of_build},
    {"oom-killevent", parse_slurm_kill},
    {"oom_killevent", parse_slurm_kill},
    {"exceededjobmemorylimit", report_slurm},
    {"exceededstepmemorylimit", report_slurm},
    {":outofmemory", parse_slurm_task},
    {"out_of_me+", report_slurm},
    {"state=out_of_memory", report_slurm},
    {"oomkilled", parse_oomkilled},
    {"oom-killed", report_told},
    {"killed(oom)", report_told},
    {"nodewasrunninglowonmemory", parse_ray},
    {"noderunninglowonmemory", parse_ray},
    {"exceedsthememoryusagethreshold", parse_ray},
    {"worker(s)werekilled", parse_ray_workers},
    {"workers(tasks/actors)killed", parse_ray_workers},
    {"javascriptheapoutofmemory", parse_node},
    {"exitswithreturncode", parse_deepspeed},
    {"sigkill_handler]", parse_sigkill_handler},
    {"memorybudget", parse_dask},
    {"iskilledbysignal:", parse_loader},
    {"unexpectedbuserrorencounteredinworker", parse_bus_error},
    {"unabletommap", parse_mmap},
    {"nospaceleftondevice", parse_no_space},
    {"std::bad_alloc", parse_bad_alloc},
    {"winerror", parse_winerror},
    {"oserror1455", report_windows},
    {"pagingfileistoosmall", report_windows},
    {0},
};
