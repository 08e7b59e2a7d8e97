/* The walker's window moves with pread, so that several tensors can share the file's descriptor. */
#include "format/onnx_wire.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/file.h"
#include "core/str.h"

enum { WINDOW = 1 << 16, LONGEST_VARINT = 10 };

void plim__wire_from_memory(plim__wire *wire, const void *data, size_t size) {
    *wire = (plim__wire){.memory = size ? data : (const void *)"", .fd = -1, .path = "memory", .size = size};
}

plim_status plim__wire_from_file(plim__wire *wire, int fd, const char *path, plim_error *error) {
    *wire = (plim__wire){.fd = fd, .path = path};
    struct stat info;
    if (fstat(fd, &info) != 0) return plim__fail_errno(error, errno, "cannot read '%s'", path);
    if (S_ISDIR(info.st_mode)) return plim__fail(error, PLIM_IO, "it is a folder");
    if (!S_ISREG(info.st_mode)) return plim__fail(error, PLIM_IO, "it is not a regular file");
    wire->size = (uint64_t)info.st_size;
    wire->window = plim__alloc(WINDOW);
    return wire->window ? PLIM_OK : plim__fail_memory(error, "reading a file", WINDOW);
}

void plim__wire_close(plim__wire *wire) {
    plim__free(wire->window);
    wire->window = NULL;
}

/* Up to LONGEST_VARINT bytes at `at`, fewer only at the end of the file. */
static plim_status peek(plim__wire *wire, uint64_t at, const unsigned char **bytes, size_t *count, plim_error *error) {
    if (wire->memory) {
        *bytes = wire->memory + at;
        *count = (size_t)(wire->size - at);
        return PLIM_OK;
    }
    uint64_t left = wire->size - at, need = left < LONGEST_VARINT ? left : LONGEST_VARINT;
    if (at < wire->window_at || at + need > wire->window_at + wire->window_size) {
        wire->window_at = at;
        wire->window_size = 0; /* in case reading fails */
        size_t size = left < WINDOW ? (size_t)left : WINDOW;
        PLIM_TRY(plim__file_read_at(wire->fd, wire->window, size, at, wire->path, error));
        wire->window_size = size;
    }
    *bytes = wire->window + (at - wire->window_at);
    *count = (size_t)(wire->window_at + wire->window_size - at);
    return PLIM_OK;
}

plim_status plim__wire_varint(plim__wire *wire, uint64_t *at, uint64_t end, uint64_t *value, plim_error *error) {
    const unsigned char *bytes;
    size_t count;
    PLIM_TRY(peek(wire, *at, &bytes, &count, error));
    if (count > end - *at) count = (size_t)(end - *at);
    uint64_t result = 0;
    for (size_t i = 0; i < count && i < LONGEST_VARINT; i++) {
        result |= (uint64_t)(bytes[i] & 0x7f) << (7 * i);
        if (bytes[i] & 0x80) continue;
        *at += i + 1;
        *value = result;
        return PLIM_OK;
    }
    if (count < LONGEST_VARINT)
        return plim__fail(error, PLIM_CORRUPT, "a number at byte %llu is cut off", (unsigned long long)*at);
    return plim__fail(error, PLIM_CORRUPT, "a number at byte %llu is too long", (unsigned long long)*at);
}

plim_status plim__wire_next(plim__wire *wire, uint64_t *at, uint64_t end, plim__wire_field *field, plim_error *error) {
    uint64_t start = *at, tag = 0, length = 0;
    PLIM_TRY(plim__wire_varint(wire, at, end, &tag, error));
    *field = (plim__wire_field){.number = (uint32_t)(tag >> 3), .type = (int)(tag & 7)};
    if (tag >> 3 == 0 || tag >> 3 > 0x1fffffff)
        return plim__fail(error, PLIM_CORRUPT, "a field at byte %llu has no valid number", (unsigned long long)start);
    field->body.at = *at;
    switch (field->type) {
    case PLIM__WIRE_VARINT: PLIM_TRY(plim__wire_varint(wire, at, end, &field->value, error)); break;
    case PLIM__WIRE_FIXED64: length = 8; break;
    case PLIM__WIRE_FIXED32: length = 4; break;
    case PLIM__WIRE_BYTES:
        PLIM_TRY(plim__wire_varint(wire, at, end, &length, error));
        field->body.at = *at;
        break;
    default:
        return plim__fail(error, PLIM_CORRUPT, "a field at byte %llu has the unknown wire type %d",
                          (unsigned long long)start, field->type);
    }
    if (length > end - *at)
        return plim__fail(error, PLIM_CORRUPT, "a field at byte %llu is %llu bytes long where only %llu are left",
                          (unsigned long long)start, (unsigned long long)length, (unsigned long long)(end - *at));
    *at += length;
    field->body.end = *at;
    field->whole = (plim__span){start, *at};
    return PLIM_OK;
}

