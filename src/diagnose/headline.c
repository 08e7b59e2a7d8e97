/* The cause in one sentence with this failure's numbers; it never says more than they do. */
#include <stdio.h>
#include <string.h>

#include "diagnose/cause.h"

typedef plim__size_text text;

static const char *size(plim_amount amount, text buffer) { return plim__size(amount.bytes, buffer); }

static bool is(const plim_explanation *x, const char *framework) { return strcmp(x->framework, framework) == 0; }

static void too_big(const plim__reader *reader, plim_explanation *x, char *to, size_t room) {
    text a, b;
    plim_amount whole =
        x->capacity.known && x->requested.known && x->requested.bytes > x->capacity.bytes ? x->capacity : x->limit;
    bool program = reader->incident.facts.facts & PLIM_FACT_PROGRAM;
    if (x->requested.known && whole.known && x->requested.bytes > whole.bytes)
        snprintf(to, room,
                 program ? "The program needs %s, the device has %s" : "One request of %s exceeds the whole %s",
                 size(x->requested, a), size(whole, b));
    else if (x->requested.known && x->free.known && x->free.bytes >= x->requested.bytes)
        snprintf(to, room, "One request of %s needs nearly all of the %s that are free, in one piece",
                 size(x->requested, a), size(x->free, b));
    else if (x->requested.known && x->free.known)
        snprintf(to, room, "One request of %s does not fit into what remains: %s are free", size(x->requested, a),
                 size(x->free, b));
    else if (x->requested.known && x->capacity.known)
        snprintf(to, room, "One request of %s is too large for what remains of %s", size(x->requested, a),
                 size(x->capacity, b));
    else if (x->requested.known && program)
        snprintf(to, room, "The program needs %s, more than the device has", size(x->requested, a));
    else if (x->requested.known)
        snprintf(to, room, "One request of %s is more than nearly every device has", size(x->requested, a));
    else
        snprintf(to, room, "One request is larger than the program can ever be given");
}

static void limit(const plim__reader *reader, plim_explanation *x, char *to, size_t room) {
    text a;
    plim__facts facts = reader->incident.facts.facts;
    const char *what = facts & PLIM_FACT_HEAP                                           ? "The heap's limit"
                       : facts & PLIM_FACT_POOL                                         ? "The pool's maximum"
                       : is(x, "slurm") || is(x, "pbs") || is(x, "lsf") || is(x, "sge") ? "The job's memory limit"
                       : is(x, "kubernetes")                                            ? "The container's memory limit"
                       : is(x, "kernel")                                                ? "The cgroup's memory limit"
                       : is(x, "dask")                                                  ? "The worker's memory limit"
                       : x->device_kind && strcmp(x->device_kind, "mps") == 0 ? "The watermark of the shared memory"
                                                                              : "A limit that was set";
    if (x->limit.known)
        snprintf(to, room, "%s of %s is reached", what, size(x->limit, a));
    else
        snprintf(to, room, "%s is reached", what);
}

static void fragmented(const plim__reader *reader, plim_explanation *x, char *to, size_t room) {
    text a, b, c;
    uint64_t cached = plim__cached(x);
    const plim__dump *dump = &reader->incident.dump;
    if (plim__was_refused(x) && !dump->has_chunks) {
        snprintf(to, room, "%s are free, yet %s were refused: it is not the device's memory that is short",
                 size(x->free, a), size(x->requested, b));
        return;
    }
    if (x->requested.known && dump->has_chunks && dump->free_bytes >= x->requested.bytes)
        snprintf(to, room, "%s are free in the pool, but in pieces: none holds %s", plim__size(dump->free_bytes, a),
                 size(x->requested, b));
    else if (plim__is_stated_in_pieces(x))
        snprintf(to, room, "%s are free, but in pieces: the largest has %s, and %s were asked for", size(x->free, a),
                 size(x->largest_free, b), size(x->requested, c));
    else if (x->requested.known && cached >= x->requested.bytes && plim__is_crowded(x))
        snprintf(to, room, "The device is nearly full (%.0f %% live), and the %s that are cached are in pieces",
                 100.0 * (double)x->allocated.bytes / (double)x->capacity.bytes, plim__size(cached, a));
    else if (x->requested.known && cached >= x->requested.bytes)
        snprintf(to, room, "%s are cached, but in pieces: no block of %s among them", plim__size(cached, a),
                 size(x->requested, b));
    else if (x->requested.known && x->free.known && x->free.bytes >= x->requested.bytes &&
             cached < x->requested.bytes / 20)
        snprintf(to, room, "%s are free, yet %s were refused: it is not the device's memory that is short",
                 size(x->free, a), size(x->requested, b));
    else if (x->requested.known && x->free.known)
        snprintf(to, room, "%s free and %s cached would do together for %s, but not as one block", size(x->free, a),
                 plim__size(cached, b), size(x->requested, c));
    else
        snprintf(to, room, "Free memory is in pieces: no block is large enough");
}

