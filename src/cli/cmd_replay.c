/* plimsoll replay: the requests of a record under other settings of an allocator, or on another card. */
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/activity.h"
#include "cli/command.h"
#include "cli/format.h"
#include "cli/terminal.h"

typedef struct job {
    plim__args *args;
    plim_replay *replay;
    plim_pool_options options;
    plim_replay_result result;
    plim_error error;
} job;

enum { MOST_SETTINGS = 16 };

typedef struct trial {
    const plim_replay_setting *setting;
    plim_pool_kind kind;
    plim_replay_result result;
} trial;

static void print_figure(const char *name, uint64_t end, uint64_t peak) {
    char at_end[PLIM_BYTES_TEXT], highest[PLIM_BYTES_TEXT], exact[PLIM_BYTES_TEXT];
    printf("  %-14s peak %10s   end %10s   (%s bytes)\n", name, plim_bytes_format(peak, highest),
           plim_bytes_format(end, at_end), plim_bytes_group(peak, exact));
}

static void print_comparison(const plim_replay_result *r) {
    if (!r->addresses) return;
    char all[PLIM_BYTES_TEXT], right[PLIM_BYTES_TEXT];
    bool reserved = r->recorded_reserved == r->stats.reserved, allocated = r->recorded_allocated == r->stats.allocated;
    printf("  %-14s %s of %s addresses as recorded; at the end reserved %s, allocated %s\n", "record",
           plim_bytes_group(r->addresses - r->wrong, right), plim_bytes_group(r->addresses, all),
           reserved ? "to the byte" : "differs", allocated ? "to the byte" : "differs");
}

static void print_failure(const plim_replay_result *r) {
    char asked[PLIM_BYTES_TEXT], unused[PLIM_BYTES_TEXT], largest[PLIM_BYTES_TEXT];
    printf("  DOES NOT FIT: request %" PRIu64 " of %s%s%s was refused; %s are cached, the longest free block has %s\n",
           r->failed_event, plim_bytes_format(r->failed_bytes, asked), r->failed_name[0] ? " for " : "",
           plim__shown(r->failed_name), plim_bytes_format(r->stats.unused, unused),
           plim_bytes_format(r->stats.largest_free, largest));
}

/* Cards differ by less than a tenth of a GiB. */
static const char *in_mebibytes(uint64_t bytes, char text[PLIM_BYTES_TEXT + 8]) {
    char group[PLIM_BYTES_TEXT];
    snprintf(text, PLIM_BYTES_TEXT + 8, "%s MiB", plim_bytes_group((bytes + (1 << 20) - 1) >> 20, group));
    return text;
}

/* A setting that the same program can have: cudaMallocAsync is one of PyTorch's. */
static bool is_setting_of(const job *j, const trial *t) {
    return t->kind == j->options.kind || (j->options.kind == PLIM_POOL_PYTORCH && t->kind == PLIM_POOL_CUDA_ASYNC);
}

static void print_saved(const job *j, const trial *trials, size_t count) {
    char text[PLIM_BYTES_TEXT + 8];
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        if (trials[i].result.failed || !is_setting_of(j, &trials[i])) continue;
        printf("%s%s", any ? ", " : "  saved by       ", trials[i].setting->text);
        any = true;
    }
    printf("%s\n", any ? "" : "  saved by       none of these settings of its allocator");
    if (j->result.least) printf("  %-14s as it is it needs %s\n", "", in_mebibytes(j->result.least, text));
}

static void print_trials(const job *j, const trial *trials, size_t count) {
    printf("\n  %-72s %12s %12s%s\n", "setting", "reserved", "least card", j->options.capacity ? "  fits" : "");
    for (size_t i = 0; i < count; i++) {
        char reserved[PLIM_BYTES_TEXT + 8], least[PLIM_BYTES_TEXT + 8];
        const plim_replay_result *r = &trials[i].result;
        printf("  %-72s %12s %12s%s\n", trials[i].setting->text, in_mebibytes(r->stats.reserved_peak, reserved),
               in_mebibytes(r->least, least),
               !j->options.capacity ? ""
               : r->failed          ? "  no"
                                    : "  yes");
    }
}

/* The moment at which most was cached without use. */
static void print_waste(const job *j) {
    const plim_replay_point *point, *most = NULL;
    char unused[PLIM_BYTES_TEXT], reserved[PLIM_BYTES_TEXT], longest[PLIM_BYTES_TEXT], event[PLIM_BYTES_TEXT];
    for (size_t i = 0; (point = plim_replay_point_at(j->replay, i)); i++)
        if (!most || point->unused > most->unused) most = point;
    if (!most || !most->unused) return;
    printf("  %-14s %s of %s reserved after request %s, the longest free block %s\n", "most unused",
           plim_bytes_format(most->unused, unused), plim_bytes_format(most->reserved, reserved),
           plim_bytes_group(most->event, event), plim_bytes_format(most->largest_free, longest));
}

