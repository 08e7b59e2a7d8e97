/* What somebody has tried in vain, or has on already, lever by lever.
 *
 *   a word of a lever ──→ its sentence ──→ the last thing in front of it: "tried", "even with", or "should I", "how to"
 *                                     └──→ behind it: "did not help", "still", or "works"
 *                   in a list ──→ the line above the list: "I have tried:"
 */
#include "diagnose/context_tried.h"

#include <string.h>
#include <strings.h>

#include "diagnose/talk.h"

enum { BEFORE = 260, AFTER = 140, LIST_REACH = 700 };

#define TRIED(text, lever)                                                                                             \
    { text, PLIM_LEVER_##lever }

const plim__tried_word plim__tried_words[] = {
    TRIED("utilization", CACHE),
    TRIED("mem-fraction", CACHE),
    TRIED("mem_fraction", CACHE),
    TRIED("cache-max-entry", CACHE),
    TRIED("contextlength", LENGTH),
    TRIED("contextsize", LENGTH),
    TRIED("context_length", LENGTH),
    TRIED("seqlen", LENGTH),
    TRIED("seq_len", LENGTH),
    TRIED("cutoff_len", LENGTH),
    TRIED("num_ctx", LENGTH),
    TRIED("max_tokens", LENGTH),
    TRIED("max_new_tokens", LENGTH),
    TRIED("shortersequence", LENGTH),
    TRIED("max_seq_length", LENGTH),
    TRIED("max-num-seqs", FEWER),
    TRIED("max_num_seqs", FEWER),
    TRIED("imgsz", INPUT),
    TRIED("inputresolution", INPUT),
    TRIED("cropsize", INPUT),
    TRIED("smallaudio", INPUT),
    TRIED("smallaudio", LENGTH),
    TRIED("sizeofimage", INPUT),
    TRIED("sizeoftheimage", INPUT),
    TRIED("imagesto", INPUT),
    TRIED("numberofpoints", INPUT),
    TRIED("num_points", INPUT),
    TRIED("fewerframes", INPUT),
    TRIED("numberofframes", INPUT),
    TRIED("num_frames", INPUT),
    TRIED("tiledvae", TILES),
    TRIED("tiling", TILES),
    TRIED("tiled", TILES),
    TRIED("tilesize", TILES),
    TRIED("tile_size", TILES),
    TRIED("checkpointing", CHECKPOINT),
    TRIED("grad_checkpoint", CHECKPOINT),
    TRIED("xformers", KERNELS),
    TRIED("flashattention", KERNELS),
    TRIED("flash_attention", KERNELS),
    TRIED("flash-attn", KERNELS),
    TRIED("flash_attn", KERNELS),
    TRIED("attentionslicing", KERNELS),
    TRIED("attention_slicing", KERNELS),
    TRIED("sageattention", KERNELS),
    TRIED("opt-split-attention", KERNELS),
    TRIED("autocast", PRECISION),
    TRIED(".half()", PRECISION),
    TRIED("gguf", QUANTIZE),
    TRIED("quantization", QUANTIZE),
    TRIED("quantiz", QUANTIZE),
    TRIED("qlora", QUANTIZE),
    TRIED("lora", ADAPTERS),
    TRIED("adafactor", OPTIMIZER),
    TRIED("lion8bit", OPTIMIZER),
    TRIED("offloading", OFFLOAD),
    TRIED("offloaded", OFFLOAD),
    TRIED("cputhe", OFFLOAD),
    TRIED("blocks_to_swap", OFFLOAD),
    TRIED("blockswap", OFFLOAD),
    TRIED("lowvram", OFFLOAD),
    TRIED("lowmemorymode", OFFLOAD),
    TRIED("novram", OFFLOAD_MORE),
    TRIED("multi-gpu", SHARD),
    TRIED("multigpu", SHARD),
    TRIED("multiplegpus", SHARD),
    TRIED("empty_cache", RELEASE),
    TRIED("emptycache", RELEASE),
    TRIED("gc.collect", RELEASE),
    TRIED("clear_session", RELEASE),
    TRIED("restarting", RELEASE),
    TRIED("restarted", RELEASE),
    TRIED("no_grad", NOGRAD),
    TRIED("inferencemode", NOGRAD),
    TRIED("num_worker", WORKERS),
    TRIED("numworker", WORKERS),
    TRIED("num_workers", WORKERS),
    TRIED("shm-size", LIMIT),
    TRIED("sharedmemory", LIMIT),
    TRIED("\xE5\x85\xB1\xE4\xBA\xAB\xE5\x86\x85\xE5\xAD\x98", LIMIT), /* shared memory */
    TRIED("max-old-space-size", LIMIT),
    TRIED("max_old_space_size", LIMIT),
    TRIED("-xmx", LIMIT),
    TRIED("increasethememory", LIMIT),
    TRIED("increasedthememory", LIMIT),
    TRIED("increasingthememory", LIMIT),
    TRIED("pagefile", LIMIT),
    TRIED("pageallocation", LIMIT),
    TRIED("virtualmemory", LIMIT),
    TRIED("pagingfile", LIMIT),
    TRIED("swapfile", LIMIT),
    TRIED("smallermodel", MODEL),
};
const size_t plim__tried_count = sizeof plim__tried_words / sizeof *plim__tried_words;

/* --- words that have a reader of their own already ---------------------------------------------------------------- */

static const struct {
    plim__context_word means;
    plim__lever lever;
} known[] = {
    {PLIM_CONTEXT_BATCHED, PLIM_LEVER_BATCH},        {PLIM_CONTEXT_BATCH_TRIED, PLIM_LEVER_BATCH},
    {PLIM_CONTEXT_TRAINER, PLIM_LEVER_BATCH},        {PLIM_CONTEXT_INPUT_TRIED, PLIM_LEVER_INPUT},
    {PLIM_CONTEXT_SHORT_CONTEXT, PLIM_LEVER_LENGTH}, {PLIM_CONTEXT_CHECKPOINTING, PLIM_LEVER_CHECKPOINT},
    {PLIM_CONTEXT_HALF, PLIM_LEVER_PRECISION},       {PLIM_CONTEXT_QUANTIZED, PLIM_LEVER_QUANTIZE},
    {PLIM_CONTEXT_OPTIMIZER8, PLIM_LEVER_OPTIMIZER}, {PLIM_CONTEXT_OFFLOAD, PLIM_LEVER_OFFLOAD},
    {PLIM_CONTEXT_LOWVRAM, PLIM_LEVER_OFFLOAD},      {PLIM_CONTEXT_NO_GRAD, PLIM_LEVER_NOGRAD},
    {PLIM_CONTEXT_EXPANDABLE, PLIM_LEVER_ALLOCATOR}, {PLIM_CONTEXT_SPLIT_SIZE, PLIM_LEVER_ALLOCATOR},
    {PLIM_CONTEXT_EAGER, PLIM_LEVER_GRAPHS},         {PLIM_CONTEXT_PARALLEL, PLIM_LEVER_SHARD},
};

plim__lever plim__lever_of_word(const plim__word *word) {
    /* of a Trainer's options only that for its batch */
    if (word->means == PLIM_CONTEXT_TRAINER && !strstr(word->text, "batch")) return PLIM_LEVER_COUNT;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].means == word->means) return known[i].lever;
    return PLIM_LEVER_COUNT;
}