plim_status plim__wire_read(plim__wire *wire, plim__span span, void *into, plim_error *error) {
    size_t size = (size_t)plim__span_length(span);
    if (size == 0) return PLIM_OK;
    if (wire->memory) {
        memcpy(into, wire->memory + span.at, size);
        return PLIM_OK;
    }
    if (span.at >= wire->window_at && span.end <= wire->window_at + wire->window_size) {
        memcpy(into, wire->window + (span.at - wire->window_at), size);
        return PLIM_OK;
    }
    return plim__file_read_at(wire->fd, into, size, span.at, wire->path, error);
}

/* The kept fields, one after the other: a message again. */
static plim_status gather(plim__wire *wire, plim__span span, uint64_t keep, unsigned char **bytes, size_t *size,
                          plim_error *error) {
    *bytes = NULL;
    *size = 0;
    size_t capacity = 0;
    for (uint64_t at = span.at; at < span.end;) {
        plim__wire_field field;
        PLIM_TRY(plim__wire_next(wire, &at, span.end, &field, error));
        if (field.number >= 64 || !(keep >> field.number & 1)) continue;
        size_t more = (size_t)plim__span_length(field.whole);
        if (*size + more > capacity) {
            capacity = *size + more > 2 * capacity ? *size + more : 2 * capacity;
            unsigned char *grown = plim__realloc(*bytes, capacity, 1);
            if (!grown) return plim__fail_memory(error, "a part of the model", capacity);
            *bytes = grown;
        }
        PLIM_TRY(plim__wire_read(wire, field.whole, *bytes + *size, error));
        *size += more;
    }
    return PLIM_OK;
}

/* protobuf-c answers NULL both for malformed bytes and for lack of memory; the flag tells them apart. */
static void *allocate(void *failed, size_t size) {
    void *block = plim__alloc(size);
    if (!block) *(bool *)failed = true;
    return block;
}

static void release(void *failed, void *block) {
    (void)failed;
    plim__free(block);
}

void plim__wire_release(void *message) {
    ProtobufCAllocator allocator = {allocate, release, NULL};
    if (message) protobuf_c_message_free_unpacked(message, &allocator);
}

plim_status plim__wire_decode(plim__wire *wire, plim__span span, uint64_t keep,
                              const ProtobufCMessageDescriptor *descriptor, void *message, plim_error *error) {
    unsigned char *bytes;
    size_t size;
    bool failed = false;
    ProtobufCMessage *decoded = NULL;
    plim_status status = gather(wire, span, keep, &bytes, &size, error);
    if (status == PLIM_OK) {
        ProtobufCAllocator allocator = {allocate, release, &failed};
        decoded = protobuf_c_message_unpack(descriptor, &allocator, size, bytes);
        if (failed)
            status = plim__fail_memory(error, "a part of the model", size);
        else if (!decoded)
            status = plim__fail(error, PLIM_CORRUPT, "the bytes %llu to %llu are not a valid %s",
                                (unsigned long long)span.at, (unsigned long long)span.end, descriptor->short_name);
    }
    plim__free(bytes);
    if (status != PLIM_OK && decoded) {
        plim__wire_release(decoded);
        decoded = NULL;
    }
    memcpy(message, &decoded, sizeof decoded); /* a pointer to any kind of message */
    return status;
}
