/* PyTorch's messages: the caching allocators of every device, and the host's. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "diagnose/reader.h"
#include "diagnose/talk.h"

/* --- device memory: what stands before "Tried to allocate" ---------------------------------------------------- */

typedef struct backend {
    const char *head, *kind;
    plim__facts facts;
} backend;

static const backend backends[] = {
    {"CUDA out of memory.", "gpu", 0},
    {"CUDA out of memory,", "gpu", 0},
    {"HIP out of memory.", "gpu", 0},
    {"XPU out of memory.", "xpu", 0},
    {"NPU out of memory.", "npu", 0},
    {"PrivateUse1 out of memory.", "npu", 0},
    {"MPS backend out of memory", "mps", 0},
    {"can NOT allocate memory block with size larger than 4GB!", "xpu", PLIM_FACT_BLOCK_LIMIT},
};

static const backend *find_backend(plim__reader *reader, const char *at) {
    const backend *best = NULL;
    const char *best_at = NULL;
    for (size_t i = 0; i < sizeof backends / sizeof *backends; i++) {
        const char *from = at - reader->begin > 240 ? at - 240 : reader->begin;
        plim__text t = {from, at};
        while (plim__seek(&t, 240, backends[i].head))
            if (t.at > best_at) best = &backends[i], best_at = t.at;
    }
    return best;
}

/* "8.63 GiB resrved in total": the message typed from a screen. */
static bool take_total(plim__text *t, plim_amount *amount) {
    plim__text s = *t;
    if (!plim__take(&s, "%S ", amount)) return false;
    while (s.at < s.end && isalpha((unsigned char)*s.at)) s.at++;
    if (!plim__take(&s, " in total")) return false;
    *t = s;
    return true;
}

/* "(GPU 0; 7.97 GiB total capacity; 4.14 GiB already allocated; 3.11 GiB free; 163.19 MiB cached)" */
static void take_short_list(plim__text *t, plim__event *event) {
    plim_amount amount, ignored;
    for (;;) {
        plim__skip_blank(t);
        if (plim__take(t, "%S total capac", &amount)) {
            event->capacity = amount;
            if (!plim__take(t, "ity")) plim__take(t, "ty");
        } else if (plim__take(t, "%S already allocated", &amount)) {
            event->allocated = amount;
        } else if (plim__take(t, "%S current active", &ignored)) {
        } else if (plim__take(t, "%S free", &amount)) {
            event->free = amount;
        } else if (plim__take(t, "%S allowed", &amount)) {
            event->limit = amount;
            event->version = "PyTorch 1.8 to 2.0";
        } else if (plim__take(t, "%S cached", &amount)) {
            /* before 1.4 the figure leaves out what is allocated */
            if (event->allocated.known && amount.known)
                event->reserved = plim__rounded((double)event->allocated.bytes + (double)amount.bytes);
            event->version = "PyTorch 1.0 to 1.3";
        } else if (plim__take(t, "%S reserved in total", &amount) || take_total(t, &amount)) {
            event->reserved = amount;
            plim__take(t, " by PyTorch");
            plim__text hint = *t;
            plim__take(&hint, " )");
            bool hinted = plim__take(&hint, " If reserved memory is >>");
            bool old = plim__take(&hint, " (malloc at"); /* a stack of C++ behind it, until 1.5 */
            if (!event->version)
                event->version = hinted ? "PyTorch 1.10 to 2.0" : old ? "PyTorch 1.4 to 1.5" : "PyTorch 1.4 to 1.9";
        } else {
            break;
        }
        plim__take(t, " ;");
    }
    plim__take(t, " )");
}

/* The text ends in the middle of the list: the last figure is told as what it is. */
static void note_cut(plim__reader *reader, plim__text t, plim__event *event) {
    plim__skip_blank(&t);
    if (t.at < t.end && *t.at >= '0' && *t.at <= '9' && t.end == reader->end && t.end - t.at < 16)
        plim__note_unread(reader, event, t, "the next figure");
}

enum { PROCESSES = 16 };

typedef struct processes {
    plim_amount own, others, single;
    plim_amount each[PROCESSES];
    int listed;
    bool unknown;
} processes;