/* --- the sentence ----------------------------------------------------------------------------------------------- */

typedef struct words {
    const char *const *list;
    size_t count;
} words;
#define WORDS(array)                                                                                                   \
    (words) { array, sizeof array / sizeof *array }

/* Where the last of the words begins; NULL for none. */
static const char *last_of(plim__text t, words of) {
    for (const char *at = t.end; at-- > t.at;)
        for (size_t i = 0; i < of.count; i++) {
            size_t length = strlen(of.list[i]);
            if ((size_t)(t.end - at) >= length && strncasecmp(at, of.list[i], length) == 0) return at;
        }
    return NULL;
}

static bool has(plim__text t, words of) { return plim__has_any(t, of.list, of.count); }

static const char *const done[] = {"tried",
                                   "i try ",
                                   "attempted",
                                   "already",
                                   "even with",
                                   "even if",
                                   "even after",
                                   "even when",
                                   "even though",
                                   "even at ",
                                   "even using",
                                   "even set",
                                   "even reduc",
                                   "despite",
                                   "no matter",
                                   "regardless",
                                   "not help",
                                   "n't help",
                                   "no help",
                                   "no effect",
                                   "no luck",
                                   "same error",
                                   "still ",
                                   "in vain",
                                   "besid",
                                   "apart from",
                                   "aside from",
                                   "other than",
                                   "i have set",
                                   "i've set",
                                   "i set ",
                                   "i reduce",
                                   "i lower",
                                   "i decrease",
                                   "i change",
                                   "i have reduced",
                                   "i've reduc",
                                   "have reduced",
                                   "i enabled",
                                   "i've enabl",
                                   "i also ",
                                   "have enabled",
                                   "even incr",
                                   "turned on",
                                   "i added",
                                   "i've added",
                                   "after reduc",
                                   "after lower",
                                   "after sett",
                                   "after decr",
                                   "\xE5\xB7\xB2\xE7\xBB\x8F" /* already */,
                                   "\xE8\xAF\x95\xE8\xBF\x87" /* tried */,
                                   "\xE5\xB0\x9D\xE8\xAF\x95" /* try */,
                                   "\xE5\x8D\xB3\xE4\xBD\xBF" /* even if */};
