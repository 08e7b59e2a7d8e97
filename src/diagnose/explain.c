/* The stream in front of the reader: what is worth reading is cleaned and read, the rest is only scanned.
 *
 *   feed ──→ blocks of whole lines ──→ any trigger? ── no ──→ dropped (its tail is kept as context)
 *                                          │ yes, or the block before had one
 *                                          └──→ clean.h ──→ a window of cleaned text ──→ parsers (reader.h)
 *
 * Memory: one block, the window and the tail, whatever the length of the log.
 */
#include <string.h>

#include "core/alloc.h"
#include "core/arguments.h"
#include "diagnose/cause.h"
#include "diagnose/clean.h"
#include "diagnose/explain.h"
#include "diagnose/message.h"
#include "diagnose/reader.h"
#include "diagnose/scan.h"
#include "plimsoll/diagnose.h"

enum {
    BLOCK = 256 << 10,
    TAIL = 16 << 10,       /* context before a block that turns out to matter */
    OVERLAP = 512,         /* a trigger may lie across two blocks */
    LOOK_AHEAD = 24 << 10, /* a message is read when this much follows it, or the end */
    LOOK_BEHIND = 16 << 10,
    ROWS = 1024,
    TRIGGERS = 32 << 10,
    BUCKETS = 1024,
};

/* A parser or a message, and the next one with the same trigger. */
typedef struct entry {
    const plim__row *row;
    const plim__message *message;
    uint16_t next; /* 1 + its number; 0 for none */
} entry;

struct plim_explainer {
    plim__scan scan;
    plim__cleaner cleaner;
    plim__reader reader;
    /* raw[0 .. tail) was seen before, raw[tail .. tail + size) is new */
    char *raw;
    size_t tail, size;
    bool tail_read; /* the tail went through the cleaner */
    int hot;        /* blocks still to be read because one before had a trigger */
    /* reading the window */
    size_t scanned;
    uint16_t state;
    uint64_t origin; /* position of the window's first byte in all cleaned text */
    /* about the input */
    uint64_t total, nul;
    bool utf16, utf16_half, finished;
    plim__context_scan context; /* words that are read around a failure only */
    size_t entry_count, word_count, trigger_bytes;
    entry entries[ROWS];
    const char *words[ROWS];
    uint16_t first_of_word[ROWS];               /* 1 + the entry that is tried first */
    uint16_t buckets[BUCKETS], next_word[ROWS]; /* 1 + a word: triggers by their hash while they are collected */
    char triggers[TRIGGERS];                    /* of the messages, without white space */
    plim_explanation explanation;
};

/* Entries of one trigger are tried in the order of their tables. */
static void add_entry(plim_explainer *explainer, const char *trigger, entry made) {
    if (explainer->entry_count == ROWS) return;
    uint32_t hash = 2166136261u;
    for (const char *c = trigger; *c; c++) hash = (hash ^ ((unsigned char)*c | 32)) * 16777619u;
    uint16_t *bucket = &explainer->buckets[hash % BUCKETS];
    size_t word = *bucket;
    while (word && strcasecmp(explainer->words[word - 1], trigger) != 0) word = explainer->next_word[word - 1];
    if (!word) {
        explainer->words[explainer->word_count] = trigger;
        explainer->next_word[explainer->word_count++] = *bucket;
        word = *bucket = (uint16_t)explainer->word_count;
    }
    word--;
    uint16_t *link = &explainer->first_of_word[word];
    while (*link) link = &explainer->entries[*link - 1].next;
    explainer->entries[explainer->entry_count++] = made;
    *link = (uint16_t)explainer->entry_count;
}

static void collect_rows(plim_explainer *explainer, const plim__row *rows) {
    for (; rows->trigger; rows++) add_entry(explainer, rows->trigger, (entry){.row = rows});
}