static void take_process(processes *list, plim_amount amount, bool own) {
    if (!amount.known) {
        list->unknown = true;
    } else if (own) {
        list->own = amount;
    } else {
        list->single = amount;
        list->others = plim__rounded((double)list->others.bytes + (double)amount.bytes);
    }
    if (!own && list->listed < PROCESSES) list->each[list->listed] = amount;
    if (!own) list->listed++;
}

/* Of several processes the one that holds a little more than this one's allocator says; -1 for none. */
static int own_of(const plim__event *event, const processes *list) {
    uint64_t reserved = event->reserved.bytes, context = (uint64_t)2 << 30;
    int own = -1;
    for (int i = 0; i < list->listed && i < PROCESSES && event->reserved.known && reserved >= context / 2; i++) {
        uint64_t held = list->each[i].known ? list->each[i].bytes : 0;
        if (held + reserved / 50 < reserved || held > reserved + context) continue;
        if (own >= 0) return -1; /* two of a size */
        own = i;
    }
    return own;
}

/* The ranks of one job: each has woken this device, and holds the same few hundred MiB of it. */
static bool are_siblings(const processes *list, int own) {
    uint64_t least = UINT64_MAX, most = 0;
    for (int i = 0; i < list->listed && i < PROCESSES; i++) {
        if (i == own) continue;
        if (list->each[i].bytes < least) least = list->each[i].bytes;
        if (list->each[i].bytes > most) most = list->each[i].bytes;
    }
    return list->listed > 2 && list->listed <= PROCESSES && most < (uint64_t)1 << 30 && most <= least + least / 8;
}

/* "GPU 0 has a total capacity of <S> of which <S> is free. Process 1 has <S> memory in use. Of the allocated ..." */
static void take_sentences(plim__reader *reader, plim__text *t, plim__event *event, processes *list) {
    plim_amount amount;
    int64_t pid;
    for (;;) {
        plim__skip_blank(t);
        if (plim__take(t, "has a total capac")) {
            if (plim__take(t, "ity"))
                event->version = "PyTorch 2.2 or later";
            else if (plim__take(t, "ty"))
                event->version = "PyTorch 2.1";
            if (!plim__take(t, " of %S", &event->capacity)) {
                plim__take(t, " of");
                plim__note_unread(reader, event, *t, "the capacity");
                break;
            }
            plim__take(t, " .");
        } else if (plim__take(t, "has total %S", &amount)) { /* typed by hand */
            event->capacity = amount;
        } else if (plim__take(t, "of which %S is free", &amount)) {
            event->free = amount;
            plim__take(t, " .");
        } else if (plim__take(t, "Including non-PyTorch memory, this process has %S memory in use", &amount)) {
            take_process(list, amount, true);
            plim__take(t, " .");
        } else if (plim__take(t, "Process %i has %S memory in use", &pid, &amount)) {
            take_process(list, amount, false);
            plim__take(t, " .");
        } else if (plim__take(t, "%S allowed", &amount)) {
            event->limit = amount;
            plim__take(t, " ;");
        } else if (plim__take(t, "Of the allocated memory %S is allocated by PyTorch", &amount)) {
            event->allocated = amount;
            plim__take(t, " ,");
        } else if (plim__take(t, "with %S allocated in private pools (e.g., ", &amount)) {
            plim__seek(t, 32, ")"); /* the allocated figure includes them */
            plim__take(t, " ,");
        } else if (plim__take(t, "and %S is reserved by PyTorch but unallocated", &amount)) {
            if (event->allocated.known && amount.known)
                event->reserved = plim__rounded((double)event->allocated.bytes + (double)amount.bytes);
            plim__take(t, " .");
        } else {
            break;
        }
    }
    if (plim__has(*t, 260, "PYTORCH_ALLOC_CONF=")) event->version = "PyTorch 2.9 or later";
}

/* One process and no "this process" is this process, seen from inside a container; of several it may be told by what they
 * hold. */
