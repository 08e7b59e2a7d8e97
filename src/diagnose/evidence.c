/* Why we say what we say: sentences with the numbers, and how sure they make us. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "diagnose/cause.h"

void plim__add_evidence(plim_explanation *x, const char *format, ...) {
    if (x->evidence_count == PLIM_EXPLANATION_EVIDENCE) return;
    va_list args;
    va_start(args, format);
    vsnprintf(x->evidence[x->evidence_count++], sizeof x->evidence[0], format, args);
    va_end(args);
}

const char *plim__size(uint64_t n, plim__size_text buffer) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    size_t unit = 0;
    double value = (double)n;
    while (value >= 1023.995 && unit + 1 < sizeof units / sizeof *units) value /= 1024, unit++;
    snprintf(buffer, sizeof(plim__size_text), unit ? "%.2f %s" : "%.0f %s", value, units[unit]);
    return buffer;
}

typedef plim__size_text text;

static const char *bytes(uint64_t n, text buffer) { return plim__size(n, buffer); }

static double share(uint64_t part, uint64_t whole) { return whole ? 100.0 * (double)part / (double)whole : 0; }

static void about_bad_size(const plim__reader *reader, plim_explanation *x) {
    text a, b;
    bool said = reader->incident.facts.facts & PLIM_FACT_BAD_SIZE;
    if (said && (!x->requested.known || x->requested.bytes == 0))
        plim__add_evidence(x, "the message itself shows a size that cannot be meant");
    if (x->requested.known && x->capacity.known && x->capacity.bytes)
        plim__add_evidence(x, "%s is %.0f times the whole capacity of %s", bytes(x->requested.bytes, a),
                           (double)x->requested.bytes / (double)x->capacity.bytes, bytes(x->capacity.bytes, b));
    else if (x->requested.known && x->requested.bytes)
        plim__add_evidence(x, "%s in one block is more than any machine has", bytes(x->requested.bytes, a));
    x->confidence = 0.97;
}

static void about_too_big(const plim__reader *reader, plim_explanation *x) {
    text a, b, c;
    bool program = reader->incident.facts.facts & PLIM_FACT_PROGRAM;
    bool capacity = x->capacity.known && x->requested.known && x->requested.bytes > x->capacity.bytes;
    plim_amount whole = capacity ? x->capacity : x->limit;
    x->confidence = 0.97;
    if (x->requested.known && whole.known && x->requested.bytes > whole.bytes) {
        plim__add_evidence(x, "%s of %s exceeds the %s of %s: emptying the device would not help",
                           program ? "the compiled program's need" : "this one request", bytes(x->requested.bytes, a),
                           capacity ? "capacity" : "limit", bytes(whole.bytes, b));
    } else if (x->requested.known && x->capacity.known && x->allocated.known) {
        plim__add_evidence(x, "only %s of %s (%.0f %%) are live, and this one request is %s",
                           bytes(x->allocated.bytes, a), bytes(x->capacity.bytes, b),
                           share(x->allocated.bytes, x->capacity.bytes), bytes(x->requested.bytes, c));
        x->confidence = 0.85;
    }
    if (x->requested.known && x->free.known && x->free.bytes < x->requested.bytes)
        plim__add_evidence(x, "%s are free", bytes(x->free.bytes, a));
}

static void about_limit(const plim__reader *reader, plim_explanation *x) {
    text a, b;
    if (x->limit.known && (x->reserved.known || x->allocated.known))
        plim__add_evidence(x, "the limit is %s, of which %s is held", bytes(x->limit.bytes, a),
                           bytes(x->reserved.known ? x->reserved.bytes : x->allocated.bytes, b));
    else if (x->limit.known)
        plim__add_evidence(x, "the limit is %s", bytes(x->limit.bytes, a));
    if (x->process.known) plim__add_evidence(x, "it held %s when it was stopped", bytes(x->process.bytes, a));
    if (x->free.known && x->requested.known && x->free.bytes >= x->requested.bytes && x->limit.known)
        plim__add_evidence(x, "the device has %s free, enough for the %s", bytes(x->free.bytes, a),
                           bytes(x->requested.bytes, b));
    if (x->device_kind && strcmp(x->device_kind, "mps") == 0 && reader->incident.facts.used.known)
        plim__add_evidence(x, "%s are other allocations of the same memory",
                           bytes(reader->incident.facts.used.bytes, a));
    if (reader->incident.facts.facts & PLIM_FACT_HEAP)
        plim__add_evidence(x, "the limit is the program's own heap limit, not the machine's memory");
    else if ((reader->incident.facts.facts & PLIM_FACT_KILLED) && strcmp(x->framework, "kernel") == 0)
        plim__add_evidence(x, "the kernel's OOM killer acted inside a cgroup");
    if (strcmp(x->framework, "slurm") == 0)
        plim__add_evidence(x, "Slurm says that the job's memory limit was exceeded");
    if (strcmp(x->framework, "kubernetes") == 0) plim__add_evidence(x, "Kubernetes says OOMKilled");
    x->confidence = x->limit.known ? 0.95 : 0.85;
}

static void about_others(const plim__reader *reader, plim_explanation *x) {
    text a, b;
    uint64_t others;
    if (plim__others(x, &others) && others && x->capacity.known) {
        plim__add_evidence(x, "%s %s of %s (%.0f %%), and this request needs only %s",
                           x->other_process.known ? "other processes hold" : "somebody else holds", bytes(others, a),
                           bytes(x->capacity.bytes, b), share(others, x->capacity.bytes),
                           x->requested.known ? bytes(x->requested.bytes, (text){0}) : "a part of it");
        if (!x->other_process.known)
            plim__add_evidence(x, "estimated as capacity - free - what this process holds; its own context (0.2 to 0.9 "
                                  "GiB) is part of it");
        x->confidence = x->other_process.known ? 0.95 : 0.8;
    } else {
        x->confidence = 0.6;
    }
    if (reader->incident.facts.facts & PLIM_FACT_FALLING)
        plim__add_evidence(x,
                           "the framework asked for the whole card and then for ever less of it: somebody else has it");
    else if (reader->incident.facts.facts & PLIM_FACT_DRIVER)
        plim__add_evidence(x, "the driver itself refused, before the framework held anything");
}

static void about_fragmented(const plim__reader *reader, plim_explanation *x) {
    text a, b, c;
    const plim__dump *dump = &reader->incident.dump;
    uint64_t cached = plim__cached(x);
    x->confidence = 0.9;
    if (dump->has_chunks && dump->free_bytes) {
        plim__add_evidence(x, "%llu free blocks add up to %s, the largest has %s: fragmentation %.0f %%",
                           (unsigned long long)dump->free_count, bytes(dump->free_bytes, a),
                           bytes(dump->largest_free, b), 100 * x->fragmentation);
    } else if (plim__is_stated_in_pieces(x)) {
        plim__add_evidence(x, "%s are free for %s, but no block of them is large enough", bytes(x->free.bytes, a),
                           bytes(x->requested.bytes, b));
    } else if (x->requested.known && x->free.known && cached && cached < x->requested.bytes &&
               x->free.bytes < x->requested.bytes + x->requested.bytes / 20 && cached >= x->requested.bytes / 20) {
        plim__add_evidence(x, "%s free and %s cached would be enough together for %s, but not as one block",
                           bytes(x->free.bytes, a), bytes(cached, b), bytes(x->requested.bytes, c));
        x->confidence = 0.75;
    } else if (x->requested.known && cached >= x->requested.bytes && !plim__was_refused(x)) {
        plim__add_evidence(x,
                           "%s is cached but unallocated, more than the %s that failed: no block of it is large enough",
                           bytes(cached, a), bytes(x->requested.bytes, b));
    } else if (x->requested.known && x->free.known && x->free.bytes >= x->requested.bytes) {
        plim__add_evidence(x, "%s free of %s, and yet %s failed: the device's memory is not what is short",
                           bytes(x->free.bytes, a), x->capacity.known ? bytes(x->capacity.bytes, c) : "the device",
                           bytes(x->requested.bytes, b));
        plim__add_evidence(
            x,
            "a commit limit (Windows), a limit on single blocks or mappings, or another process's peak are possible");
        x->confidence = 0.5;
    }
    if (cached && !plim__was_refused(x) && x->free.known && x->free.bytes && !(dump->has_chunks && dump->free_bytes))
        plim__add_evidence(x, "%s are free on the device as well", bytes(x->free.bytes, a));
    if (x->largest_free.known && !dump->has_chunks)
        plim__add_evidence(x, "the largest free block has %s", bytes(x->largest_free.bytes, a));
    if (plim__is_crowded(x)) {
        plim__add_evidence(x, "but %.0f %% is live, so the device is nearly full as well",
                           share(x->allocated.bytes, x->capacity.bytes));
        x->confidence = 0.7;
    }
}

/* What XLA planned for the whole program. */
static void about_program(const plim__buffers *b, plim_explanation *x) {
    text whole, arguments, results, work;
    if (b->total.known && b->parameters.known && b->live_out.known && b->temp.known)
        plim__add_evidence(x, "the compiled program takes %s: %s of arguments, %s of results, %s while it runs",
                           bytes(b->total.bytes, whole), bytes(b->parameters.bytes, arguments),
                           bytes(b->live_out.bytes, results), bytes(b->temp.bytes, work));
    else if (b->total.known)
        plim__add_evidence(x, "the compiled program takes %s", bytes(b->total.bytes, whole));
}

