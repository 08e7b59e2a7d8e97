/* Any bytes as what `report` may be given: a trace, a snapshot or a log; then everything is made of it. */
#include <sys/mman.h>
#include <unistd.h>

#include "report/report.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void make_all(const plim__timeline *timeline, const plim__summary *summary) {
    plim__str text = {0};
    plim__report_text(timeline, summary, NULL, &text);
    plim__str_free(&text);
    json_decref(plim__report_json(timeline, summary));
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    char path[32];
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (fd < 0) return 0;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    plim__timeline timeline;
    plim__summary summary;
    plim_error error;
    plim__timeline_init(&timeline, PLIM__SOURCE_RUN);
    if (write(fd, data, size) == (ssize_t)size && plim__report_read(path, -1, &timeline, &error) == PLIM_OK &&
        timeline.ticks < 1u << 20 && plim__summary_make(&timeline, &summary, &error) == PLIM_OK) {
        make_all(&timeline, &summary);
        plim__summary_free(&summary);
    }
    plim__timeline_free(&timeline);
    close(fd);
    return 0;
}
