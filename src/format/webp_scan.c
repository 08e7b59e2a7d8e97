/* The way to the number of groups: chunks of the file, transforms with a small picture each, the colour cache, then the picture
 * of group numbers, whose greatest literal is the number: copies and cached colours only repeat what was there. So no pixel
 * is kept.
 *
 *   RIFF size WEBP | VP8X | ICCP | ALPH: one byte, stream without its head | VP8L: 0x2f, width, height, stream
 *   stream: (1, transform)* 0 | cache | (1, precision, picture of groups) or 0 | codes of each group | pixels            */
#include "format/webp_scan.h"

#include <string.h>
#include <unistd.h>

#include "core/error.h"

enum {
    LITERALS = 256,
    LENGTHS = 24,
    DISTANCES = 40,
    MAX_CACHE_BITS = 11,
    MAX_ALPHABET = LITERALS + LENGTHS + (1 << MAX_CACHE_BITS),
    MAX_CODE_LENGTH = 15,
    CODES = 5 /* green, red, blue, alpha, distance */
};

/* libwebp's: entries of four bytes in the tables of one group without cached colours, and what describes a group. */
#define TABLE_ENTRIES 2954
#define GROUP_BYTES   ((size_t)640)
#define CHUNK_HEAD    8

/* A canonical code: how many of each length, and the symbols in order. One symbol alone takes no bits. */
typedef struct code {
    uint16_t counts[MAX_CODE_LENGTH + 1];
    uint16_t symbols[MAX_ALPHABET];
    int only; /* the one symbol, or -1 */
} code;

typedef struct scan {
    plim__image_input *input;
    size_t at;     /* in the buffer */
    uint64_t left; /* bytes of the chunk */
    unsigned bits; /* of the byte that is being read, lowest first */
    int have;
    bool bad; /* broken or too short: everything that follows is zero */
    code codes[CODES];
} scan;

/* --- bytes and bits ------------------------------------------------------------------------------------------- */

static unsigned next_byte(scan *s) {
    if (s->left == 0) s->bad = true;
    if (!s->bad && s->at == s->input->have) {
        s->at = 0;
        if (s->input->fd < 0 || plim__image_input_more(s->input, NULL) != PLIM_OK || s->input->have == 0) s->bad = true;
    }
    if (s->bad) return 0;
    s->left--;
    return s->input->buffer[s->at++];
}

static unsigned next_bit(scan *s) {
    if (s->have == 0) {
        s->bits = next_byte(s);
        s->have = 8;
    }
    unsigned bit = s->bits & 1;
    s->bits >>= 1;
    s->have--;
    return bit;
}

static unsigned next_bits(scan *s, int count) {
    unsigned value = 0;
    for (int i = 0; i < count; i++) value |= next_bit(s) << i;
    return value;
}

/* --- codes ---------------------------------------------------------------------------------------------------- */

/* A code that leaves something open or says something twice is refused, as libwebp does. */
static void make_code(scan *s, const uint8_t *lengths, int alphabet, code *made) {
    int offsets[MAX_CODE_LENGTH + 2] = {0}, used = 0, open = 1;
    memset(made->counts, 0, sizeof made->counts);
    made->only = -1;
    for (int i = 0; i < alphabet; i++) {
        made->counts[lengths[i]]++;
        if (lengths[i]) used++, made->only = i;
    }
    made->counts[0] = 0;
    if (used == 1) return;
    made->only = -1;
    for (int length = 1; length <= MAX_CODE_LENGTH; length++) {
        open = 2 * open - made->counts[length];
        offsets[length + 1] = offsets[length] + made->counts[length];
        if (open < 0) s->bad = true;
    }
    if (open != 0 || used == 0) s->bad = true;
    for (int i = 0; i < alphabet; i++)
        if (lengths[i]) made->symbols[offsets[lengths[i]]++] = (uint16_t)i;
}

static int next_symbol(scan *s, const code *c) {
    int value = 0, first = 0, index = 0;
    if (c->only >= 0) return c->only;
    for (int length = 1; length <= MAX_CODE_LENGTH && !s->bad; length++) {
        value |= (int)next_bit(s);
        int count = c->counts[length];
        if (value - first < count) return c->symbols[index + value - first];
        index += count;
        first = (first + count) << 1;
        value <<= 1;
    }
    s->bad = true;
    return 0;
}