static void settle_processes(plim__event *event, const processes *list) {
    if (list->unknown) event->facts |= PLIM_FACT_UNKNOWN_PROCESSES;
    if (list->own.known) {
        event->process = list->own;
        event->other = list->others;
    } else if (list->listed == 1 && !list->unknown) {
        bool own = !event->reserved.known || (double)list->single.bytes >= 0.98 * (double)event->reserved.bytes;
        if (own)
            event->process = list->single;
        else
            event->other = list->others;
    } else {
        int own = list->listed > 1 && !list->unknown ? own_of(event, list) : -1;
        event->other = list->others;
        if (own >= 0) {
            event->process = list->each[own];
            event->other = plim__rounded((double)list->others.bytes - (double)event->process.bytes);
            if (are_siblings(list, own)) event->other = (plim_amount){0};
        }
    }
    if (list->unknown) event->other = (plim_amount){0};
}

static void take_mps(plim__reader *reader, const char *at, plim__event *event) {
    const char *from = at - reader->begin > 240 ? at - 240 : reader->begin;
    plim__text t = {from, at};
    if (!plim__seek(&t, 240, "(MPS allocated: %S", &event->allocated)) return;
    plim__take(&t, " , other allocations: %S", &event->used); /* of the same memory, whoever made them */
    plim__take(&t, " , max allowed: %S", &event->limit);
}

/* Other devices' allocators kept the wording of the version that they were made from. */
static void drop_version(plim__event *event) {
    if (strcmp(event->kind, "npu") == 0 ||
        (strcmp(event->kind, "xpu") == 0 && event->version && strcmp(event->version, "PyTorch 2.2 or later") != 0))
        event->version = NULL;
}

static void parse_tried(plim__reader *reader, const char *start, const char *end) {
    /* the CPU's allocator says "you tried", TensorFlow's "] tried to allocate 0 bytes" */
    bool sentence = start - reader->begin > 1 && (plim__has_before(reader->begin, start, 20, "of memory.") ||
                                                  plim__has_before(reader->begin, start, 20, "of memory,"));
    if (*start != 'T' && !sentence) return;
    plim__event event = plim__event_at(reader, PLIM_GROUP_TORCH, "pytorch", plim__line_at(reader, start).at);
    plim__text t = plim__text_at(reader, end);
    const backend *found = find_backend(reader, start);
    event.strength = PLIM_FULL;
    if (plim__take(&t, " more than 1EB memory")) {
        event.facts |= PLIM_FACT_BAD_SIZE;
        event.kind = found ? found->kind : "gpu";
        plim__report(reader, &event, t.at);
        return;
    }
    if (!plim__take(&t, " %S", &event.requested)) {
        if (!found) return; /* "Tried to allocate" cut there */
        plim__note_unread(reader, &event, t, "the request");
    }
    if (event.requested.known && !found && !plim__has(t, 16, "GPU") && !plim__has(t, 16, "NPU") &&
        !plim__has(t, 16, "on p") && !plim__has(t, 16, "on s") && (t.end - t.at > 3 && *t.at != '.'))
        return; /* some other program's sentence */
    processes list = {0};
    if (found) event.facts |= found->facts;
    if (found && strcmp(found->kind, "mps") == 0) take_mps(reader, start, &event);
    event.kind = found ? found->kind : "gpu";
    if (plim__take(&t, " on private pool") || plim__take(&t, " on shared pool")) event.kind = "mps";
    plim__take(&t, " .");
    if (plim__take(&t, " (GPU %i ;", &event.index)) {
        take_short_list(&t, &event);
        note_cut(reader, t, &event);
    } else if (plim__take(&t, " (NPU %i ;", &event.index)) {
        event.kind = "npu";
        take_short_list(&t, &event);
        note_cut(reader, t, &event);
    } else if (plim__take(&t, " GPU %i", &event.index) || plim__take(&t, " NPU %i", &event.index)) {
        take_sentences(reader, &t, &event, &list);
        settle_processes(&event, &list);
    }
    /* the exception has its own name since 1.13 */
    bool listed = event.version && (strcmp(event.version, "PyTorch 1.4 to 1.9") == 0 ||
                                    strcmp(event.version, "PyTorch 1.10 to 2.0") == 0);
    if (listed && plim__before(reader, start, 60, "OutOfMemoryError")) event.version = "PyTorch 1.13 to 2.0";
    drop_version(&event);
    plim__report(reader, &event, t.at);
}

