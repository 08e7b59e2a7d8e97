/* TensorFlow's messages, and the BFC allocator that JAX prints from as well. */
#include <stdio.h>
#include <string.h>

#include "diagnose/reader.h"

/* Who speaks: both frameworks carry the same allocator under different paths. */
static plim__facts speaker(plim__reader *reader, const char *at) {
    plim__text line = plim__line_at(reader, at);
    size_t reach = (size_t)(line.end - line.at);
    if (reach > 600) reach = 600;
    if (plim__has(line, reach, "org_tensorflow") || plim__has(line, reach, "external/xla") ||
        plim__has(line, reach, "external/tsl") || plim__has(line, reach, "jaxlib") || plim__has(line, reach, "jax."))
        return PLIM_FACT_JAX;
    if (plim__has(line, reach, "tensorflow") || plim__has(line, reach, "external/local_tsl"))
        return PLIM_FACT_TENSORFLOW;
    return 0;
}

static plim__event tf_event(plim__reader *reader, const char *start) {
    plim__event event = plim__event_at(reader, PLIM_GROUP_XLA, "tensorflow", plim__line_at(reader, start).at);
    event.facts |= speaker(reader, start);
    return event;
}

/* --- op level ------------------------------------------------------------------------------------------------- */

/* "/job:localhost/replica:0/task:0/device:GPU:1", old "/gpu:0"; "DML" is a GPU, too. */
static void take_device(plim__text t, size_t reach, plim__event *event) {
    static const struct {
        const char *name, *kind;
    } devices[] = {{"device:GPU:%i", "gpu"}, {"device:DML:%i", "gpu"}, {"device:CPU:%i", "host"},
                   {"device:TPU:%i", "tpu"}, {"task:0/gpu:%i", "gpu"}, {"task:0/cpu:%i", "host"},
                   {"device:XPU:%i", "xpu"}, {"XLA_GPU:%i", "gpu"}};
    const char *first = NULL;
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
        plim__text s = t;
        int64_t index;
        if (!plim__seek(&s, reach, devices[i].name, &index) || (first && s.at >= first)) continue;
        first = s.at;
        event->kind = devices[i].kind;
        event->index = strcmp(event->kind, "host") == 0 ? -1 : index;
    }
}

static void take_name(plim__text name, plim__event *event) {
    plim__skip_blank(&name);
    size_t length = 0;
    while (name.at < name.end && (unsigned char)*name.at > ' ' && *name.at != ']' && *name.at != '}' &&
           length + 1 < sizeof event->op)
        event->op[length++] = *name.at++;
    event->op[length] = 0;
}

/* "[[{{node a/b}}]]", "[[node a/b (defined at ...)]]", "[Op:GatherV2]": the name alone. */
static void take_op(plim__text t, plim__event *event) {
    static const char *const heads[] = {"[[{{node", "[[node", "[Op:"};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        plim__text name = t;
        if (!event->op[0] && plim__seek(&name, 160, heads[i]) && name.at < name.end && *name.at != ':')
            take_name(name, event);
    }
}

/* "[[Node: a/b = Sub[T=DT_FLOAT, _device=...](...)]]": the type and the place, where the message has neither. */
static void take_node(plim__text t, plim__event *event) {
    plim__text node = t;
    if (!plim__seek(&node, 600, "[[Node:")) return;
    if (!event->op[0]) take_name(node, event);
    const char *stop = node.at;
    while (stop < node.end && stop - node.at < 1500 && memcmp(stop, "]]", node.end - stop > 1 ? 2 : 1) != 0) stop++;
    plim__text inside = {node.at, stop};
    char word[32];
    plim__text type = inside;
    if (!event->dtype[0]) {
        bool found = plim__seek(&type, 1500, "dtype=DT_");
        if (!found) {
            type = inside;
            found = plim__seek(&type, 1500, "[T=DT_");
        }
        if (!found) {
            type = inside;
            found = plim__seek(&type, 1500, ", T=DT_");
        }
        if (!found) {
            type = inside;
            found = plim__seek(&type, 1500, "DstT=DT_");
        }
        if (found) {
            plim__take_word(&type, word, sizeof word);
            if (!plim__dtype_word(word, event->dtype, sizeof event->dtype)) event->dtype[0] = 0;
        }
    }
    if (!event->kind) take_device(inside, 1500, event);
    if (!event->kind && plim__has(inside, 1500, "device:GP")) event->kind = "gpu"; /* cut there */
}