static void collect_messages(plim_explainer *explainer, const plim__message *messages) {
    for (; messages->sentence; messages++) {
        char *trigger = explainer->triggers + explainer->trigger_bytes;
        if (!plim__message_trigger(messages, trigger, TRIGGERS - explainer->trigger_bytes)) continue;
        explainer->trigger_bytes += strlen(trigger) + 1;
        add_entry(explainer, trigger, (entry){.message = messages});
    }
}

plim_status plim_explainer_create(plim_explainer **explainer, plim_error *error) {
    PLIM__NEED(explainer, error);
    *explainer = NULL;
    plim_explainer *made = plim__alloc_zero(1, sizeof *made);
    if (!made) return plim__fail_memory(error, "the explainer", sizeof *made);
    collect_rows(made, plim__rows_pytorch);
    collect_rows(made, plim__rows_tensorflow);
    collect_rows(made, plim__rows_jax);
    collect_rows(made, plim__rows_runtime);
    collect_rows(made, plim__rows_host);
    collect_messages(made, plim__messages_device);
    collect_messages(made, plim__messages_host);
    collect_rows(made, plim__rows_words);
    made->raw = plim__alloc(TAIL + BLOCK);
    plim_status status = made->raw ? PLIM_OK : plim__fail_memory(error, "the explainer's buffer", TAIL + BLOCK);
    if (status == PLIM_OK) status = plim__scan_build(&made->scan, made->words, made->word_count, error);
    if (status == PLIM_OK) status = plim__context_scan_build(&made->context, error);
    if (status != PLIM_OK) {
        plim_explainer_free(made);
        return status;
    }
    plim__reader_init(&made->reader);
    made->reader.words = &made->context;
    *explainer = made;
    return PLIM_OK;
}

void plim__explainer_reset(plim_explainer *explainer) {
    plim__str_clear(&explainer->cleaner.out);
    plim__str_clear(&explainer->cleaner.scratch);
    explainer->cleaner = (plim__cleaner){.out = explainer->cleaner.out, .scratch = explainer->cleaner.scratch};
    explainer->cleaner.out.failed = explainer->cleaner.scratch.failed = false;
    plim__reader_init(&explainer->reader);
    explainer->reader.words = &explainer->context;
    explainer->tail = explainer->size = explainer->scanned = 0;
    explainer->tail_read = explainer->utf16 = explainer->utf16_half = explainer->finished = false;
    explainer->hot = 0;
    explainer->state = 0;
    explainer->origin = explainer->total = explainer->nul = 0;
}

void plim_explainer_free(plim_explainer *explainer) {
    if (!explainer) return;
    plim__scan_free(&explainer->scan);
    plim__context_scan_free(&explainer->context);
    plim__clean_free(&explainer->cleaner);
    plim__free(explainer->raw);
    plim__free(explainer);
}

/* --- reading the window --------------------------------------------------------------------------------------- */

/* Where the trigger that ends at `end` began: its letters, with any white space between them. */
static const char *trigger_start(const char *begin, const char *end, size_t letters) {
    const char *at = end;
    while (at > begin && letters > 0)
        if (!strchr(" \t\n\r\v\f", *--at) || !*at) letters--;
    return at;
}

static void run_rows(plim_explainer *explainer, uint16_t state, const char *end) {
    for (; state; state = plim__scan_shorter(&explainer->scan, state)) {
        uint16_t word = plim__scan_word(&explainer->scan, state);
        if (!word) continue;
        const char *start = trigger_start(explainer->reader.begin, end, strlen(explainer->words[word - 1]));
        for (uint16_t at = explainer->first_of_word[word - 1]; at; at = explainer->entries[at - 1].next) {
            const entry *e = &explainer->entries[at - 1];
            if (e->row)
                e->row->parse(&explainer->reader, start, end);
            else
                plim__message_parse(&explainer->reader, e->message, start, end);
        }
    }
}