/* "RuntimeError: ", "OutOfMemoryError: ": no word stands between. */
static bool follows_error(const plim__reader *reader, const char *at) {
    const char *c = at;
    while (c > reader->begin && at - c < 12 && strchr(": \t\n\"'`(*>", c[-1])) c--;
    return plim__has_before(reader->begin, c, 5, "Error") || plim__has_before(reader->begin, c, 9, "Exception");
}

/* A quotation inside a sentence; the value of a field ("error": "...") is none. */
static bool is_quoted(const plim__reader *reader, const char *start, plim__text after) {
    const char *c = start;
    if (c == reader->begin || (c[-1] != '"' && c[-1] != '\'') || after.at >= after.end || *after.at != c[-1])
        return false;
    for (c--; c > reader->begin && c[-1] == ' ';) c--;
    if (c == reader->begin || strchr(":=([{,\n", c[-1])) return false;
    plim__text rest = {after.at + 1, after.end};
    while (rest.at < rest.end && *rest.at == ' ') rest.at++;
    return rest.at < rest.end && ((*rest.at >= 'a' && *rest.at <= 'z') || *rest.at == '?');
}

/* The head without the rest: a paste that was cut, or an old build. Words about it are not it. */
static void parse_head(plim__reader *reader, const char *start, const char *end) {
    plim__text t = plim__text_at(reader, end), line = plim__line_at(reader, start);
    if (plim__is_code_line(line)) return;
    if (!plim__take(&t, ".")) plim__take(&t, ",");
    plim__text rest = t;
    if (plim__take(&rest, " Tried to allocate")) return; /* read there */
    if (t.at > end && t.at[-1] == ',') t.at--;
    if (plim__take(&rest, " (MPS allocated:") && plim__has(rest, 200, "Tried to allocate")) return;
    bool ends = t.at >= t.end || *t.at == '\n' || *t.at == '"' || *t.at == '\'' || plim__has(t, 6, "Tried");
    bool exception = follows_error(reader, start);
    if (!ends && plim__explains(reader, t.at)) return;
    bool said = (!ends || is_quoted(reader, start, t)) && !exception; /* counts only when somebody tells of it */
    if (said && (plim__is_change(line, start) || plim__is_supposed(line, start))) return;
    plim__event event = plim__event_at(reader, PLIM_GROUP_TORCH, "pytorch", line.at);
    event.kind = plim__has((plim__text){start, end}, 3, "XPU")   ? "xpu"
                 : plim__has((plim__text){start, end}, 3, "NPU") ? "npu"
                 : plim__has((plim__text){start, end}, 3, "MPS") ? "mps"
                                                                 : "gpu";
    if (said) {
        event.facts |= PLIM_FACT_SAID | PLIM_FACT_NAME_ONLY;
        event.strength = PLIM_WEAK;
    }
    if (strcmp(event.kind, "mps") == 0 && plim__take(&t, " (MPS allocated: %S", &event.allocated)) {
        plim__take(&t, " , other allocations: %S", &event.used);
        plim__take(&t, " , max allowed: %S", &event.limit);
    }
    plim__report(reader, &event, t.at);
}

/* "... no beginning": a paste that starts behind the request. */
static void parse_capacity(plim__reader *reader, const char *start, const char *end) {
    if (plim__before(reader, start, 400, "Tried to allocate")) return;
    const char *from = start - reader->begin > 48 ? start - 48 : reader->begin;
    plim__event event = plim__event_at(reader, PLIM_GROUP_TORCH, "pytorch", plim__line_at(reader, start).at);
    plim__text t = {from, reader->end};
    event.kind = "gpu";
    event.strength = PLIM_STRONG;
    (void)end;
    if (plim__seek(&t, 48, "GPU %i ;", &event.index)) {
        take_short_list(&t, &event);
    } else {
        t.at = from;
        processes list = {0};
        if (!plim__seek(&t, 48, "GPU %i has a total", &event.index)) return;
        t.at = start;
        take_sentences(reader, &t, &event, &list);
        settle_processes(&event, &list);
    }
    if (event.capacity.known && event.allocated.known) plim__report(reader, &event, t.at);
}

/* --- device memory: without numbers --------------------------------------------------------------------------- */

