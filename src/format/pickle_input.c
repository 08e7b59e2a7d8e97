/* The byte side of the pickle reader: a buffered stream cut into opcodes with their arguments. One table says
 * what follows each opcode, for the scan and for the real reading alike. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/alloc.h"
#include "core/error.h"
#include "format/pickle_internal.h"

enum { BUFFER = 1 << 16 };

/* What follows an opcode. Counted arguments are a length of 1, 4 or 8 bytes, then that many bytes. */
enum { UNKNOWN, NOTHING, FIXED1, FIXED2, FIXED4, FIXED8, LINE, LINES, COUNTED1, COUNTED4, COUNTED8 };

static const unsigned char arguments[256] = {
    ['('] = NOTHING,   ['.'] = NOTHING,   ['0'] = NOTHING,  ['1'] = NOTHING,  ['2'] = NOTHING,   ['N'] = NOTHING,
    ['Q'] = NOTHING,   ['R'] = NOTHING,   ['a'] = NOTHING,  ['b'] = NOTHING,  ['d'] = NOTHING,   ['}'] = NOTHING,
    ['e'] = NOTHING,   ['l'] = NOTHING,   [']'] = NOTHING,  ['o'] = NOTHING,  ['s'] = NOTHING,   ['t'] = NOTHING,
    [')'] = NOTHING,   ['u'] = NOTHING,   [0x81] = NOTHING, [0x85] = NOTHING, [0x86] = NOTHING,  [0x87] = NOTHING,
    [0x88] = NOTHING,  [0x89] = NOTHING,  [0x8f] = NOTHING, [0x90] = NOTHING, [0x91] = NOTHING,  [0x92] = NOTHING,
    [0x93] = NOTHING,  [0x94] = NOTHING,  [0x97] = NOTHING, [0x98] = NOTHING, ['K'] = FIXED1,    ['h'] = FIXED1,
    ['q'] = FIXED1,    [0x80] = FIXED1,   [0x82] = FIXED1,  ['M'] = FIXED2,   [0x83] = FIXED2,   ['J'] = FIXED4,
    ['j'] = FIXED4,    ['r'] = FIXED4,    [0x84] = FIXED4,  ['G'] = FIXED8,   [0x95] = FIXED8,   ['F'] = LINE,
    ['I'] = LINE,      ['L'] = LINE,      ['P'] = LINE,     ['S'] = LINE,     ['V'] = LINE,      ['g'] = LINE,
    ['p'] = LINE,      ['c'] = LINES,     ['i'] = LINES,    ['U'] = COUNTED1, ['C'] = COUNTED1,  [0x8a] = COUNTED1,
    [0x8c] = COUNTED1, ['T'] = COUNTED4,  ['X'] = COUNTED4, ['B'] = COUNTED4, [0x8b] = COUNTED4, [0x8d] = COUNTED8,
    [0x8e] = COUNTED8, [0x96] = COUNTED8,
};

plim_status plim__pickle_input_open(plim__pickle_input *input, plim_error *error) {
    if (input->buffer) return PLIM_OK;
    input->buffer = plim__alloc(BUFFER);
    return input->buffer ? PLIM_OK : plim__fail_memory(error, "a read buffer", BUFFER);
}

void plim__pickle_input_close(plim__pickle_input *input) {
    plim__free(input->buffer);
    plim__free(input->text);
    if (input->pool) plim__pickle_refund(input->pool, input->text_capacity);
    input->buffer = NULL;
    input->text = NULL;
    input->text_capacity = 0;
}

uint64_t plim__pickle_input_offset(const plim__pickle_input *input) { return input->start + input->at; }

plim_status plim__pickle_malformed(const plim__pickle_input *input, const char *what, plim_error *error) {
    return plim__fail(error, PLIM_CORRUPT, "'%s' is not a valid pickle: %s at byte %llu", input->name, what,
                      (unsigned long long)plim__pickle_input_offset(input));
}

plim_status plim__pickle_too_large(const plim__pickle_input *input, plim_error *error) {
    return plim__fail(error, PLIM_BUDGET,
                      "'%s' is a pickle that needs more than %zu bytes of memory to read (at byte %llu)", input->name,
                      input->pool->limit, (unsigned long long)plim__pickle_input_offset(input));
}

static plim_status fill(plim__pickle_input *input, plim_error *error) {
    input->start += input->filled;
    input->at = input->filled = 0;
    PLIM_TRY(input->source->read(input->source->context, input->buffer, BUFFER, &input->filled, error));
    if (input->filled > 0) return PLIM_OK;
    return plim__pickle_malformed(input, "it ends too early", error);
}

static inline plim_status next_byte(plim__pickle_input *input, unsigned char *byte, plim_error *error) {
    if (input->at == input->filled) PLIM_TRY(fill(input, error));
    *byte = input->buffer[input->at++];
    return PLIM_OK;
}

/* Little-endian; BINFLOAT, the one big-endian argument, is turned by its reader. */
static plim_status next_number(plim__pickle_input *input, unsigned bytes, uint64_t *number, plim_error *error) {
    *number = 0;
    for (unsigned i = 0; i < bytes; i++) {
        unsigned char byte;
        PLIM_TRY(next_byte(input, &byte, error));
        *number |= (uint64_t)byte << (8 * i);
    }
    return PLIM_OK;
}