static void about_full(const plim__reader *reader, plim_explanation *x) {
    text a, b;
    plim__facts facts = reader->incident.facts.facts;
    x->confidence = facts & (PLIM_FACT_NAME_ONLY | PLIM_FACT_POSSIBLE) ? 0.5 : 0.7;
    if (x->allocated.known && x->capacity.known) {
        plim__add_evidence(x, "%s of %s (%.0f %%) are live allocations of this process", bytes(x->allocated.bytes, a),
                           bytes(x->capacity.bytes, b), share(x->allocated.bytes, x->capacity.bytes));
        x->confidence = x->allocated.bytes > x->capacity.bytes / 2 ? 0.92 : 0.6;
        if (x->allocated.bytes > x->capacity.bytes)
            plim__add_evidence(x, "more is live than the device has: the driver moves memory to the host");
    } else if (x->allocated.known) {
        plim__add_evidence(x, "%s are live allocations of this process", bytes(x->allocated.bytes, a));
        x->confidence = 0.8;
    }
    if (x->requested.known && x->free.known)
        plim__add_evidence(x, "%s asked for, %s free", bytes(x->requested.bytes, a), bytes(x->free.bytes, b));
    if (x->reserved.known && x->allocated.known && x->requested.known && plim__cached(x) < x->requested.bytes)
        plim__add_evidence(x, "%s is cached, less than was asked for: emptying the cache would not do",
                           bytes(plim__cached(x), a));
    about_program(&reader->incident.buffers, x);
    if (facts & PLIM_FACT_KV_CACHE)
        plim__add_evidence(x, "what is short is the room for the model's cache, beside its weights");
    if (facts & PLIM_FACT_NAME_ONLY)
        plim__add_evidence(x, "the log has the exception's name and no more: no figures to go by");
    else if (!x->evidence_count && x->capacity.known)
        plim__add_evidence(x, "the message does not tell how much is in use; a full device is the usual reason");
    else if (!x->evidence_count)
        plim__add_evidence(x, "the message gives no numbers beyond the request; a full device is the usual reason");
}