static void parse_async(plim__reader *reader, const char *start, const char *end) {
    plim__text line = plim__line_at(reader, start), after = plim__text_at(reader, end);
    if (plim__is_code_line(line)) return;
    plim__event event = plim__event_at(reader, PLIM_GROUP_TORCH, "pytorch", line.at);
    event.kind = "gpu";
    bool known = plim__has(after, 300, "kernel errors might be") || plim__has(after, 300, "CUDA_LAUNCH_BLOCKING") ||
                 plim__before(reader, start, 60, "RuntimeError") ||
                 plim__before(reader, start, 60, "AcceleratorError") || plim__before(reader, start, 200, "torch") ||
                 plim__has(after, 300, "torch") || plim__before(reader, start, 80, "c10::");
    if (!known) { /* any CUDA program may print this */
        event.group = PLIM_GROUP_RUNTIME;
        event.framework = "cuda";
    }
    bool python = plim__before(reader, start, 30, "RuntimeError") || plim__before(reader, start, 400, ".py\"") ||
                  plim__before(reader, start, 40, "Exception: "); /* a program of C++, which says that it throws */
    if (end - start > 5 && start[5] == 'E' && !python) {          /* darknet writes it with a capital */
        event.group = PLIM_GROUP_RUNTIME;
        event.framework = "darknet";
    } else if (plim__take(&after, " (CUDA_ERROR_OUT_OF_MEMORY")) {
        return; /* TensorFlow's asynchronous allocator, read there */
    } else if (plim__take(&after, " (code 2") || plim__has(after, 40, "ERROR_OUT_OF_MEMORY)")) {
        event.group = PLIM_GROUP_RUNTIME;
        event.framework = "julia";
    } else if (plim__has(after, 240, "ggml") || plim__before(reader, start, 200, "ggml") ||
               plim__before(reader, start, 200, "llama_") || plim__before(reader, start, 200, "llama runner")) {
        event.group = PLIM_GROUP_RUNTIME;
        event.framework = "llama.cpp";
        int64_t index;
        plim__text t = after;
        if (plim__seek(&t, 80, "current device: %i", &index)) event.index = index;
    } else if (plim__has(after, 120, "cudaErrorMemoryAllocation")) {
        event.version = "PyTorch 2.8 or later";
    }
    plim__report(reader, &event, end);
}

static void parse_thc(plim__reader *reader, const char *start, const char *end) {
    plim__text t = plim__text_at(reader, end);
    if (!plim__take(&t, " : out of memory")) return;
    plim__event event = plim__event_at(reader, PLIM_GROUP_TORCH, "pytorch", plim__line_at(reader, start).at);
    event.kind = "gpu";
    event.version = "PyTorch 0.1 to 0.4";
    if (plim__has(t, 60, "torch/lib/THC") || plim__before(reader, start, 120, "torch/lib/THC"))
        event.version = "PyTorch 0.1 to 0.3";
    if (plim__has(t, 60, "aten/src/THC") || plim__before(reader, start, 120, "aten/src/THC"))
        event.version = "PyTorch 0.4";
    plim__report(reader, &event, t.at);
}

static void parse_invalid_buffer(plim__reader *reader, const char *start, const char *end) {
    plim__event event = plim__event_at(reader, PLIM_GROUP_TORCH, "pytorch", plim__line_at(reader, start).at);
    plim__text t = plim__text_at(reader, end);
    if (!plim__take(&t, " %S", &event.requested)) return;
    event.kind = "mps";
    event.facts |= PLIM_FACT_BLOCK_LIMIT;
    event.strength = PLIM_STRONG;
    plim__report(reader, &event, t.at);
}

static void parse_directml(plim__reader *reader, const char *start, const char *end) {
    plim__event event = plim__event_at(reader, PLIM_GROUP_RUNTIME, "directml", plim__line_at(reader, start).at);
    plim__text t = plim__text_at(reader, end);
    if (!plim__take(&t, " %n bytes", &event.requested)) return;
    event.kind = "gpu";
    event.strength = PLIM_STRONG;
    plim__report(reader, &event, t.at);
}

