/* An event file is a row of records, each an Event in protobuf's wire format:
 *
 *   length (8 bytes) | masked CRC32C of length (4) | Event | masked CRC32C of Event (4)
 *
 *   Event   { 1: double wall_time, 2: int64 step, 3: string file_version, 5: Summary, 7: SessionLog { 1: enum status } }
 *   Summary { 1: repeated Value { 1: string tag, 2: float simple_value } }
 */
#include "cli/event_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/error.h"

enum { TAG = 63, VALUE = TAG + 16, EVENT = PLIM__EVENT_MOST_SCALARS * VALUE + 64, SESSION_STARTS = 1 };
enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 }; /* wire types */

typedef struct bytes {
    unsigned char data[EVENT];
    size_t count;
} bytes;

/* --- records ---------------------------------------------------------------------------------------------------- */

static uint32_t crc32c(const unsigned char *data, size_t count) {
    uint32_t crc = ~0u;
    for (size_t i = 0; i < count; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0x82F63B78u : 0);
    }
    return ~crc;
}

/* Checksums of data that contains checksums are rotated and shifted, as TFRecord has it. */
static uint32_t masked(uint32_t crc) { return (crc >> 15 | crc << 17) + 0xA282EAD8u; }

static void put_little(unsigned char *out, uint64_t value, int count) {
    for (int i = 0; i < count; i++) out[i] = (unsigned char)(value >> 8 * i);
}

static plim_status cannot(const plim__event_file *file, plim_error *error) {
    return plim__fail_errno(error, errno, "cannot write the event file '%s'", file->path);
}

static plim_status write_record(plim__event_file *file, const bytes *event, plim_error *error) {
    unsigned char record[EVENT + 16];
    size_t size = event->count + 16, done = 0;
    put_little(record, event->count, 8);
    put_little(record + 8, masked(crc32c(record, 8)), 4);
    memcpy(record + 12, event->data, event->count);
    put_little(record + 12 + event->count, masked(crc32c(event->data, event->count)), 4);
    while (done < size) {
        ssize_t wrote = write(file->fd, record + done, size - done);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote <= 0) return cannot(file, error);
        done += (size_t)wrote;
    }
    return PLIM_OK;
}

/* --- protobuf --------------------------------------------------------------------------------------------------- */

static void put_byte(bytes *out, unsigned char value) {
    if (out->count < sizeof out->data) out->data[out->count++] = value;
}

static void put_varint(bytes *out, uint64_t value) {
    for (; value >= 128; value >>= 7) put_byte(out, (unsigned char)(value | 128));
    put_byte(out, (unsigned char)value);
}

static void put_key(bytes *out, unsigned field, unsigned type) { put_varint(out, (uint64_t)field << 3 | type); }

static void put_bytes(bytes *out, unsigned field, const void *data, size_t count) {
    put_key(out, field, BYTES);
    put_varint(out, count);
    for (size_t i = 0; i < count; i++) put_byte(out, ((const unsigned char *)data)[i]);
}

static void put_fixed(bytes *out, unsigned field, uint64_t bits, int count) {
    unsigned char little[8];
    put_little(little, bits, count);
    put_key(out, field, count == 8 ? FIXED64 : FIXED32);
    for (int i = 0; i < count; i++) put_byte(out, little[i]);
}

static void begin_event(bytes *event, int64_t step) {
    struct timespec now = {0};
    uint64_t bits;
    clock_gettime(CLOCK_REALTIME, &now);
    double seconds = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
    memcpy(&bits, &seconds, sizeof bits);
    event->count = 0;
    put_fixed(event, 1, bits, 8);
    if (step == 0) return; /* zero is what protobuf takes a field for that is not there */
    put_key(event, 2, VARINT);
    put_varint(event, (uint64_t)step);
}

static void put_scalar(bytes *summary, const plim__event_scalar *scalar) {
    bytes value = {.count = 0};
    float number = (float)scalar->value;
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    put_bytes(&value, 1, scalar->tag, strnlen(scalar->tag, TAG));
    put_fixed(&value, 2, bits, 4);
    put_bytes(summary, 1, value.data, value.count);
}

/* --- files ------------------------------------------------------------------------------------------------------ */

/* The folder with those above it. */
static bool make_folders(const char *folder) {
    char path[4096];
    if (snprintf(path, sizeof path, "%s", folder) >= (int)sizeof path) return errno = ENAMETOOLONG, false;
    for (char *slash = path + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
        *slash = 0;
        if (mkdir(path, 0777) != 0 && errno != EEXIST) return false;
    }
    return mkdir(path, 0777) == 0 || errno == EEXIST;
}

plim_status plim__event_file_open(plim__event_file *file, const char *folder, plim_error *error) {
    char host[65] = "";
    file->fd = -1;
    if (gethostname(host, sizeof host - 1) != 0 || !*host) snprintf(host, sizeof host, "localhost");
    if (!make_folders(folder)) return plim__fail_errno(error, errno, "cannot make the folder '%s'", folder);
    int length = snprintf(file->path, sizeof file->path, "%s/events.out.tfevents.%010lld.%s.%ld.0", folder,
                          (long long)time(NULL), host, (long)getpid());
    if (length >= (int)sizeof file->path)
        return plim__fail(error, PLIM_INVALID, "the path '%.80s...' is too long", folder);
    file->fd = open(file->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file->fd < 0) return cannot(file, error);
    static const char version[] = "brain.Event:2";
    bytes event;
    begin_event(&event, 0);
    put_bytes(&event, 3, version, sizeof version - 1);
    plim_status status = write_record(file, &event, error);
    if (status != PLIM_OK) plim__event_file_close(file, NULL);
    return status;
}

plim_status plim__event_file_restart(plim__event_file *file, int64_t step, plim_error *error) {
    bytes event;
    const unsigned char session[] = {1 << 3 | VARINT, SESSION_STARTS};
    begin_event(&event, step);
    put_bytes(&event, 7, session, sizeof session);
    return write_record(file, &event, error);
}

plim_status plim__event_file_add(plim__event_file *file, int64_t step, const plim__event_scalar *scalars, size_t count,
                                 plim_error *error) {
    bytes event, summary = {.count = 0};
    for (size_t i = 0; i < count && i < PLIM__EVENT_MOST_SCALARS; i++) put_scalar(&summary, &scalars[i]);
    begin_event(&event, step);
    put_bytes(&event, 5, summary.data, summary.count);
    return write_record(file, &event, error);
}

plim_status plim__event_file_close(plim__event_file *file, plim_error *error) {
    int fd = file->fd;
    file->fd = -1;
    return fd < 0 || close(fd) == 0 ? PLIM_OK : cannot(file, error);
}