static void about_killed(const plim__reader *reader, plim_explanation *x) {
    text a;
    plim__facts facts = reader->incident.facts.facts;
    const char *who = strcmp(x->framework, "ray") == 0            ? "Ray's memory monitor"
                      : strcmp(x->framework, "systemd-oomd") == 0 ? "systemd-oomd"
                      : strcmp(x->framework, "earlyoom") == 0     ? "earlyoom"
                                                                  : "the kernel";
    if (x->process.known && strcmp(x->framework, "deepspeed") == 0)
        plim__add_evidence(x, "%s of host memory were in use shortly before, by DeepSpeed's own figures",
                           bytes(x->process.bytes, a));
    else if (x->process.known)
        plim__add_evidence(x, "%s killed a process that held %s", who, bytes(x->process.bytes, a));
    else if (facts & PLIM_FACT_OOMD)
        plim__add_evidence(x, "%s killed it before the kernel had to", who);
    else if (facts & PLIM_FACT_SHM)
        x->confidence = 0.65; /* a bus error, which the line above tells */
    else {
        plim__add_evidence(x, facts & PLIM_FACT_POSSIBLE
                                  ? "a signal from outside ended the process, and the OOM killer's is one (SIGKILL)"
                                  : "the process was killed from outside (SIGKILL), which is what the OOM killer does");
        x->confidence = facts & PLIM_FACT_POSSIBLE ? 0.5 : 0.65;
    }
    if (facts & PLIM_FACT_POSSIBLE)
        plim__add_evidence(x, "the log does not say that memory was the reason: a time limit or an operator may be");
}