static int take_old_dims(plim__text *t, int64_t *shape) {
    int rank = 0;
    while (rank < PLIM_EXPLANATION_DIMS && plim__take(t, " dim { size: %i }", &shape[rank])) rank++;
    return rank;
}

/* "shape[32,64,11" at the end of a text. */
static void note_cut_shape(plim__reader *reader, plim__event *event, plim__text at) {
    int length = 0;
    while (at.at + length < at.end && length < 40 && strchr("0123456789, ", at.at[length]) && at.at[length]) length++;
    if (!length || at.at + length < at.end - 1) return;
    event->facts |= PLIM_FACT_CUT;
    snprintf(reader->unread, sizeof reader->unread, "the shape: \"[%.*s\" is cut off; it was not guessed", length,
             at.at);
}

static void parse_oom(plim__reader *reader, const char *start, const char *end) {
    plim__event event = tf_event(reader, start);
    plim__text t = plim__text_at(reader, end);
    event.facts |= PLIM_FACT_TENSORFLOW;
    event.strength = PLIM_FULL;
    bool told = plim__take(&t, " with shape"), typed = !told && plim__take(&t, " of shape"); /* by hand */
    if (plim__take(&t, typed ? " [" : "[")) {
        plim__text dims = t;
        event.rank = plim__take_dims(&t, ']', event.shape);
        if (event.rank < 0) note_cut_shape(reader, &event, dims);
    } else {
        int rank = take_old_dims(&t, event.shape);
        event.rank = rank > 0 ? rank : -1;
        if (told) event.version = "TensorFlow 0.5 to 0.7";
    }
    char word[32];
    if (plim__take(&t, " and type ")) {
        plim__take_word(&t, word, sizeof word);
        if (!plim__dtype_word(word, event.dtype, sizeof event.dtype)) event.dtype[0] = 0;
        if (plim__take(&t, " on ")) take_device(t, 120, &event);
        if (!event.version) event.version = "TensorFlow 1.5 or later";
    } else if (!event.version && (told || typed)) { /* else it is a title, which has no age */
        event.version = "TensorFlow 0.8 to 1.4";
    }
    if (plim__has(t, 80, "DmlAlloc")) event.kind = "gpu";
    const char *stop = t.at;
    take_op(t, &event);
    take_node(t, &event);
    plim__event_size(&event);
    if (event.kind && strcmp(event.kind, "host") == 0) event.facts |= PLIM_FACT_HOST;
    plim__report(reader, &event, stop);
}

/* --- the allocator -------------------------------------------------------------------------------------------- */

static void take_allocator_name(plim__reader *reader, const char *start, plim__event *event) {
    const char *from = start - reader->begin > 120 ? start - 120 : reader->begin;
    plim__text t = {from, start};
    int64_t index;
    while (plim__seek(&t, 120, "GPU_%i_bfc", &index)) {
        event->kind = "gpu";
        event->index = index;
    }
    if (plim__has_before(reader->begin, start, 60, "(cpu") ||
        plim__has_before(reader->begin, start, 60, "(bfc_cpu_allocator") ||
        plim__has_before(reader->begin, start, 60, "(mklcpu") ||
        plim__has_before(reader->begin, start, 60, "gpu_host_bfc") ||
        plim__has_before(reader->begin, start, 60, "cuda_host_bfc")) {
        event->kind = "host";
        event->facts |= PLIM_FACT_HOST;
    }
}

