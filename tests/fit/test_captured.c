/* Ten networks that capture.py captured from PyTorch: as a trace they need what PyTorch's own profiler recorded when the same
 * steps ran. captured.txt has the streams and the profiler's peaks (profiler.py --record makes it), so that this is compared
 * where there is no PyTorch too. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "format/trace.h"
#include "plim_test.h"
#include "plimsoll/predict.h"

enum { MOST_TENSORS = 1024 };

typedef struct stream {
    char path[64];
    plim__trace *trace;
    uint64_t bytes[MOST_TENSORS]; /* of each tensor; 0: given back */
    uint32_t count;
} stream;

static void begin(stream *s) {
    memset(s, 0, sizeof *s);
    snprintf(s->path, sizeof s->path, "/tmp/plimsoll-captured-%ld", (long)getpid());
    assert_int_equal(plim__trace_open(s->path, PLIM__SOURCE_RUN, &s->trace, NULL), PLIM_OK);
}

static void take(stream *s, uint64_t bytes) {
    uint32_t id = 0;
    plim__timeline_buffer buffer = {.name = "tensor", .bytes = bytes, .offset = PLIM__NO_OFFSET};
    assert_true(s->count < MOST_TENSORS);
    assert_int_equal(plim__trace_define_buffer(s->trace, &buffer, &id, NULL), PLIM_OK);
    assert_int_equal(id, s->count);
    plim__trace_born(s->trace, id);
    s->bytes[s->count++] = bytes;
}

/* The oldest live tensor of that size: which one of equals it is does not change the sum. */
static void give(stream *s, uint64_t bytes) {
    uint32_t at = 0;
    while (at < s->count && s->bytes[at] != bytes) at++;
    assert_true(at < s->count);
    plim__trace_died(s->trace, at);
    s->bytes[at] = 0;
}

static void compare(stream *s, uint64_t peak) {
    plim_prediction *prediction = NULL;
    plim_prediction_result result;
    plim_pool_options pool = {0};
    assert_int_equal(plim__trace_close(s->trace, NULL), PLIM_OK);
    assert_int_equal(plim_prediction_load(s->path, &prediction, NULL), PLIM_OK);
    assert_int_equal(plim_prediction_run(prediction, NULL, &pool, &result, NULL), PLIM_OK);
    unlink(s->path);
    plim_prediction_free(prediction);
    assert_string_equal(result.cut, "");
    assert_int_equal(result.requested, peak);
    assert_true(result.allocated >= peak && result.reserved >= result.allocated);
}

static void captured_networks_need_what_the_profiler_recorded(void **state) {
    (void)state;
    static stream s;
    FILE *file = fopen(PLIM_SOURCE_DIR "/tests/fit/captured.txt", "r");
    assert_non_null(file);
    char line[128];
    size_t models = 0, peaks = 0;
    while (fgets(line, sizeof line, file)) {
        uint64_t number = 0;
        char kind = '\0';
        if (strncmp(line, "model ", 6) == 0) {
            begin(&s);
            models++;
        } else if (sscanf(line, "peak %" SCNu64, &number) == 1) {
            compare(&s, number);
            peaks++;
        } else if (sscanf(line, "%c %" SCNu64, &kind, &number) == 2) {
            kind == 'f' ? give(&s, number) : take(&s, number);
        }
    }
    fclose(file);
    assert_int_equal(models, 10);
    assert_int_equal(peaks, 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(captured_networks_need_what_the_profiler_recorded)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