static void print_text(const job *j, const trial *trials, size_t count) {
    const plim_replay_result *r = &j->result;
    char events[PLIM_BYTES_TEXT], capacity[PLIM_BYTES_TEXT], held[PLIM_BYTES_TEXT], least[PLIM_BYTES_TEXT];
    printf("%s: %s requests%s, %s", plim__shown(plim__args_at(j->args, 0)), plim_bytes_group(r->events, events),
           r->failed ? " until one is refused" : "", plim_pool_title(j->options.kind));
    if (j->options.capacity) printf(" on %s", plim_bytes_format(j->options.capacity, capacity));
    printf("\n");
    if (r->held_before)
        printf("  %-14s %s were held when the record began; they are placed first\n", "before",
               plim_bytes_format(r->held_before, held));
    print_figure("requested", r->stats.requested, r->stats.requested_peak);
    print_figure("allocated", r->stats.allocated, r->stats.allocated_peak);
    print_figure("reserved", r->stats.reserved, r->stats.reserved_peak);
    printf("  %-14s %.1f %% of what is cached at the end lies in smaller pieces; %" PRIu64 " retries at the limit\n",
           "fragmentation", 100 * r->stats.fragmentation, r->stats.retries);
    print_waste(j);
    print_comparison(r);
    if (r->failed) print_failure(r);
    if (r->failed && count) print_saved(j, trials, count);
    if (r->least && !(r->failed && count)) printf("  %-14s %s\n", "least card", plim_bytes_format(r->least, least));
    if (count) print_trials(j, trials, count);
}

static json_t *result_json(const plim_replay_result *r) {
    const plim_pool_stats *s = &r->stats;
    json_t *stats = json_pack(
        "{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:f}", "requested", (json_int_t)s->requested,
        "requested_peak", (json_int_t)s->requested_peak, "allocated", (json_int_t)s->allocated, "allocated_peak",
        (json_int_t)s->allocated_peak, "reserved", (json_int_t)s->reserved, "reserved_peak",
        (json_int_t)s->reserved_peak, "unused", (json_int_t)s->unused, "stuck", (json_int_t)s->stuck, "largest_free",
        (json_int_t)s->largest_free, "segments", (json_int_t)s->segments, "allocations", (json_int_t)s->allocations,
        "retries", (json_int_t)s->retries, "fragmentation", s->fragmentation);
    json_t *failure = r->failed ? json_pack("{s:I, s:I, s:s}", "event", (json_int_t)r->failed_event, "bytes",
                                            (json_int_t)r->failed_bytes, "name", r->failed_name)
                                : json_null();
    return json_pack("{s:I, s:b, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "events", (json_int_t)r->events, "fits",
                     !r->failed, "failure", failure, "held_before", (json_int_t)r->held_before, "addresses",
                     (json_int_t)r->addresses, "addresses_wrong", (json_int_t)r->wrong, "recorded_reserved",
                     (json_int_t)r->recorded_reserved, "recorded_allocated", (json_int_t)r->recorded_allocated, "least",
                     (json_int_t)r->least, "stats", stats);
}

static json_t *history_json(const plim_replay *replay) {
    json_t *list = json_array();
    const plim_replay_point *p;
    for (size_t i = 0; (p = plim_replay_point_at(replay, i)); i++)
        json_array_append_new(list, json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:f}", "event", (json_int_t)p->event,
                                              "requested", (json_int_t)p->requested, "allocated",
                                              (json_int_t)p->allocated, "reserved", (json_int_t)p->reserved, "unused",
                                              (json_int_t)p->unused, "largest_free", (json_int_t)p->largest_free,
                                              "fragmentation", p->fragmentation));
    return list;
}

static json_t *to_json(const job *j, const trial *trials, size_t count) {
    json_t *list = json_array(), *all = result_json(&j->result);
    for (size_t i = 0; i < count; i++) {
        json_t *row = result_json(&trials[i].result);
        json_object_set_new(row, "setting", json_string(trials[i].setting->text));
        json_array_append_new(list, row);
    }
    json_object_set_new(all, "allocator", json_string(plim_pool_name(j->options.kind)));
    json_object_set_new(all, "capacity", json_integer((json_int_t)j->options.capacity));
    json_object_set_new(all, "settings", list);
    json_object_set_new(all, "history", history_json(j->replay));
    return all;
}