static void about_host(const plim__reader *reader, plim_explanation *x) {
    text a, b;
    plim__facts facts = reader->incident.facts.facts;
    plim_amount used = reader->incident.facts.used;
    x->confidence = facts & PLIM_FACT_NAME_ONLY ? 0.7 : 0.85;
    if (facts & PLIM_FACT_SHM)
        plim__add_evidence(x, "shared memory (/dev/shm) ran out: processes pass data through it");
    if (facts & PLIM_FACT_WIN_COMMIT)
        plim__add_evidence(x,
                           "Windows could not promise the memory: the page file is its limit, even when RAM is free");
    if (used.known && x->capacity.known)
        plim__add_evidence(x, "%s of the node's %s were in use (%.0f %%)", bytes(used.bytes, a),
                           bytes(x->capacity.bytes, b), share(used.bytes, x->capacity.bytes));
    if ((facts & PLIM_FACT_KILLED) || x->process.known) about_killed(reader, x);
    if (facts & PLIM_FACT_MAPS)
        plim__add_evidence(x, "only %s were asked for: the number of mappings or the address space is the limit",
                           bytes(x->requested.bytes, a));
    else if (x->requested.known && x->free.known)
        plim__add_evidence(x, "%s are needed, %s are available", bytes(x->requested.bytes, a), bytes(x->free.bytes, b));
    else if (x->requested.known)
        plim__add_evidence(x, "the host could not give %s in one allocation", bytes(x->requested.bytes, a));
    if (!x->evidence_count) plim__add_evidence(x, "a host allocation failed; the message tells no size");
}

static void about_disguised(plim_explanation *x) {
    plim__add_evidence(x, "the libraries allocate their own memory; when the device is full this is how they fail");
    plim__add_evidence(x, "a wrong index, a driver or a version mismatch can give the same message");
    x->confidence = 0.6;
}

static void about_warning(const plim__reader *reader, plim_explanation *x) {
    if (reader->incident.recovered)
        plim__add_evidence(x, "the program went on without that memory: it says later that it is ready");
    else if (reader->incident.facts.facts & PLIM_FACT_WARNING)
        plim__add_evidence(x, "the message itself says that nothing failed");
    else if (reader->engine_done)
        plim__add_evidence(x, "the engine was built all the same");
    else
        plim__add_evidence(x, "the run went on after it");
    x->confidence = 0.9;
}

void plim__gather_evidence(const plim__reader *reader, plim_explanation *x) {
    text a;
    switch (x->cause) {
    case PLIM_CAUSE_BAD_SIZE: about_bad_size(reader, x); break;
    case PLIM_CAUSE_TOO_BIG: about_too_big(reader, x); break;
    case PLIM_CAUSE_LIMIT: about_limit(reader, x); break;
    case PLIM_CAUSE_PER_ALLOCATION_LIMIT:
        plim__add_evidence(x, "the platform has a largest size for single blocks");
        if (x->limit.known) plim__add_evidence(x, "it is %s here", bytes(x->limit.bytes, a));
        x->confidence = reader->incident.facts.facts & PLIM_FACT_BLOCK_LIMIT ? 0.97 : 0.75;
        break;
    case PLIM_CAUSE_OTHER_PROCESS: about_others(reader, x); break;
    case PLIM_CAUSE_FRAGMENTED: about_fragmented(reader, x); break;
    case PLIM_CAUSE_FULL: about_full(reader, x); break;
    case PLIM_CAUSE_DATASET_ON_DEVICE:
        plim__add_evidence(x, "_EagerConst copies NumPy data to the device, and one block holds %s",
                           x->holder_count ? bytes(x->holders[0].bytes, a) : "a large part of it");
        x->confidence = 0.9;
        break;
    case PLIM_CAUSE_HOST_MEMORY: about_host(reader, x); break;
    case PLIM_CAUSE_DISGUISED: about_disguised(x); break;
    case PLIM_CAUSE_WARNING: about_warning(reader, x); break;
    case PLIM_CAUSE_NONE:
    case PLIM_CAUSE_COUNT: break;
    }
    if (reader->incident.facts.facts & PLIM_FACT_UNKNOWN_PROCESSES)
        plim__add_evidence(x, "the driver does not tell what each process holds here (WSL2)");
    if (x->found && x->failures > 1)
        plim__add_evidence(x, "the log holds %llu failures; this is the last", (unsigned long long)x->failures);
    if (x->unread[0]) plim__add_evidence(x, "%s", x->unread);
}