static void full(const plim__reader *reader, plim_explanation *x, char *to, size_t room) {
    text a, b;
    plim__facts facts = reader->incident.facts.facts;
    bool most = x->allocated.known && x->capacity.known && x->allocated.bytes >= x->capacity.bytes / 2;
    if (facts & PLIM_FACT_KV_CACHE)
        snprintf(to, room, "The device has no room for the model's cache");
    else if (most && x->allocated.bytes <= x->capacity.bytes)
        snprintf(to, room, "The device is full: %s of %s are live", size(x->allocated, a), size(x->capacity, b));
    else if (x->requested.known && x->free.known && x->free.bytes < x->requested.bytes)
        snprintf(to, room, "The device has no room for %s: %s are free", size(x->requested, a), size(x->free, b));
    else if (x->requested.known && x->requested.bytes)
        snprintf(to, room, "The device has no room for %s more", size(x->requested, a));
    else
        snprintf(to, room, "The device ran out of memory");
}

static void host(const plim__reader *reader, plim_explanation *x, char *to, size_t room) {
    text a, b;
    plim__facts facts = reader->incident.facts.facts;
    if (facts & PLIM_FACT_FILES)
        snprintf(to, room, "Shared memory could not be opened: file handles or /dev/shm ran out");
    else if (facts & PLIM_FACT_SHM)
        snprintf(to, room, "Shared memory (/dev/shm) is full");
    else if ((facts & PLIM_FACT_WIN_COMMIT) && !(x->requested.known && x->requested.bytes >= (uint64_t)1 << 30))
        snprintf(to, room, "Windows' page file is too small for what is asked");
    else if (facts & PLIM_FACT_MAPS)
        snprintf(to, room, "A mapping of %s was refused: a limit on mappings, not memory", size(x->requested, a));
    else if (facts & PLIM_FACT_THREADS)
        snprintf(to, room, "No further thread could be started");
    else if (facts & PLIM_FACT_OBJECT_STORE)
        snprintf(to, room, "Ray's object store is full");
    else if (x->requested.known && x->free.known)
        snprintf(to, room, "Host memory is short: %s needed, %s available", size(x->requested, a), size(x->free, b));
    else if (facts & PLIM_FACT_POSSIBLE)
        snprintf(to, room, "Killed from outside; host memory is the usual reason");
    else if (facts & PLIM_FACT_KILLED)
        snprintf(to, room, "Host memory ran out: the process was killed");
    else if (x->requested.known && x->requested.bytes)
        snprintf(to, room, "The host has no room for %s", size(x->requested, a));
    else
        snprintf(to, room, "Host memory ran out");
}

void plim__write_headline(const plim__reader *reader, plim_explanation *x) {
    text a, b;
    uint64_t others;
    char *to = x->headline;
    size_t room = sizeof x->headline;
    switch (x->cause) {
    case PLIM_CAUSE_BAD_SIZE:
        snprintf(to, room, "The size is nonsense: a bug in the program, not a lack of memory");
        break;
    case PLIM_CAUSE_TOO_BIG: too_big(reader, x, to, room); break;
    case PLIM_CAUSE_LIMIT: limit(reader, x, to, room); break;
    case PLIM_CAUSE_PER_ALLOCATION_LIMIT:
        if (x->requested.known)
            snprintf(to, room, "The platform gives no single block of %s", size(x->requested, a));
        else
            snprintf(to, room, "The platform gives no single block of that size");
        break;
    case PLIM_CAUSE_OTHER_PROCESS:
        if (plim__others(x, &others) && others && x->capacity.known)
            snprintf(to, room, "%s hold %s of %s", x->other_process.known ? "Other processes" : "Others",
                     plim__size(others, a), size(x->capacity, b));
        else if (x->capacity.known && x->free.known)
            snprintf(to, room, "Somebody else has the device: only %s of %s were free", size(x->free, a),
                     size(x->capacity, b));
        else if (x->capacity.known && x->reserved.known)
            snprintf(to, room, "Only %s of %s are this program's: somebody else has the rest, or the driver refuses",
                     size(x->reserved, a), size(x->capacity, b));
        else
            snprintf(to, room, "Somebody else has the device");
        break;
    case PLIM_CAUSE_FRAGMENTED: fragmented(reader, x, to, room); break;
    case PLIM_CAUSE_FULL: full(reader, x, to, room); break;
    case PLIM_CAUSE_HOST_MEMORY: host(reader, x, to, room); break;
    default: snprintf(to, room, "%s", plim_cause_sentence(x->cause)); break;
    }
}