static const char *const wished[] = {
    "should",  "can i ",   "can we",     "could",       "how to",    "how can",   "how do",  "recommend",
    "suggest", "consider", "would",      "please",      "you try",   "you tried", "try to ", "is there",
    "wonder",  "if you",   "you can",    "possible",    "want",      "maybe",     "might",   "instead of",
    "without", "support",  "works",      "only with",   "not us",    "n't us",    "need ",   "do you",
    "did you", "does it",  "people say", "someone",     "somebody",  "says ",     "said to", "told to",
    "told me", "advis",    "can't find", "cannot find", "not found", "n't found"};
static const char *const failed[] = {"nothing ",
                                     "not help",
                                     "n't help",
                                     "no help",
                                     "no effect",
                                     "not work",
                                     "n't work",
                                     "no luck",
                                     "still",
                                     "same ",
                                     "no differ",
                                     "also fail",
                                     "fails",
                                     "not solve",
                                     "n't solve",
                                     "in vain",
                                     "persists",
                                     "can not be",
                                     "cannot be",
                                     "can't be",
                                     "can not run",
                                     "can not work",
                                     "can not solve",
                                     "cannot run",
                                     "cannot work",
                                     "cannot solve",
                                     "cannot fit",
                                     "\xE4\xBB\x8D\xE7\x84\xB6" /* still */,
                                     "\xE8\xBF\x98\xE6\x98\xAF" /* still */,
                                     "\xE4\xB8\x8D\xE8\xA1\x8C" /* does not do */};
static const char *const cured[] = {"works", "worked", "solved", " fine", "succe", "helped", "it runs", "fits"};
static const char *const denied[] = {"not ", "n't ", "nothing ", "none ", "neither ", "never ", "nor "};
static const char *const larger[] = {"increas", "larger", "bigger", "higher", "raise", "raising"};

/* A sentence ends with a stop and a blank, or with the line. */
static plim__text before_in_sentence(plim__text before, size_t word) {
    plim__text t = {before.end - word, before.end - word};
    while (t.at > before.at && t.end - t.at < BEFORE && t.at[-1] != '\n' &&
           !(strchr(".?!;", t.at[-1]) && t.at < t.end && *t.at == ' '))
        t.at--;
    return t;
}