static void parse_trying(plim__reader *reader, const char *start, const char *end) {
    plim__event event = tf_event(reader, start);
    plim__text t = plim__text_at(reader, end);
    if (plim__before(reader, start, 40, "Out of memory while") || plim__before(reader, start, 40, "memory while")) {
        return; /* JAX's own sentence, read there */
    }
    if (plim__before(reader, start, 24, "GPU memory")) return; /* Julia */
    if (!plim__before(reader, start, 40, "ran out of memory")) return;
    event.strength = PLIM_STRONG;
    take_allocator_name(reader, start, &event);
    if (!plim__take(&t, " %S", &event.requested)) return;
    if (plim__take(&t, " (rounded to %n)", &event.requested)) {
        if (plim__take(&t, " requested by op")) {
            while (t.at < t.end && (*t.at == ' ' || *t.at == '\t')) t.at++;
            size_t length = 0;
            while (t.at < t.end && (unsigned char)*t.at > ' ' && length + 1 < sizeof event.op)
                event.op[length++] = *t.at++;
            event.op[length] = 0;
            if (strstr(event.op, "_EagerConst")) event.facts |= PLIM_FACT_EAGER_CONST;
        }
        event.version = "TensorFlow 2.x";
    }
    if (plim__has(t, 120, "not a failure")) event.facts |= PLIM_FACT_WARNING;
    if (plim__has(t, 60, "with freed_by_count")) event.facts |= PLIM_FACT_WARNING;
    if (!event.kind && !(event.facts & PLIM_FACT_WARNING)) event.kind = "gpu";
    plim__report(reader, &event, t.at);
}

/* "failed to allocate 1.51G (<n> bytes) from device: CUDA_ERROR_OUT_OF_MEMORY" */
static void parse_driver(plim__reader *reader, const char *start, const char *end) {
    plim__text t = plim__text_at(reader, end);
    plim__event event = tf_event(reader, start);
    plim_amount rounded;
    bool async = plim__before(reader, start, 20, "cuMemAllocAsync");
    if (async && plim__take(&t, " %n bytes", &event.requested)) {
        event.kind = "gpu";
        event.strength = PLIM_FULL;
        event.version = "TensorFlow 2.x with TF_GPU_ALLOCATOR=cuda_malloc_async";
        const char *from = start - reader->begin > 60 ? start - 60 : reader->begin;
        plim__text name = {from, start};
        plim__seek(&name, 60, "gpu_async_%i", &event.index);
        plim__text report = t;
        if (plim__seek(&report, 300, "Free memory/Total memory: %n/%n", &event.free, &event.capacity)) t = report;
        plim__report(reader, &event, t.at);
        reader->incident.dumped = true; /* its Stats follow */
        return;
    }
    if (!plim__take(&t, " %S (%n bytes) from device", &rounded, &event.requested)) return;
    event.kind = "gpu";
    event.facts |= PLIM_FACT_DRIVER;
    event.strength = PLIM_WEAK;
    plim__report(reader, &event, t.at);
}

/* --- the dump ------------------------------------------------------------------------------------------------- */

static void parse_dump_begin(plim__reader *reader, const char *start, const char *end) {
    plim__event event = tf_event(reader, start);
    plim__text t = plim__text_at(reader, end);
    int64_t index;
    event.facts |= PLIM_FACT_DUMP;
    event.strength = PLIM_HINT;
    if (plim__take(&t, " GPU_%i_bfc", &index)) {
        event.kind = "gpu";
        event.index = index;
    } else if (plim__take(&t, " cpu") || plim__take(&t, " gpu_host_bfc") || plim__take(&t, " bfc_cpu_allocator") ||
               plim__take(&t, " mklcpu")) {
        event.kind = "host";
        event.facts |= PLIM_FACT_HOST;
    }
    plim__report(reader, &event, t.at);
}

/* The incident that a dump's line belongs to; begins one when the paste starts inside the dump. */
static plim__dump *dump_of(plim__reader *reader, const char *start) {
    plim__incident *incident = &reader->incident;
    if (!incident->is_set || incident->facts.group != PLIM_GROUP_XLA || (incident->facts.facts & PLIM_FACT_WARNING)) {
        plim__event event = tf_event(reader, start);
        event.facts |= PLIM_FACT_DUMP;
        event.strength = PLIM_HINT;
        event.kind = "gpu";
        plim__report(reader, &event, start);
    }
    incident->dumped = true;
    uint64_t position = reader->origin + (uint64_t)(plim__line_at(reader, start).end - reader->begin);
    if (position > incident->end) incident->end = position;
    return &incident->dump;
}

/* "InUse at 7f.. of size <n> next 1", "Free  at ...", "Chunk at 0x...", "3 Chunks of size <n> totalling", "region of
 * size". */