/* cuBLAS and cuDNN that cannot make a handle or find an algorithm. TensorFlow's own wording is read there. */
static void parse_disguised(plim__reader *reader, const char *start, const char *end) {
    plim__text line = plim__line_at(reader, start);
    if (plim__is_code_line(line) || plim__has(line, 2000, "cublas handle") || plim__has(line, 2000, "cudnn handle") ||
        plim__has(line, 400, "tensorflow/"))
        return;
    bool xla = plim__before(reader, start, 1500, "xla/");
    plim__event event =
        plim__event_at(reader, xla ? PLIM_GROUP_XLA : PLIM_GROUP_TORCH, xla ? "jax" : "pytorch", line.at);
    event.kind = "gpu";
    event.facts |= PLIM_FACT_DISGUISED;
    event.strength = PLIM_HINT + 1;
    plim__report(reader, &event, end);
}

/* --- host memory ---------------------------------------------------------------------------------------------- */

static plim__event host_event(plim__reader *reader, const char *start) {
    plim__event event = plim__event_at(reader, PLIM_GROUP_TORCH, "pytorch", plim__line_at(reader, start).at);
    event.kind = "host";
    event.facts |= PLIM_FACT_HOST;
    event.strength = PLIM_STRONG;
    return event;
}

static void parse_cpu(plim__reader *reader, const char *start, const char *end) {
    plim__event event = host_event(reader, start);
    plim__text t = plim__text_at(reader, end);
    plim__text after = t;
    /* Linux says "can't allocate memory" */
    if (plim__take(&after, " not enough memory")) event.facts |= PLIM_FACT_WIN_COMMIT;
    if (!plim__seek(&t, 64, "you tried to allocate ")) {
        if (!plim__has(plim__text_at(reader, end), 64, "memory")) return;
    } else if (!plim__take(&t, "%S", &event.requested)) {
        plim__note_unread(reader, &event, t, "the request");
    } else if (event.requested.known) {
        event.requested.exact = 1;
    }
    plim__report(reader, &event, t.at);
}

static void parse_old_torch(plim__reader *reader, const char *start, const char *end) {
    plim__event event = host_event(reader, start);
    plim__text t = plim__text_at(reader, end);
    plim__take(&t, " : you tried to allocate %S", &event.requested);
    event.version = "Lua Torch, or PyTorch 0.1 to 0.4";
    plim__report(reader, &event, t.at);
}

static void parse_memalign(plim__reader *reader, const char *start, const char *end) {
    plim__event event = host_event(reader, start);
    plim__report(reader, &event, end);
}

static void parse_negative(plim__reader *reader, const char *start, const char *end) {
    plim__event event = host_event(reader, start);
    event.facts |= PLIM_FACT_BAD_SIZE;
    plim__report(reader, &event, end);
}

const plim__row plim__rows_pytorch[] = {
    {"triedtoallocate", parse_tried},
    {"cudaoutofmemory", parse_head},
    {"hipoutofmemory", parse_head},
    {"xpuoutofmemory", parse_head},
    {"npuoutofmemory", parse_head},
    {"mpsbackendoutofmemory", parse_head},
    {"totalcapacity", parse_capacity},
    {"hasatotalcapac", parse_capacity},
    {"cudaerror:outofmemory", parse_async},
    {"hiperror:outofmemory", parse_async},
    {"cudaruntimeerror(2)", parse_thc},
    {"err(2)", parse_thc},
    {"error=2", parse_thc},
    {"invalidbuffersize:", parse_invalid_buffer},
    {"couldnotallocatetensorwith", parse_directml},
    {"cublas_status_alloc_failed", parse_disguised},
    {"cublas_status_not_initialized", parse_disguised},
    {"cudnn_status_not_initialized", parse_disguised},
    {"cudnn_status_alloc_failed", parse_disguised},
    {"cudnnerror:cudnn_status_internal_error", parse_disguised},
    {"unabletofindavalidcudnnalgorithm", parse_disguised},
    {"getwasunabletofindanengine", parse_disguised},
    {"nvml_success==rinternalassertfailed", parse_disguised},
    {"defaultcpuallocator:", parse_cpu},
    {"torch:notenoughmemory", parse_old_torch},
    {"posix_memalign(&data,galignment,nbytes)==0.12vs0", parse_memalign},
    {"calledwithnegativenumber:", parse_negative},
    {0},
};