/* Reads the window up to where enough text follows, then lets go of what was read. */
static void read_window(plim_explainer *explainer, bool last) {
    plim__str *window = &explainer->cleaner.out;
    size_t stop = last ? window->length : window->length > LOOK_AHEAD ? window->length - LOOK_AHEAD : 0;
    plim__reader *reader = &explainer->reader;
    reader->begin = plim__str_text(window);
    reader->end = reader->begin + window->length;
    reader->origin = explainer->origin;
    uint16_t state;
    while (explainer->scanned < stop &&
           (state = plim__scan_next(&explainer->scan, reader->begin, stop, &explainer->scanned, &explainer->state)))
        run_rows(explainer, state, reader->begin + explainer->scanned);
    if (last || explainer->scanned <= LOOK_BEHIND) return;
    size_t drop = explainer->scanned - LOOK_BEHIND;
    plim__reader_slide(reader, reader->begin + drop);
    memmove(window->data, window->data + drop, window->length - drop);
    window->length -= drop;
    window->data[window->length] = 0;
    explainer->scanned -= drop;
    explainer->origin += drop;
}

static void clean_lines(plim_explainer *explainer, const char *text, size_t size) {
    const char *end = text + size;
    while (text < end) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        plim__clean_line(&explainer->cleaner, text, (size_t)((stop ? stop : end) - text));
        if (!stop) break;
        text = stop + 1;
    }
}

/* --- blocks --------------------------------------------------------------------------------------------------- */

/* Where the block may be cut: behind the last line end, or anywhere when there is none. */
static size_t whole_lines(const char *text, size_t size) {
    const char *cut = memrchr(text, '\n', size);
    if (!cut) cut = memrchr(text, '\r', size);
    return cut ? (size_t)(cut - text) + 1 : size;
}

static plim_status take_block(plim_explainer *explainer, bool last, plim_error *error) {
    char *fresh = explainer->raw + explainer->tail;
    size_t size = last ? explainer->size : whole_lines(fresh, explainer->size);
    size_t overlap = explainer->tail < OVERLAP ? explainer->tail : OVERLAP;
    /* the end is where failures are, whatever hides their words */
    bool read = last || explainer->hot > 0, hit = false;
    if (!last) {
        PLIM_TRY(plim__scan_fill(&explainer->scan, error));
        hit = plim__scan_any(&explainer->scan, fresh - overlap, size + overlap);
        read |= hit;
    }
    if (read) {
        if (!explainer->tail_read && explainer->tail) { /* lines were skipped: begin again, with some context */
            plim__clean_end(&explainer->cleaner);
            if (explainer->total > explainer->tail + explainer->size)
                explainer->reader.gap = explainer->origin + explainer->cleaner.out.length;
            clean_lines(explainer, explainer->raw, explainer->tail);
        }
        clean_lines(explainer, fresh, size);
        if (explainer->cleaner.out.failed || explainer->cleaner.scratch.failed)
            return plim__fail_memory(error, "the text around a message", BLOCK);
        read_window(explainer, false);
    } else if (explainer->tail_read) {
        /* what was read so far ends here; a gap follows */
        plim__clean_end(&explainer->cleaner);
    }
    explainer->hot = hit ? 1 : explainer->hot > 0 ? explainer->hot - 1 : 0;
    /* keep a tail of whole lines, and what is not a whole line yet */
    size_t seen = explainer->tail + size, rest = explainer->size - size, keep = seen < TAIL ? seen : TAIL;
    char *from = explainer->raw + seen - keep;
    if (keep < seen) {
        char *line = memchr(from, '\n', keep);
        if (line) keep -= (size_t)(line + 1 - from), from = line + 1;
    }
    memmove(explainer->raw, from, keep + rest);
    explainer->tail = keep;
    explainer->size = rest;
    explainer->tail_read = read;
    return PLIM_OK;
}