static void parse_of_size(plim__reader *reader, const char *start, const char *end) {
    plim__text t = plim__text_at(reader, end), line = plim__line_at(reader, start);
    plim_amount size;
    int64_t count;
    if (!plim__take(&t, " %n", &size) || !size.known) return;
    const char *from = start - line.at > 48 ? start - 48 : line.at;
    plim__text head = {from, start};
    size_t reach = (size_t)(start - from);
    if (plim__has(head, reach, "region")) {
        plim__dump *dump = dump_of(reader, start);
        dump->regions++;
        if (__builtin_add_overflow(dump->region_bytes, size.bytes, &dump->region_bytes))
            dump->region_bytes = UINT64_MAX;
    } else if (plim__seek(&head, reach, "%i Chunks", &count)) {
        plim__dump *dump = dump_of(reader, start);
        if (!dump->summary) {
            /* the summary repeats the chunks; it counts when they were cut away */
            dump->summary = true;
            if (dump->has_chunks) return;
        } else if (dump->has_chunks) {
            return;
        }
        plim__dump_add(dump, size.bytes, (uint64_t)count);
    } else if (plim__has(head, reach, "Free ") && plim__has(head, reach, " at ")) {
        plim__dump *dump = dump_of(reader, start);
        dump->has_chunks = true;
        dump->free_count++;
        if (__builtin_add_overflow(dump->free_bytes, size.bytes, &dump->free_bytes)) dump->free_bytes = UINT64_MAX;
        if (size.bytes > dump->largest_free) dump->largest_free = size.bytes;
    } else if ((plim__has(head, reach, "InUse ") || plim__has(head, reach, "Chunk ")) &&
               plim__has(head, reach, " at ")) {
        plim__dump *dump = dump_of(reader, start);
        dump->has_chunks = true;
        plim__dump_add(dump, size.bytes, 1);
    }
}

static void parse_pool(plim__reader *reader, const char *start, const char *end) {
    plim__text t = plim__text_at(reader, end);
    plim_amount pool, limit;
    if (!plim__take(&t, " %N", &pool) || !pool.known) return;
    plim__dump *dump = dump_of(reader, start);
    dump->pool_bytes = pool.bytes;
    dump->rounded |= !pool.exact;
    if (plim__take(&t, " memory_limit_: %N", &limit) && limit.known) dump->memory_limit = limit.bytes;
}

/* "Limit:   <n>" and the lines below it. */
static void parse_stats(plim__reader *reader, const char *start, const char *end) {
    plim__text t = plim__text_at(reader, end);
    plim_amount limit, amount;
    if (start > reader->begin && (start[-1] == '_' || start[-1] == '-')) return;
    if (!plim__take(&t, " %N", &limit) || !limit.known) return;
    plim__text next = t;
    if (!plim__seek(&next, 60, "InUse:") || !plim__has(next, 120, "MaxInUse:")) return; /* somebody else's limit */
    plim__dump *dump = dump_of(reader, start);
    dump->limit = limit.bytes;
    dump->has_stats = dump->has_limit = true;
    dump->rounded |= !limit.exact;
    t = next;
    if (plim__take(&t, " %N", &amount) && amount.known) dump->in_use = amount.bytes, dump->has_in_use = true;
    next = t;
    if (plim__seek(&next, 60, "MaxInUse: %N", &amount) && amount.known) dump->max_in_use = amount.bytes, t = next;
    next = t;
    if (plim__seek(&next, 200, "Reserved: %N", &amount) && amount.known) dump->reserved = amount.bytes, t = next;
    next = t;
    if (plim__seek(&next, 120, "LargestFreeBlock: %N", &amount) && amount.known)
        dump->stated_largest_free = amount.bytes, t = next;
    uint64_t position = reader->origin + (uint64_t)(t.at - reader->begin);
    if (position > reader->incident.end) reader->incident.end = position;
}

/* --- disguises and nonsense ----------------------------------------------------------------------------------- */

static void report_disguised(plim__reader *reader, const char *start, const char *end) {
    plim__event event = tf_event(reader, start);
    event.facts |= PLIM_FACT_DISGUISED;
    event.kind = "gpu";
    plim__report(reader, &event, end);
}