static plim__text after_in_sentence(plim__text after) {
    plim__text t = {after.at, after.at};
    while (t.end < after.end && t.end - t.at < AFTER && *t.end != '\n' &&
           !(strchr(".?!;", *t.end) && t.end + 1 < after.end && t.end[1] == ' '))
        t.end++;
    return t;
}

static bool is_item(plim__text line) {
    while (line.at < line.end && (*line.at == ' ' || *line.at == '\t' || *line.at == '>')) line.at++;
    if (line.end - line.at < 2) return false;
    if (strchr("-*+", *line.at) && line.at[1] == ' ') return true;
    if (memcmp(line.at, "\xE2\x80\xA2", 2) == 0 || memcmp(line.at, "\xEF\xBC\x88", 2) == 0)
        return true; /* a dot, a wide bracket */
    while (line.at < line.end && *line.at >= '0' && *line.at <= '9') line.at++;
    return line.at + 1 < line.end && strchr(".)", *line.at) && line.at[1] == ' ';
}

/* The line above the list that the word stands in; empty where it stands in none. */
static plim__text heading_of(plim__text before, const char *word) {
    const char *start = word, *limit = word - before.at > LIST_REACH ? word - LIST_REACH : before.at;
    while (start > limit && start[-1] != '\n') start--;
    plim__text none = {before.at, before.at}, line = {start, word};
    if (!is_item(line)) return none;
    while (start > limit) {
        line.end = start - 1;
        for (start = line.end; start > limit && start[-1] != '\n';) start--;
        line.at = start;
        bool blank = line.end - line.at < 3;
        if (!blank && !is_item(line)) return line;
    }
    return none;
}

static bool is_cured(plim__text after) {
    const char *at = last_of(after, WORDS(cured));
    if (!at) return false;
    plim__text before = {at - after.at > 24 ? at - 24 : after.at, at};
    return !has(before, WORDS(denied));
}

/* A lever that makes something smaller is not tried by making it larger. */
static bool is_size(plim__lever lever) {
    return lever == PLIM_LEVER_BATCH || lever == PLIM_LEVER_INPUT || lever == PLIM_LEVER_LENGTH ||
           lever == PLIM_LEVER_FEWER || lever == PLIM_LEVER_WORKERS;
}

static bool was_tried(plim__text before, plim__text after, size_t word, plim__lever lever) {
    plim__text front = before_in_sentence(before, word), back = after_in_sentence(after);
    if (is_cured(back)) return false;
    if (is_size(lever) && (has(front, WORDS(larger)) || has(back, WORDS(larger)))) return false;
    plim__text whole = {front.at, before.end}; /* "even increased the memory" begins before the word */
    const char *tried = last_of(whole, WORDS(done)), *wish = last_of(front, WORDS(wished));
    if (tried && (!wish || wish < tried)) return !(wish && tried - wish < 12);
    bool tries = wish && strncasecmp(wish, "try to ", 7) == 0; /* "I try to lower it, but it does not work" */
    if (wish && !(tries && has(back, WORDS(failed)))) return false;
    if (has(back, WORDS(failed))) return true;
    plim__text heading = heading_of(before, before.end - word);
    return last_of(heading, WORDS(done)) && !last_of(heading, WORDS(wished));
}

/* Words of these come with programs and data, too, whether the lever was tried or not. */
static bool is_loose(plim__context_word means) {
    return means == PLIM_CONTEXT_BATCHED || means == PLIM_CONTEXT_TRAINER || means == PLIM_CONTEXT_LOWVRAM;
}

void plim__tried_read(plim__context *context, plim__tried_word word, plim__text before, plim__text after) {
    size_t length = strlen(word.text), most = (size_t)(before.end - before.at);
    if (word.lever == PLIM_LEVER_COUNT || !was_tried(before, after, length < most ? length : most, word.lever)) return;
    context->tried |= (uint64_t)1 << word.lever;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].lever == word.lever && !is_loose(known[i].means)) plim__context_set(context, known[i].means);
}

bool plim__was_tried(const plim__context *context, plim__lever lever) { return context->tried >> lever & 1; }