static plim_status reserve_text(plim__pickle_input *input, size_t need, plim_error *error) {
    if (need <= input->text_capacity) return PLIM_OK;
    size_t capacity = input->text_capacity ? input->text_capacity : 256;
    while (capacity < need) capacity += capacity / 2;
    if (!plim__pickle_charge(input->pool, capacity - input->text_capacity)) return plim__pickle_too_large(input, error);
    char *text = plim__realloc(input->text, capacity, 1);
    if (!text) {
        plim__pickle_refund(input->pool, capacity - input->text_capacity);
        return plim__fail_memory(error, "a string of a pickle", capacity);
    }
    input->text = text;
    input->text_capacity = capacity;
    return PLIM_OK;
}

/* Grows as bytes arrive, so that a lie about the length costs nothing. */
static plim_status next_counted(plim__pickle_input *input, uint64_t length, bool skip, plim_error *error) {
    input->text_length = 0;
    while (length > 0) {
        if (input->at == input->filled) PLIM_TRY(fill(input, error));
        size_t part = input->filled - input->at;
        if (part > length) part = (size_t)length;
        if (!skip) {
            PLIM_TRY(reserve_text(input, input->text_length + part + 1, error));
            memcpy(input->text + input->text_length, input->buffer + input->at, part);
            input->text_length += part;
        }
        input->at += part;
        length -= part;
    }
    PLIM_TRY(reserve_text(input, 1, error));
    input->text[input->text_length] = 0;
    return PLIM_OK;
}

/* Appends a line without its end to the text. */
static plim_status next_line(plim__pickle_input *input, plim_error *error) {
    for (;;) {
        if (input->at == input->filled) PLIM_TRY(fill(input, error));
        const unsigned char *from = input->buffer + input->at;
        const unsigned char *end = memchr(from, '\n', input->filled - input->at);
        size_t part = end ? (size_t)(end - from) : input->filled - input->at;
        PLIM_TRY(reserve_text(input, input->text_length + part + 1, error));
        memcpy(input->text + input->text_length, from, part);
        input->text_length += part;
        input->text[input->text_length] = 0;
        input->at += part + (end ? 1 : 0);
        if (end) return PLIM_OK;
    }
}

static plim_status next_lines(plim__pickle_input *input, plim__pickle_step *step, plim_error *error) {
    PLIM_TRY(next_line(input, error));
    PLIM_TRY(reserve_text(input, input->text_length + 2, error));
    step->length = input->text_length++; /* the zero byte stays between the two */
    step->second = input->text_length;
    return next_line(input, error);
}

plim_status plim__pickle_next(plim__pickle_input *input, bool skip, plim__pickle_step *step, plim_error *error) {
    static const unsigned char sizes[] = {
        [FIXED1] = 1, [FIXED2] = 2, [FIXED4] = 4, [FIXED8] = 8, [COUNTED1] = 1, [COUNTED4] = 4, [COUNTED8] = 8};
    PLIM_TRY(next_byte(input, &step->opcode, error));
    unsigned kind = arguments[step->opcode];
    if (kind == NOTHING) return PLIM_OK;
    if (kind == UNKNOWN) return plim__pickle_malformed(input, "an unknown opcode", error);
    input->text_length = 0;
    if (kind == LINE)
        PLIM_TRY(next_line(input, error));
    else if (kind != LINES)
        PLIM_TRY(next_number(input, sizes[kind], &step->number, error));
    if (kind >= COUNTED1) PLIM_TRY(next_counted(input, step->number, skip, error));
    step->length = input->text_length;
    if (kind == LINES) PLIM_TRY(next_lines(input, step, error));
    step->text = input->text;
    return PLIM_OK;
}

/* --- sources -------------------------------------------------------------------------------------------------- */

typedef struct memory_source {
    const char *data;
    size_t size, at;
} memory_source;

static plim_status memory_read(void *context, void *buffer, size_t capacity, size_t *got, plim_error *error) {
    (void)error;
    memory_source *memory = context;
    *got = memory->size - memory->at < capacity ? memory->size - memory->at : capacity;
    if (*got) memcpy(buffer, memory->data + memory->at, *got);
    memory->at += *got;
    return PLIM_OK;
}

static plim_status memory_rewind(void *context, plim_error *error) {
    (void)error;
    ((memory_source *)context)->at = 0;
    return PLIM_OK;
}

plim_status plim__pickle_read_memory(const void *data, size_t size, const plim__pickle_options *options,
                                     plim__pickle **pickle, plim_error *error) {
    memory_source memory = {data, size, 0};
    plim__pickle_source source = {&memory, memory_read, memory_rewind};
    return plim__pickle_read(&source, options, pickle, error);
}

typedef struct fd_source {
    int fd;
    uint64_t start, at;
    bool seekable;
    const char *name;
} fd_source;

static plim_status fd_read(void *context, void *buffer, size_t capacity, size_t *got, plim_error *error) {
    fd_source *file = context;
    ssize_t count;
    do {
        count = file->seekable ? pread(file->fd, buffer, capacity, (off_t)file->at) : read(file->fd, buffer, capacity);
    } while (count < 0 && errno == EINTR);
    if (count < 0) return plim__fail_errno(error, errno, "cannot read '%s'", file->name);
    *got = (size_t)count;
    file->at += *got;
    return PLIM_OK;
}

static plim_status fd_rewind(void *context, plim_error *error) {
    (void)error;
    fd_source *file = context;
    file->at = file->start;
    return PLIM_OK;
}

plim_status plim__pickle_read_fd(int fd, uint64_t offset, const plim__pickle_options *options, plim__pickle **pickle,
                                 plim_error *error) {
    struct stat info;
    bool seekable = fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
    fd_source file = {fd, offset, offset, seekable, options && options->name ? options->name : "a pickle"};
    plim__pickle_source source = {&file, fd_read, seekable ? fd_rewind : NULL};
    return plim__pickle_read(&source, options, pickle, error);
}