/* Lengths are coded themselves; 16, 17 and 18 repeat the last one or zero. */
static void read_lengths(scan *s, int alphabet, uint8_t *lengths) {
    static const uint8_t order[19] = {17, 18, 0, 1, 2, 3, 4, 5, 16, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    static const struct { int bits, least; } repeats[3] = {{2, 3}, {3, 3}, {7, 11}};
    uint8_t of_lengths[19] = {0}, before = 8;
    int given = (int)next_bits(s, 4) + 4;
    for (int i = 0; i < given; i++) of_lengths[order[i]] = (uint8_t)next_bits(s, 3);
    make_code(s, of_lengths, 19, &s->codes[CODES - 1]); /* which is read last, so it is free until then */
    int most = alphabet;
    if (next_bit(s)) {
        int bits = 2 + 2 * (int)next_bits(s, 3);
        most = 2 + (int)next_bits(s, bits);
        if (most > alphabet) s->bad = true;
    }
    for (int i = 0; i < alphabet && most-- > 0 && !s->bad;) {
        int symbol = next_symbol(s, &s->codes[CODES - 1]), count = 1;
        uint8_t length = symbol < 16 ? (uint8_t)symbol : symbol == 16 ? before : 0;
        if (symbol >= 16) count = repeats[symbol - 16].least + (int)next_bits(s, repeats[symbol - 16].bits);
        if (symbol < 16 && symbol) before = length;
        if (i + count > alphabet) s->bad = true;
        for (; count > 0 && i < alphabet; count--) lengths[i++] = length;
    }
}

static void read_code(scan *s, int alphabet, code *into) {
    uint8_t lengths[MAX_ALPHABET + LITERALS] = {0}; /* a plain code may name any byte, also beyond the alphabet */
    if (next_bit(s)) {
        unsigned second = next_bit(s), wide = next_bit(s);
        lengths[next_bits(s, wide ? 8 : 1)] = 1;
        if (second) lengths[next_bits(s, 8)] = 1;
    } else
        read_lengths(s, alphabet, lengths);
    if (!s->bad) make_code(s, lengths, alphabet, into);
}

/* --- small pictures ------------------------------------------------------------------------------------------- */

/* How far a copy goes, or from how far it comes. */
static int64_t copy_number(scan *s, int symbol) {
    if (symbol < 4) return symbol + 1;
    int extra = (symbol - 2) >> 1;
    return ((int64_t)(2 + (symbol & 1)) << extra) + next_bits(s, extra) + 1;
}

static int read_cache_bits(scan *s) {
    if (!next_bit(s)) return 0;
    int bits = (int)next_bits(s, 4);
    if (bits < 1 || bits > MAX_CACHE_BITS) s->bad = true;
    return bits;
}

/* Passes over a picture of `pixels`; the greatest of the numbers in red and green, which stand in for a group. */
static int64_t pass_picture(scan *s, int64_t pixels) {
    int cache_bits = read_cache_bits(s), greatest = 0;
    int cached = cache_bits && !s->bad ? 1 << cache_bits : 0;
    const int alphabets[CODES] = {LITERALS + LENGTHS + cached, LITERALS, LITERALS, LITERALS, DISTANCES};
    for (int i = 0; i < CODES && !s->bad; i++) read_code(s, alphabets[i], &s->codes[i]);
    for (int64_t at = 0; at < pixels && !s->bad;) {
        int green = next_symbol(s, &s->codes[0]);
        if (green < LITERALS) {
            int group = next_symbol(s, &s->codes[1]) << 8 | green;
            next_symbol(s, &s->codes[2]);
            next_symbol(s, &s->codes[3]);
            if (group > greatest) greatest = group;
            at++;
        } else if (green < LITERALS + LENGTHS) {
            int64_t length = copy_number(s, green - LITERALS);
            copy_number(s, next_symbol(s, &s->codes[4]));
            if (length > pixels - at) s->bad = true;
            at += length;
        } else
            at++;
    }
    return greatest;
}

static int64_t divide_up(int64_t size, int bits) { return (size + ((int64_t)1 << bits) - 1) >> bits; }

/* --- the stream ----------------------------------------------------------------------------------------------- */

/* A transform; where colours are numbered, several pixels become one and the picture narrower. */
static void pass_transform(scan *s, int64_t *width, int64_t height, unsigned *seen, plim__webp_needs *needs) {
    unsigned kind = next_bits(s, 2);
    if (*seen >> kind & 1) s->bad = true;
    *seen |= 1u << kind;
    if (kind == 2 || s->bad) return; /* green is subtracted: nothing follows */
    if (kind == 3) {
        int colours = (int)next_bits(s, 8) + 1, bits = colours > 16 ? 0 : colours > 4 ? 1 : colours > 2 ? 2 : 3;
        pass_picture(s, colours);
        needs->images_bytes += ((size_t)4 << (8 >> bits)) + 4 * (size_t)colours;
        *width = divide_up(*width, bits);
        return;
    }
    int bits = (int)next_bits(s, 3) + 2;
    int64_t pixels = divide_up(*width, bits) * divide_up(height, bits);
    needs->images_bytes += 4 * (size_t)pixels;
    pass_picture(s, pixels);
}

static void pass_stream(scan *s, int64_t width, int64_t height, plim__webp_needs *needs) {
    unsigned seen = 0;
    int64_t groups = 1;
    s->have = 0;
    while (!s->bad && next_bit(s)) pass_transform(s, &width, height, &seen, needs);
    int cache_bits = read_cache_bits(s);
    if (next_bit(s)) {
        int bits = (int)next_bits(s, 3) + 2;
        int64_t pixels = divide_up(width, bits) * divide_up(height, bits);
        needs->images_bytes += 4 * (size_t)pixels;
        int64_t greatest = pass_picture(s, pixels) + 1;
        /* numbers that are not used get no tables where there are many, but each number an entry */
        groups = greatest > 1000 && pixels < greatest ? pixels : greatest;
        needs->images_bytes += 4 * (size_t)greatest;
    }
    if (s->bad) return;
    size_t cached = cache_bits ? (size_t)1 << cache_bits : 0;
    needs->groups += groups;
    needs->tables_bytes += (size_t)groups * (GROUP_BYTES + 4 * (TABLE_ENTRIES + cached)) + 4 * cached;
}

/* --- the file ------------------------------------------------------------------------------------------------- */

static uint32_t next_u32(scan *s) {
    uint32_t value = 0;
    for (int i = 0; i < 4; i++) value |= (uint32_t)next_byte(s) << (8 * i);
    return value;
}

/* 0x2f, then the size in twice 14 bits, transparency and version. */
static void pass_head(scan *s, int width, int height) {
    unsigned mark = next_byte(s);
    uint32_t head = next_u32(s);
    if (mark != 0x2f || (head & 0x3fff) + 1 != (uint32_t)width || (head >> 14 & 0x3fff) + 1 != (uint32_t)height)
        s->bad = true;
}

/* One chunk; false once the picture is reached. */
static bool pass_chunk(scan *s, int width, int height, plim__webp_needs *needs) {
    char name[4];
    s->left = CHUNK_HEAD;
    for (int i = 0; i < 4; i++) name[i] = (char)next_byte(s);
    uint64_t bytes = next_u32(s);
    if (s->bad || memcmp(name, "VP8 ", 4) == 0) return false;
    s->left = bytes;
    if (memcmp(name, "VP8L", 4) == 0) {
        needs->lossless = true;
        pass_head(s, width, height);
        pass_stream(s, width, height, needs);
        return false;
    }
    if (memcmp(name, "ALPH", 4) == 0 && (next_byte(s) & 3) == 1) {
        needs->alpha = true;
        pass_stream(s, width, height, needs);
    }
    for (s->left += bytes & 1; s->left && !s->bad;) next_byte(s);
    return !s->bad;
}

plim_status plim__webp_scan(plim__image_input *input, int width, int height, plim__webp_needs *needs,
                            plim_error *error) {
    scan s = {.input = input, .left = 12};
    size_t first = input->have;
    off_t behind = input->fd >= 0 ? lseek(input->fd, 0, SEEK_CUR) : 0;
    *needs = (plim__webp_needs){0};
    while (s.left && !s.bad) next_byte(&s); /* RIFF, size, WEBP */
    while (pass_chunk(&s, width, height, needs)) {}
    if (input->fd >= 0) {
        if (behind < (off_t)first || lseek(input->fd, behind - (off_t)first, SEEK_SET) < 0)
            return plim__fail(error, PLIM_IO, "cannot go back in '%s'", input->name);
        PLIM_TRY(plim__image_input_more(input, error));
    }
    if (!s.bad) return PLIM_OK;
    return plim__fail(error, PLIM_CORRUPT, "image '%s' is damaged: its data is malformed or ends too early",
                      input->name);
}