static plim_status try_settings(job *j, trial *trials, size_t *count) {
    const plim_replay_setting *setting = NULL;
    *count = 0;
    while (*count < MOST_SETTINGS && (setting = plim_replay_setting_at(*count))) {
        trial *t = &trials[*count];
        plim_pool_options options = {.capacity = j->options.capacity};
        t->setting = setting;
        plim_status status = plim_pool_parse(setting->text, &options, &j->error);
        t->kind = options.kind;
        if (status == PLIM_OK) status = plim_replay_run(j->replay, &options, &t->result, &j->error);
        if (status == PLIM_OK) status = plim_replay_least_capacity(j->replay, &options, &t->result.least, &j->error);
        if (status != PLIM_OK) return status;
        ++*count;
    }
    return PLIM_OK;
}

static int deliver(job *j) {
    trial trials[MOST_SETTINGS];
    size_t count = 0;
    const char *page = plim__args_get(j->args, "output");
    plim_status status = PLIM_OK;
    if (!plim__args_has(j->args, "no-settings")) status = try_settings(j, trials, &count);
    if (status == PLIM_OK) status = plim_replay_run(j->replay, &j->options, &j->result, &j->error);
    if (status == PLIM_OK) status = plim_replay_least_capacity(j->replay, &j->options, &j->result.least, &j->error);
    if (status != PLIM_OK) return plim__say_error(j->args, &j->error);
    plim__activity_end();
    if (plim__args_json(j->args)) {
        int code = plim__say_json(j->args, to_json(j, trials, count));
        if (code != PLIM_EXIT_OK) return code;
    } else {
        print_text(j, trials, count);
    }
    if (plim__args_has(j->args, "text") && !plim__args_json(j->args)) {
        plim__terminal terminal = plim__terminal_of(STDOUT_FILENO);
        char *text = NULL;
        if (plim_replay_print(j->replay, terminal.width, terminal.unicode, &text, &j->error) != PLIM_OK)
            return plim__say_error(j->args, &j->error);
        printf("\n%s", text);
        plim_text_free(text);
    }
    if (page && plim_replay_save_page(j->replay, page, &j->error) != PLIM_OK)
        return plim__say_error(j->args, &j->error);
    if (page && !plim__args_json(j->args)) printf("wrote %s\n", plim__shown(page));
    return j->result.failed ? PLIM_EXIT_FAILURE : PLIM_EXIT_OK;
}

static int run(plim__args *args) {
    job j = {.args = args};
    int64_t device = -1;
    const char *allocator = plim__args_get(args, "allocator");
    if (!plim__args_at(args, 0) || plim__args_count(args) > 1) return plim__say_usage(args, "give one file");
    if (!plim__args_int(args, "device", 0, 4095, &device) || !plim__args_bytes(args, "memory", &j.options.capacity))
        return PLIM_EXIT_USAGE;
    if (allocator && plim_pool_parse(allocator, &j.options, &j.error) != PLIM_OK)
        return plim__say_usage(args, "--allocator: %s", j.error.message);
    plim__activity_say(args, "replaying %s", plim__args_at(args, 0));
    if (plim_replay_load(plim__args_at(args, 0), (int)device, &j.replay, &j.error) != PLIM_OK)
        return plim__say_error(args, &j.error);
    int code = deliver(&j);
    plim_replay_free(j.replay);
    return code;
}

static const plim__option options[] = {
    {"allocator", 0, "NAME",
     "pytorch (default), tensorflow, onnxruntime or cuda-malloc-async, with settings after a colon"},
    {"memory", 0, "BYTES", "the memory that the card can give; without it there is no limit"},
    {"output", 'o', "FILE", "write a page of the run"},
    {"text", 't', NULL, "draw a chart in the terminal"},
    {"no-settings", 0, NULL, "do not try other settings"},
    {"device", 0, "N", "of a snapshot with several devices, take this one"},
    {0},
};

const plim__command plim__command_replay = {
    .name = "replay",
    .usage = "SNAPSHOT.pickle|TRACE [--allocator NAME[:SETTINGS]] [--memory BYTES]",
    .summary = "Put a recorded run's requests to another allocator, other settings or another card",
    .description = "The file is a PyTorch memory snapshot or a trace. Every allocation and free of it goes through a\n"
                   "simulation of the allocator: what it would have taken from the card, where it would have failed,\n"
                   "and which settings would have needed less. Settings are spelled as in PYTORCH_CUDA_ALLOC_CONF.\n"
                   "Exit code 1 says that it does not fit.",
    .options = options,
    .examples = "  plimsoll replay snapshot.pickle\n"
                "  plimsoll replay snapshot.pickle --memory 12GiB -o replay.html\n"
                "  plimsoll replay snapshot.pickle --allocator pytorch:expandable_segments:True,max_split_size_mb:256\n"
                "  plimsoll replay run.trace --allocator tensorflow --memory 8GiB --json",
    .run = run,
};