static void parse_copy(plim__reader *reader, const char *start, const char *end) {
    plim__event event = tf_event(reader, start);
    const char *from = start - reader->begin > 400 ? start - 400 : reader->begin;
    plim__text t = {from, start}, to;
    event.facts |= PLIM_FACT_DISGUISED | PLIM_FACT_TENSORFLOW;
    event.kind = "gpu";
    event.strength = PLIM_STRONG;
    if (plim__seek(&t, 400, "Failed copying input tensor from")) { /* the device is the second one */
        to = t;
        if (plim__seek(&to, 200, " to /job")) take_device(to, 120, &event);
        if (plim__has(t, 400, "_EagerConst")) event.facts |= PLIM_FACT_EAGER_CONST;
    } else {
        take_node(plim__text_at(reader, end), &event);
        event.dtype[0] = 0;
        event.rank = -1;
    }
    if (event.kind && strcmp(event.kind, "host") == 0) event.kind = "gpu", event.index = -1;
    plim__report(reader, &event, end);
}

static void parse_zero(plim__reader *reader, const char *start, const char *end) {
    if (!plim__before(reader, start, 120, "tensorflow") && !plim__has(plim__text_at(reader, end), 400, "tensorflow") &&
        !plim__has(plim__text_at(reader, end), 40, "See error logs"))
        return;
    plim__event event = tf_event(reader, start);
    event.facts |= PLIM_FACT_BAD_SIZE | PLIM_FACT_TENSORFLOW;
    event.requested = plim__exact(0);
    event.kind = "gpu";
    event.strength = PLIM_STRONG;
    plim__report(reader, &event, end);
}

/* --- warnings and what is said at the start ------------------------------------------------------------------- */

static void parse_ten_percent(plim__reader *reader, const char *start, const char *end) {
    plim__event event = tf_event(reader, start);
    const char *from = start - reader->begin > 60 ? start - 60 : reader->begin;
    plim__text t = {from, start};
    event.facts |= PLIM_FACT_WARNING | PLIM_FACT_TENSORFLOW;
    event.kind = "host";
    plim__seek(&t, 60, "Allocation of %n", &event.requested);
    plim__report(reader, &event, end);
}

static void parse_garbage(plim__reader *reader, const char *start, const char *end) {
    plim__event event = tf_event(reader, start);
    event.facts |= PLIM_FACT_WARNING;
    plim__report(reader, &event, end);
}

static void parse_created(plim__reader *reader, const char *start, const char *end) {
    plim__text t = plim__text_at(reader, end);
    int64_t megabytes;
    (void)start;
    if (plim__seek(&t, 160, "with %i MB memory", &megabytes)) reader->created_mb = megabytes;
}

static void parse_total_memory(plim__reader *reader, const char *start, const char *end) {
    plim__text t = plim__text_at(reader, end);
    plim_amount total;
    (void)start;
    if (!plim__take(&t, " %S", &total)) return;
    reader->total_memory = total;
    reader->free_memory = (plim_amount){0};
    plim__take(&t, " free Memory: %S", &reader->free_memory);
}

const plim__row plim__rows_tensorflow[] = {
    {"whenallocatingtensor", parse_oom},
    {"tryingtoallocate", parse_trying},
    {"failedtoallocate", parse_driver},
    {"bfcallocatordumpfor", parse_dump_begin},
    {"ofsize", parse_of_size},
    {"totalbytesinpool:", parse_pool},
    {"totalsizeinpool:", parse_pool},
    {"total_region_allocated_bytes_:", parse_pool},
    {"limit:", parse_stats},
    {"couldnotcreatecudnnhandle", report_disguised},
    {"failedtogetconvolutionalgorithm", report_disguised},
    {"failedtocreatecublashandle", report_disguised},
    {"blasgemmlaunchfailed", report_disguised},
    {"blasxgemmlaunchfailed", report_disguised},
    {"dsttensorisnotinitialized", parse_copy},
    {"triedtoallocate0bytes", parse_zero},
    {"ranoutofmemorywhenallocating0", parse_zero},
    {"exceeds10%of", parse_ten_percent},
    {"garbagecollection:deallocatefree", parse_garbage},
    {"createddevice/job", parse_created},
    {"createdtensorflowdevice", parse_created},
    {"totalmemory:", parse_total_memory},
    {0},
};
