/* Which reader a file needs, by its first bytes. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "core/file.h"
#include "format/run_record.h"
#include "format/tf_dump.h"
#include "format/torch_snapshot.h"
#include "format/trace.h"
#include "report/report.h"

enum { HEAD_BYTES = 4096 };

static plim_status read_head(const char *path, unsigned char *head, size_t *size, plim_error *error) {
    FILE *file = fopen(path, "rbe");
    if (!file) return plim__fail_errno(error, errno, "cannot open '%s'", path);
    *size = fread(head, 1, HEAD_BYTES, file);
    bool bad = ferror(file) != 0;
    int saved = errno;
    fclose(file);
    if (bad) return plim__fail_errno(error, saved, "cannot read '%s'", path);
    if (*size == 0) return plim__fail(error, PLIM_CORRUPT, "'%s' is empty", path);
    return PLIM_OK;
}

/* The title of a file that does not give itself one: its name. */
static plim_status name_it(const char *path, plim__timeline *timeline, plim_error *error) {
    if (timeline->title) return PLIM_OK;
    const char *slash = strrchr(path, '/');
    return plim__timeline_set_title(timeline, slash ? slash + 1 : path, error);
}

plim_status plim__report_read_log(const char *path, int device, plim__timeline *timeline, plim__memory_log *log,
                                  plim_error *error) {
    unsigned char head[HEAD_BYTES];
    size_t size = 0;
    PLIM_TRY(read_head(path, head, &size, error));
    if (plim__trace_sniff(head, size))
        PLIM_TRY(plim__trace_read(path, timeline, error));
    else if (plim__torch_snapshot_sniff(head, size))
        PLIM_TRY(plim__torch_snapshot_log(path, device, timeline, log, error));
    else if (plim__run_record_sniff(head, size))
        PLIM_TRY(plim__run_record_read(path, timeline, error));
    else
        PLIM_TRY(plim__tf_dump_read(path, timeline, error));
    return name_it(path, timeline, error);
}

plim_status plim__report_read(const char *path, int device, plim__timeline *timeline, plim_error *error) {
    return plim__report_read_log(path, device, timeline, NULL, error);
}