/* Windows shells redirect as UTF-16; its ASCII letters are what matters. */
static size_t narrow(plim_explainer *explainer, char *to, size_t room, const unsigned char **data, size_t *size) {
    size_t made = 0;
    while (*size && made < room) {
        unsigned char byte = *(*data)++;
        --*size;
        if (!explainer->utf16_half) to[made++] = (char)(byte < 128 ? byte : '?');
        explainer->utf16_half = !explainer->utf16_half;
    }
    return made;
}

/* UTF-16 whose mark is lost: every second byte of the first ones is 0, and no other. */
static bool is_unmarked(const unsigned char *bytes, size_t size, bool *big) {
    size_t count = size < 64 ? size & ~(size_t)1 : 64, zeros[2] = {0, 0};
    for (size_t i = 0; i < count; i++) zeros[i & 1] += bytes[i] == 0;
    *big = zeros[0] > zeros[1];
    size_t most = *big ? zeros[0] : zeros[1], least = *big ? zeros[1] : zeros[0];
    return count >= 16 && !least && most >= count / 2 - count / 16;
}

plim_status plim_explainer_feed(plim_explainer *explainer, const void *data, size_t size, plim_error *error) {
    const unsigned char *bytes = data;
    PLIM__NEED(explainer, error);
    if (size) PLIM__NEED(data, error);
    if (explainer->finished) return plim__fail(error, PLIM_INVALID, "the explainer has finished; make a new one");
    bool little = size >= 2 && bytes[0] == 0xFF && bytes[1] == 0xFE,
         big = size >= 2 && bytes[0] == 0xFE && bytes[1] == 0xFF;
    if (explainer->total == 0 && (little || big)) {
        explainer->utf16 = true;
        explainer->utf16_half = big; /* its letters stand in the second byte */
        bytes += 2, size -= 2;
        explainer->total += 2;
    } else if (explainer->total == 0 && is_unmarked(bytes, size, &big)) {
        explainer->utf16 = true;
        explainer->utf16_half = big;
    }
    if (explainer->total < BLOCK && !explainer->utf16)
        for (size_t i = 0; i < size && i < 65536; i++) explainer->nul += bytes[i] == 0;
    while (size) {
        size_t room = TAIL + BLOCK - explainer->tail - explainer->size;
        char *to = explainer->raw + explainer->tail + explainer->size;
        size_t taken = size < room ? size : room;
        if (explainer->utf16) {
            size_t before = size;
            explainer->size += narrow(explainer, to, room, &bytes, &size);
            explainer->total += before - size;
        } else {
            memcpy(to, bytes, taken);
            bytes += taken, size -= taken;
            explainer->size += taken;
            explainer->total += taken;
        }
        if (explainer->tail + explainer->size == TAIL + BLOCK) PLIM_TRY(take_block(explainer, false, error));
    }
    return PLIM_OK;
}

plim_status plim_explainer_finish(plim_explainer *explainer, const plim_explanation **explanation, plim_error *error) {
    PLIM__NEED(explanation, error);
    *explanation = NULL;
    PLIM__NEED(explainer, error);
    if (explainer->finished) return plim__fail(error, PLIM_INVALID, "the explainer has finished; make a new one");
    PLIM_TRY(take_block(explainer, true, error));
    plim__clean_end(&explainer->cleaner);
    if (explainer->cleaner.out.failed) return plim__fail_memory(error, "the text around a message", BLOCK);
    if (!explainer->tail_read && explainer->tail)
        explainer->reader.gap = UINT64_MAX; /* the end was not worth reading */
    read_window(explainer, true);
    explainer->finished = true;
    explainer->reader.dated = explainer->cleaner.dated;
    explainer->reader.year = explainer->cleaner.year;
    explainer->reader.vllm = explainer->cleaner.vllm;
    plim_explanation *made = &explainer->explanation;
    plim__conclude(&explainer->reader, made);
    made->log_bytes = explainer->total;
    made->binary = explainer->total && explainer->nul * 1000 > (explainer->total < BLOCK ? explainer->total : BLOCK);
    *explanation = made;
    return PLIM_OK;
}
