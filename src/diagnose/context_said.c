/* What is said to be on, off or tried already: such advice is not repeated. */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "diagnose/context_words.h"
#include "diagnose/talk.h"

/* The last `reach` characters of the line before a word. */
static plim__text line_before(plim__text before, size_t reach) {
    plim__text t = {before.end, before.end};
    while (t.at > before.at && t.at[-1] != '\n' && (size_t)(t.end - t.at) < reach) t.at--;
    return t;
}

static bool says_it_works(plim__text before) {
    static const char *const words[] = {"work", "fits", "fine", " ok", "succe", "only with", "only if", "try "};
    return plim__has_any(line_before(before, 48), words, sizeof words / sizeof *words);
}

/* Advice, a wish or a denial in front of a word: it is not so in this run. */
static bool is_wish(plim__text before) {
    static const char *const words[] = {
        "try ",  "trying ", "should", "you can", "could",   "can i",    "can we",   "recommend", "suggest",  "consider",
        "pleas", "if you",  "need ",  "without", "disable", "not us",   "n't use",  "how to",    "want",     "would",
        "may ",  "might ",  "must",   "instead", "support", "is there", "turn off", "--no-",     "possible", "add",
        "does ", "will ",   "to use", " no ",    "not set", "such as",  "e.g.",     "either"};
    return plim__has_any(line_before(before, 56), words, sizeof words / sizeof *words);
}

/* "=False", ": none", "is off" behind a word. */
static bool is_off(plim__text after) {
    after = plim__value_of(after);
    static const char *const words[] = {"false", "off", "none", "no ", "no,", "0", "null", "disabled", "not "};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (plim__take(&(plim__text){after.at, after.end}, words[i])) return true;
    return false;
}

/* Said to be on: neither a wish nor switched off. */
static void read_on(plim__context *context, plim__word_place at) {
    if (!is_wish(at.before) && !is_off(at.after)) plim__context_set(context, at.means);
}

/* A name that is set to something: only "=False" speaks against it. */
static void read_set(plim__context *context, plim__word_place at) {
    if (!is_off(at.after)) plim__context_set(context, at.means);
}

/* vLLM prints at every start how its graphs are switched off. */
static void read_eager(plim__context *context, plim__word_place at) {
    static const char *const advice[] = {"eager mode, set", "or use '"};
    if (!plim__has_any(line_before(at.before, 90), advice, sizeof advice / sizeof *advice)) read_set(context, at);
}

/* "4-bit" weights; "8-bit Adam" is an optimizer, "64-bit" a system. */
static void read_bits(plim__context *context, plim__word_place at) {
    plim__text before = at.before, after = at.after;
    while (before.end > before.at && before.end[-1] != '4' && before.end[-1] != '8') before.end--;
    if (before.end - before.at > 1 && before.end[-2] >= '0' && before.end[-2] <= '9') return;
    if (is_wish(at.before) || is_off(at.after)) return;
    bool optimizer = plim__has(after, 24, "adam") || plim__has(after, 24, "optim") ||
                     plim__has(line_before(at.before, 16), 16, "adam");
    plim__context_set(context, optimizer ? PLIM_CONTEXT_OPTIMIZER8 : at.means);
}

/* "the batch size was reduced", "no matter which batch size": no use to say it again. */
static void read_tried(plim__context *context, plim__word_place at) {
    static const char *const words[] = {"try ",     "should", "you can", "could",  "recommend", "suggest",
                                        "consider", "pleas",  "if you",  "need ",  "how to",    "want",
                                        "would",    "may ",   "might ",  "must",   "say ",      "says ",
                                        "said ",    "told ",  "advis",   "someone"};
    plim__text after = {at.after.at, at.after.end - at.after.at > 70 ? at.after.at + 70 : at.after.end};
    static const char *const cured[] = {
        "works",  "worked",      "solve",      "fine",
        "helped", "cannot find", "can't find", "n't found"}; /* it was the batch, or there is none */
    if (plim__has_any(after, cured, sizeof cured / sizeof *cured)) return;
    if (!plim__has_any(line_before(at.before, 40), words, sizeof words / sizeof *words))
        plim__context_set(context, at.means);
}

/* "batch sizes 16, 32 and 64 did not help" */
static void read_no_help(plim__context *context, plim__word_place at) {
    if (plim__has(line_before(at.before, 160), 160, "batch")) plim__context_set(context, at.means);
}

/* "I tried ... a smaller batch": the verb stands anywhere before in the line. */
static void read_after_tried(plim__context *context, plim__word_place at) {
    static const char *const words[] = {"tried", "i try", "already"};
    if (plim__has_any(line_before(at.before, 200), words, sizeof words / sizeof *words))
        plim__context_set(context, at.means);
}

/* The sentence around a word, no further than a line and what may be read at a glance. */
static plim__text sentence_around(plim__word_place at) {
    plim__text s = {at.before.end, at.after.at};
    while (s.at > at.before.at && at.before.end - s.at < 160 && s.at[-1] != '\n' &&
           !(strchr(".?!", s.at[-1]) && s.at < at.before.end && *s.at == ' '))
        s.at--;
    while (s.end < at.after.end && s.end - at.after.at < 120 && *s.end != '\n' &&
           !(strchr(".?!", *s.end) && s.end + 1 < at.after.end && s.end[1] == ' '))
        s.end++;
    return s;
}

/* "I tried every way, like changing the batch size from 8 to 4", "reduced the image size, but it is the same": a thing that can
 * be made smaller, a verb that does it, and a word that it was done in vain. */
static void read_in_vain(plim__context *context, plim__word_place at) {
    static const char *const smaller[] = {"reduc", "lower", "decreas", "small", "chang", "shrink", "minim", "crop",
                                          "resiz", "short", "downs",   "half",  "set ",  "= 1",    "=1",    "to 1"};
    static const char *const vain[] = {"tried",      "i try",    "trying",     "already",    "even ",      "still",
                                       "not work",   "n't work", "not help",   "no help",    "same error", "no matter",
                                       "regardle",   "despite",  "besid",      "other than", "apart from", "aside from",
                                       "no success", "persist",  "can't work", "cannot work"};
    static const char *const else_[] = {"you should",    "should i",    "could i",     "can i",      "how to",
                                        "would like",    "if you",      "recommend",   "suggest",    "consider",
                                        "works",         "worked",      "solved",      "fine",       "helped",
                                        "any param",     "any setting", "try to ",     "unsure how", "not sure how",
                                        "how can i",     "how i can",   "please try",  "it runs",    "only with",
                                        "without reduc", "don't want",  "do not want", "want to"};
    /* said plainly, whatever is asked for behind it */
    static const char *const plainly[] = {"besid",     "apart from", "aside from", "other than",
                                          "also fail", "but fail",   "no effect",  "no use",
                                          "not help",  "n't help",   "no differ",  "in vain"};
    static const char *const whatever[] = {"no matter", "regardless", "although i", "even though", "irrespective"};
    /* advice of others, and what is not there, is no trial */
    static const char *const others[] = {"someone",       "somebody",  "people say", "they say",    "he says",
                                         "says ",         "said ",     "advice",     "advise",      "answers",
                                         "haven't found", "not found", "can't find", "cannot find", "no batch",
                                         "where is",      "where can", "where to"};
    /* these join any two sentences: they count beside somebody's own deed */
    static const char *const loose[] = {"but ",    "do not ", "don't ", "does not",
                                        "doesn't", "did not", "didn't", "however"};
    static const char *const deeds[] = {" i ",       "i've ",   " we ",     "my ",      "reduced",    "lowered",
                                        "decreased", "changed", "reducing", "lowering", "decreasing", "changing",
                                        "setting",   "shrank",  "cropped",  "resized",  "halved",     "set ",
                                        "= 1",       "=1",      "to 1"};
    plim__text s = sentence_around(at);
    if (plim__has_any(s, others, sizeof others / sizeof *others)) return;
    bool again = plim__has(s, (size_t)(s.end - s.at), "tried") &&
                 (plim__has(s, (size_t)(s.end - s.at), "still") || plim__has(s, (size_t)(s.end - s.at), "same"));
    if (again || plim__has_any(s, whatever, sizeof whatever / sizeof *whatever)) plim__context_set(context, at.means);
    if (plim__has_any(s, smaller, sizeof smaller / sizeof *smaller) &&
        plim__has_any(s, plainly, sizeof plainly / sizeof *plainly)) {
        plim__context_set(context, at.means);
        return;
    }
    bool failed = plim__has_any(s, vain, sizeof vain / sizeof *vain) ||
                  (plim__has_any(s, loose, sizeof loose / sizeof *loose) &&
                   (plim__has(s, 3, "i ") || plim__has_any(s, deeds, sizeof deeds / sizeof *deeds)));
    if (plim__has_any(s, smaller, sizeof smaller / sizeof *smaller) && failed &&
        !plim__has_any(s, else_, sizeof else_ / sizeof *else_))
        plim__context_set(context, at.means);
}

/* "running it multiple times leads to OOM", "the second run fails": not "I tried it several times". */
static void read_repeats(plim__context *context, plim__word_place at) {
    static const char *const fails[] = {"oom", "out of memory", "fail", "crash", "error", "run out", "ran out"};
    static const char *const tries[] = {"tried", "try ", "restart", "reinstall", "reboot", "asked", "posted"};
    plim__text s = sentence_around(at);
    if (plim__has_any(s, fails, sizeof fails / sizeof *fails) && !plim__has_any(s, tries, sizeof tries / sizeof *tries))
        plim__context_set(context, at.means);
}

/* "max_split_size_mb did not help": the allocator's variable was tried, whichever of its options. */
static void read_allocator(plim__context *context, plim__word_place at) {
    static const char *const vain[] = {"tried", "i try ",   "already",  "still",     "do not",
                                       "don't", "does not", "doesn't",  "did not",   "didn't",
                                       "even ", "no help",  "not work", "no effect", "no success"};
    static const char *const advice[] = {"try setting", "reserved memory is", "if reserved", "see documentation"};
    plim__text s = sentence_around(at);
    if (!plim__has_any(s, vain, sizeof vain / sizeof *vain)) return;
    if (plim__has_any(s, advice, sizeof advice / sizeof *advice)) return;
    plim__context_set(context, PLIM_CONTEXT_SPLIT_SIZE);
    plim__context_set(context, PLIM_CONTEXT_EXPANDABLE);
}

static void read_lowvram(plim__context *context, plim__word_place at) {
    plim__context_set(context, PLIM_CONTEXT_WEBUI);
    read_on(context, at);
}

/* "the usage has been increasing as epochs go on": memory, and something that goes on, in one sentence. */
static void read_growth(plim__context *context, plim__word_place at) {
    static const char *const subjects[] = {"memory", "usage", "vram", " ram", "consum", "gpu"};
    static const char *const goes_on[] = {"keep",     "each ",   "every ", "as the ",   "as epoch",
                                          "gradual",  "continu", "stead",  "has been",  "over ",
                                          "and more", "until ",  "slowly", "after sev", "constant"};
    static const char *const other[] = {"batch size", "batch_size", "accumulation", "gradient",
                                        "swap",       "limit",      "to increase",  "try increasing"};
    plim__text before = line_before(at.before, 90), after = at.after;
    const char *stop = memchr(after.at, '\n', (size_t)(after.end - after.at));
    if (stop) after.end = stop;
    if (after.end - after.at > 60) after.end = after.at + 60;
    plim__text both = {before.at, after.end};
    bool told = plim__has_any(before, subjects, sizeof subjects / sizeof *subjects) &&
                plim__has_any(both, goes_on, sizeof goes_on / sizeof *goes_on);
    if (told && !plim__has_any(both, other, sizeof other / sizeof *other)) plim__context_set(context, at.means);
}

/* A word of its own between blanks, not a part of a model's name ("oasst-sft-4"). */
static void read_alone(plim__context *context, plim__word_place at) {
    size_t length = strlen(at.word);
    if ((size_t)(at.before.end - at.before.at) < length) return;
    const char *start = at.before.end - length;
    bool before = start == at.before.at || start[-1] == ' ' || start[-1] == '\n';
    bool after = at.after.at >= at.after.end || *at.after.at == ' ' || *at.after.at == '\n';
    if (before && after && strncasecmp(start, at.word, length) == 0) plim__context_set(context, at.means);
}

/* A flag says what comes as well: beside "--do_train" it is not what is done now. */
static void read_eval_flag(plim__context *context, plim__word_place at) {
    static const char *const trains[] = {"do_train ", "do_train\n", "do_train=true"};
    plim__text before = at.before, after = at.after;
    if (before.end - before.at > 600) before.at = before.end - 600;
    if (after.end - after.at > 600) after.end = after.at + 600;
    size_t count = sizeof trains / sizeof *trains;
    if (!plim__has_any(before, trains, count) && !plim__has_any(after, trains, count))
        plim__context_set(context, at.means);
}

/* "resume from a checkpoint", not the setting "resume_from_checkpoint: False" of a list. */
static void read_resume(plim__context *context, plim__word_place at) {
    plim__text after = at.after;
    if (after.at < after.end && *after.at == ' ') plim__context_set(context, at.means);
}

/* "torch.load(args.resume)"; a Trainer's "training_args.resume_from_checkpoint" is passed on whether it is set or not. */
static void read_resume_argument(plim__context *context, plim__word_place at) {
    plim__text after = at.after;
    if (!plim__take(&after, "_from")) plim__context_set(context, at.means);
}

/* Programs print where they would offload to, whether they do or not. */
static void read_offload(plim__context *context, plim__word_place at) {
    plim__text after = at.after;
    plim__text value = after; /* "offload_optimizer_device: none" */
    while (value.at < value.end && (isalpha((unsigned char)*value.at) || *value.at == '_')) value.at++;
    if (value.at > after.at && is_off(value)) return;
    bool printed = plim__take(&after, " device: ") || plim__take(&after, ": Total persistent");
    /* a line of code reads the switch: it does not set it */
    bool read = plim__has(line_before(at.before, 13), 13, "args.") || plim__has(line_before(at.before, 10), 10, "if ");
    if (!printed && !read) read_on(context, at);
}

/* "there is over 2 TiB of free memory", "I have sufficient memory", not "not enough memory" or a figure of a message. */
static void read_plenty(plim__context *context, plim__word_place at) {
    static const char *const told[] = {"i have", "i've",   "there is",  "there are",   "there's",     "should be",
                                       "still",  "plenty", "with over", "even though", "machine has", "server has"};
    static const char *const denied[] = {"not ",   "n't ", "no ", "if ", "without", "need", "free memory on device",
                                         "unused", "how "};
    plim__text before = line_before(at.before, 60);
    if (plim__has_any(before, told, sizeof told / sizeof *told) &&
        !plim__has_any(before, denied, sizeof denied / sizeof *denied))
        plim__context_set(context, at.means);
}

static bool in_name(char c) { return isalnum((unsigned char)c) || c == '_' || c == '-'; }

/* "per_device_eval_batch_size", "validation batch size": the name, and two words before it. */
static bool is_of_evaluation(plim__text before) {
    static const char *const parts[] = {"eval", "valid", "val_", "val-", "val ", "test_", "test-", "dev_"};
    plim__text name = {before.end, before.end};
    for (int words = 0; words < 3; words++) {
        while (name.at > before.at && in_name(name.at[-1])) name.at--;
        if (name.at - before.at < 2 || name.at[-1] != ' ' || !in_name(name.at[-2])) break;
        name.at -= words < 2;
    }
    return plim__has_any(name, parts, sizeof parts / sizeof *parts);
}

static void read_batch(plim__context *context, plim__word_place at) {
    at.means = PLIM_CONTEXT_BATCH_TRIED;
    read_in_vain(context, at);
    plim__text after = at.after;
    int64_t size;
    after = plim__value_of(after);
    /* words of a script without blanks stand between, a few of three bytes each */
    const char *most = after.end - after.at > 24 ? after.at + 24 : after.end;
    while (after.at < most && (unsigned char)*after.at >= 0x80) after.at++;
    if (!plim__take(&after, "%i", &size) || size < 1 || size > 1 << 20) return;
    bool fraction = after.end - after.at > 1 && *after.at == '.' && after.at[1] >= '0' && after.at[1] <= '9';
    if (fraction || (after.at < after.end && *after.at == '%') || is_of_evaluation(at.before)) return;
    if (context->batch < 0 || (size > 1 && size < context->batch)) context->batch = size;
    if (size > context->batch_most) context->batch_most = size;
    /* "even with batch size 1" beside a larger one: it was tried; "it works with 1" is another matter */
    if (size == 1 && !says_it_works(at.before)) plim__context_set(context, PLIM_CONTEXT_BATCH_ONE);
}

/* "10242 nodes": a graph's; "2 nodes with 8 cards" are machines. */
static void read_nodes(plim__context *context, plim__word_place at) {
    const char *end = at.before.end - strlen(at.word), *digits;
    while (end > at.before.at && end[-1] == ' ') end--;
    for (digits = end; digits > at.before.at && end - digits < 12 && strchr("0123456789,k", digits[-1]);) digits--;
    int64_t count = 0;
    for (const char *c = digits; c < end; c++)
        count = *c == 'k' ? count * 1000 : *c == ',' ? count : count * 10 + *c - '0';
    if (digits == end || *digits == ',' || *digits == 'k' || count < 500) return;
    if (count > context->nodes) context->nodes = count;
    plim__context_set(context, at.means);
}

/* A Mac's "/Users/me", not "C:/Users/me", "/home/users/me" or a cluster's "/users/me". */
static void read_home(plim__context *context, plim__word_place at) {
    size_t length = strlen(at.word);
    if ((size_t)(at.before.end - at.before.at) < length) return;
    const char *start = at.before.end - length;
    if (start[1] != 'U') return;
    bool inside =
        start > at.before.at && start[-1] && (strchr("-_.:~\\/", start[-1]) || isalnum((unsigned char)start[-1]));
    if (!inside) plim__context_set(context, at.means);
}

/* "Trainable parameters = 1,361,753,856 of 5,661,833,328 (24.05% trained)", "trainable%: 24.05": adapters are a few of a hundred. */
static void read_trainable(plim__context *context, plim__word_place at) {
    plim__text after = at.after;
    const char *stop = memchr(after.at, '\n', (size_t)(after.end - after.at));
    if (stop) after.end = stop;
    if (after.end - after.at > 120) after.end = after.at + 120;
    plim__text t = after;
    int64_t whole, part;
    bool told = plim__seek(&t, 100, "(%i.%i%% trained", &whole, &part);
    if (!told) t = after, told = plim__seek(&t, 110, "trainable%%: %i.", &whole);
    if (told && whole >= 8 && whole < 60) plim__context_set(context, PLIM_CONTEXT_MANY_TRAINED);
}

/* "model weights take 5.20GiB", "Loading model weights took 5.2032 GB", "Model loading took 14.2 GiB" */
static void read_weights(plim__context *context, plim__word_place at) {
    plim__text after = at.after;
    plim_amount amount;
    plim__skip_blank(&after);
    if (plim__take(&after, "%S", &amount) && amount.known) context->weights = amount;
}

/* "Maximum concurrency for 4096 tokens per request": the context that is set. */
static void read_served(plim__context *context, plim__word_place at) {
    plim__text after = at.after;
    int64_t tokens;
    if (plim__take(&after, " for %i tokens", &tokens) && tokens > 0 && tokens < 1 << 24) context->served = tokens;
}

/* "the watermark did not help", "except the watermark": not the message's own advice to disable the limit. */
static void read_watermark_told(plim__context *context, plim__word_place at) {
    plim__text after = at.after, before = at.before;
    if (plim__take(&after, "_ratio=0.0 to disable") || plim__take(&after, "_ratio = 0.0 to disable")) return;
    static const char *const words[] = {"except",   "exept",  "without",    "tried",   "instead of", "not want",
                                        "n't want", "beside", "other than", "already", "even with"};
    if (before.end - before.at > 60) before.at = before.end - 60;
    const char *line = before.end;
    while (line > before.at && line[-1] != '\n') line--;
    before.at = line;
    if (plim__has_any(before, words, sizeof words / sizeof *words)) plim__context_set(context, at.means);
}

const plim__word plim__said_words[] = {
    {"/users/", PLIM_CONTEXT_MAC, read_home, true},
    {"windows-1", PLIM_CONTEXT_WINDOWS, NULL, false},
    {"cudakernelerrorsmight", PLIM_CONTEXT_ASYNC_ADVICE, NULL, false},
    {"hipkernelerrorsmight", PLIM_CONTEXT_ASYNC_ADVICE, NULL, false},
    {"dtype=np.", PLIM_CONTEXT_TYPED, NULL, false},
    {"dtype=numpy.", PLIM_CONTEXT_TYPED, NULL, false},
    {"dtype='", PLIM_CONTEXT_TYPED, NULL, false},
    {"infunctionallocat", PLIM_CONTEXT_POOL, NULL, false},
    {"multipletimes", PLIM_CONTEXT_GROWS, read_repeats, true},
    {"severaltimes", PLIM_CONTEXT_GROWS, read_repeats, true},
    {"secondtime", PLIM_CONTEXT_GROWS, read_repeats, true},
    {"secondrun", PLIM_CONTEXT_GROWS, read_repeats, true},
    {"secondgeneration", PLIM_CONTEXT_GROWS, read_repeats, true},
    {"system:windows", PLIM_CONTEXT_WINDOWS, NULL, false},
    {"trainableparam", PLIM_CONTEXT_COUNT, read_trainable, true},
    {"modelweightstake", PLIM_CONTEXT_COUNT, read_weights, true},
    {"modelweightstook", PLIM_CONTEXT_COUNT, read_weights, true},
    {"modelloadingtook", PLIM_CONTEXT_COUNT, read_weights, true},
    {"maximumconcurrency", PLIM_CONTEXT_COUNT, read_served, true},
    {"high_watermark", PLIM_CONTEXT_WATERMARK, read_watermark_told, true},
    {"v100", PLIM_CONTEXT_VOLTA, NULL, false},
    {"_nchwc'", PLIM_CONTEXT_ORT_CPU, NULL, false},
    {"\"device\":\"nvme\"", PLIM_CONTEXT_NVME, NULL, false},
    {"device:nvme", PLIM_CONTEXT_NVME, NULL, false},
    {"nvme_path", PLIM_CONTEXT_NVME, NULL, false},
    {"nodes", PLIM_CONTEXT_GRAPHS, read_nodes, true},
    {"hip_visible_devices=", PLIM_CONTEXT_VISIBLE, NULL, false},
    {"rocr_visible_devices=", PLIM_CONTEXT_VISIBLE, NULL, false},
    {"ascend_rt_visible_devices=", PLIM_CONTEXT_VISIBLE, NULL, false},
    {"ascend_visible_devices=", PLIM_CONTEXT_VISIBLE, NULL, false},
    {"ze_affinity_mask=", PLIM_CONTEXT_VISIBLE, NULL, false},
    {"capturecudagraphfailed", PLIM_CONTEXT_CAPTURES, NULL, false},
    {"capturehipgraphfailed", PLIM_CONTEXT_CAPTURES, NULL, false},
    {"duringcudagraphcapture", PLIM_CONTEXT_CAPTURES, NULL, false},
    {"whilecapturingcudagraph", PLIM_CONTEXT_CAPTURES, NULL, false},
    {"init_cuda_graphs", PLIM_CONTEXT_CAPTURES, NULL, false},
    {"init_device_graphs", PLIM_CONTEXT_CAPTURES, NULL, false},
    {"capture_one_batch_size", PLIM_CONTEXT_CAPTURES, NULL, false},
    {"capture_one_stream", PLIM_CONTEXT_CAPTURES, NULL, false},
    {"incapture_model", PLIM_CONTEXT_CAPTURES, NULL, false},
    {"_capture_cudagraphs", PLIM_CONTEXT_CAPTURES, NULL, false},
    {"finetuning", PLIM_CONTEXT_TRAINING, NULL, false},
    {"highresfix", PLIM_CONTEXT_WEBUI, NULL, false},
    {"alloc_conf", PLIM_CONTEXT_COUNT, read_allocator, true},
    {"max_split_size", PLIM_CONTEXT_COUNT, read_allocator, true},
    {"expandable_segments", PLIM_CONTEXT_COUNT, read_allocator, true},
    {"enoughmemory", PLIM_CONTEXT_PLENTY, read_plenty, true},
    {"sufficientmemory", PLIM_CONTEXT_PLENTY, read_plenty, true},
    {"freememory", PLIM_CONTEXT_PLENTY, read_plenty, true},
    {"memoryfree", PLIM_CONTEXT_PLENTY, read_plenty, true},
    {"memoryavailable", PLIM_CONTEXT_PLENTY, read_plenty, true},
    {"enoughram", PLIM_CONTEXT_PLENTY, read_plenty, true},
    {"freeram", PLIM_CONTEXT_PLENTY, read_plenty, true},
    {"ramavailable", PLIM_CONTEXT_PLENTY, read_plenty, true},
    {"gfx1151", PLIM_CONTEXT_UNIFIED, NULL, false},
    {"gfx1150", PLIM_CONTEXT_UNIFIED, NULL, false},
    {"gfx1103", PLIM_CONTEXT_UNIFIED, NULL, false},
    {"ryzenaimax", PLIM_CONTEXT_UNIFIED, NULL, false},
    {"strixhalo", PLIM_CONTEXT_UNIFIED, NULL, false},
    {"mclapply", PLIM_CONTEXT_R_WORKERS, NULL, false},
    {"mc.cores", PLIM_CONTEXT_R_WORKERS, NULL, false},
    {"biocparallel", PLIM_CONTEXT_R_WORKERS, NULL, false},
    {"bplapply", PLIM_CONTEXT_R_WORKERS, NULL, false},
    {"parlapply", PLIM_CONTEXT_R_WORKERS, NULL, false},
    {"doparallel", PLIM_CONTEXT_R_WORKERS, NULL, false},
    {"multicoreparam", PLIM_CONTEXT_R_WORKERS, NULL, false},
    {"multisession", PLIM_CONTEXT_R_WORKERS, NULL, false},
    {"accumulatememory", PLIM_CONTEXT_GROWS, NULL, false},
    {"accumulatesmemory", PLIM_CONTEXT_GROWS, NULL, false},
    {"memoryaccumulat", PLIM_CONTEXT_GROWS, NULL, false},
    {"memoryleak", PLIM_CONTEXT_GROWS, read_on, true},
    {"\xE6\x8E\xA8\xE7\x90\x86\xE6\x97\xB6", PLIM_CONTEXT_INFERS, NULL, false},            /* while inferring */
    {"\xE7\x9A\x84\xE6\x8E\xA8\xE7\x90\x86", PLIM_CONTEXT_INFERS, NULL, false},            /* the inference of */
    {"\xE6\x8E\xA8\xE7\x90\x86", PLIM_CONTEXT_INFERENCE, NULL, false},                     /* inference */
    {"\xE6\xB5\x8B\xE8\xAF\x95\xE6\x97\xB6", PLIM_CONTEXT_INFERS, NULL, false},            /* while testing */
    {"\xE9\xAA\x8C\xE8\xAF\x81\xE6\x97\xB6", PLIM_CONTEXT_EVALUATION, NULL, false},        /* while validating */
    {"\xE8\xAF\x84\xE4\xBC\xB0\xE6\x97\xB6", PLIM_CONTEXT_EVALUATION, NULL, false},        /* while evaluating */
    {"\xE8\xAE\xAD\xE7\xBB\x83", PLIM_CONTEXT_TRAINING, NULL, false},                      /* training */
    {"\xE5\xBE\xAE\xE8\xB0\x83", PLIM_CONTEXT_TRAINING, NULL, false},                      /* fine-tuning */
    {"\xE5\x8A\xA0\xE8\xBD\xBD\xE6\xA8\xA1\xE5\x9E\x8B", PLIM_CONTEXT_LOADS, NULL, false}, /* loads the model */
    {"pd.merge", PLIM_CONTEXT_MERGES, NULL, false},
    {"reshape/merge.py", PLIM_CONTEXT_MERGES, NULL, false},
    {"reshape\\merge.py", PLIM_CONTEXT_MERGES, NULL, false},
    {".merge(", PLIM_CONTEXT_MERGES, NULL, false},
    {"vae.decode", PLIM_CONTEXT_DECODES, NULL, false},
    {"l2i", PLIM_CONTEXT_DECODES, NULL, false},
    {"latents_to_image", PLIM_CONTEXT_DECODES, NULL, false},
    {"tensor_model_parallel_size", PLIM_CONTEXT_PARALLEL, NULL, false},
    {"photos", PLIM_CONTEXT_IMAGES, NULL, false},
    {"testingimage", PLIM_CONTEXT_IMAGES, NULL, false},
    {"testingimage", PLIM_CONTEXT_INFERENCE, NULL, false},
    {"testimage", PLIM_CONTEXT_IMAGES, NULL, false},
    {"test_images", PLIM_CONTEXT_INFERENCE, NULL, false},
    {"denoising", PLIM_CONTEXT_IMAGES, NULL, false},
    {"deblur", PLIM_CONTEXT_IMAGES, NULL, false},
    {"photo_restoration", PLIM_CONTEXT_INFERENCE, NULL, false},
    {"kubernetes", PLIM_CONTEXT_KUBERNETES, NULL, false},
    {"kubectl", PLIM_CONTEXT_KUBERNETES, NULL, false},
    {"kubeflow", PLIM_CONTEXT_KUBERNETES, NULL, false},
    {"/argo/", PLIM_CONTEXT_KUBERNETES, NULL, false},
    {"thepod", PLIM_CONTEXT_KUBERNETES, NULL, false},
    {"pods", PLIM_CONTEXT_KUBERNETES, NULL, false},
    {"downsample", PLIM_CONTEXT_INPUT_TRIED, read_in_vain, true},
    {"deepspeed.initialize", PLIM_CONTEXT_STATE, NULL, false},
    {"optimizerstateinit", PLIM_CONTEXT_STATE, NULL, false},

    {"onwindows", PLIM_CONTEXT_WINDOWS, NULL, false},
    {"imgs_per_gpu", PLIM_CONTEXT_TRAINING, read_batch, false},
    {"singlegpu", PLIM_CONTEXT_ONE_CARD, NULL, false},
    {"onegpu", PLIM_CONTEXT_ONE_CARD, NULL, false},
    {"1gpu", PLIM_CONTEXT_ONE_CARD, NULL, false},
    {"singlecard", PLIM_CONTEXT_ONE_CARD, NULL, false},
    {"_warmup", PLIM_CONTEXT_TRIAL, NULL, false},
    {"_dummy_run", PLIM_CONTEXT_TRIAL, NULL, false},
    {"capture_model", PLIM_CONTEXT_TRIAL, NULL, false},
    {"roi_size", PLIM_CONTEXT_INPUT_TRIED, read_in_vain, true},
    {"patch_size", PLIM_CONTEXT_INPUT_TRIED, read_in_vain, true},
    {"patchsize", PLIM_CONTEXT_INPUT_TRIED, read_in_vain, true},
    {"resolution", PLIM_CONTEXT_INPUT_TRIED, read_in_vain, true},
    {"imagesize", PLIM_CONTEXT_INPUT_TRIED, read_in_vain, true},
    {"inputsize", PLIM_CONTEXT_INPUT_TRIED, read_in_vain, true},
    {"crop_size", PLIM_CONTEXT_INPUT_TRIED, read_in_vain, true},
    {"max_length", PLIM_CONTEXT_INPUT_TRIED, read_in_vain, true},
    {"sequencelength", PLIM_CONTEXT_INPUT_TRIED, read_in_vain, true},
    {"vaedecode", PLIM_CONTEXT_DECODES, NULL, false},
    {"decode_first_stage", PLIM_CONTEXT_DECODES, NULL, false},
    {"_load_optimizer", PLIM_CONTEXT_RESUMES, NULL, false},
    {"loadingfromcheckpoint", PLIM_CONTEXT_RESUMES, NULL, false},
    {"loadingfromacheckpoint", PLIM_CONTEXT_RESUMES, NULL, false},
    {"increasing", PLIM_CONTEXT_GROWS, read_growth, true},
    {"increases", PLIM_CONTEXT_GROWS, read_growth, true},
    {"increase", PLIM_CONTEXT_GROWS, read_growth, true},
    {"growing", PLIM_CONTEXT_GROWS, read_growth, true},
    {"grows", PLIM_CONTEXT_GROWS, read_growth, true},
    {"accumulating", PLIM_CONTEXT_GROWS, read_growth, true},
    {"accumulates", PLIM_CONTEXT_GROWS, read_growth, true},
    {"larger", PLIM_CONTEXT_GROWS, read_growth, true},
    {"rising", PLIM_CONTEXT_GROWS, read_growth, true},
    {"fillsup", PLIM_CONTEXT_GROWS, read_growth, true},
    {"\xE8\xB6\x8A\xE6\x9D\xA5\xE8\xB6\x8A\xE5\xA4\xA7", PLIM_CONTEXT_GROWS, NULL, false},
    {"\xE9\x80\x90\xE6\xB8\x90\xE5\xA2\x9E\xE5\x8A\xA0", PLIM_CONTEXT_GROWS, NULL, false},
    {"\xE4\xB8\x80\xE7\x9B\xB4\xE5\xA2\x9E\xE5\x8A\xA0", PLIM_CONTEXT_GROWS, NULL, false},
    {"distributed/fsdp", PLIM_CONTEXT_PARALLEL, NULL, false},
    {"sfttrainer", PLIM_CONTEXT_TRAINING, NULL, false},
    {"sft", PLIM_CONTEXT_TRAINING, read_alone, true},
    {"styletransfer", PLIM_CONTEXT_IMAGES, NULL, false},
    {"neural_style", PLIM_CONTEXT_IMAGES, NULL, false},
    {"neural-style", PLIM_CONTEXT_IMAGES, NULL, false},
    {"image_size", PLIM_CONTEXT_IMAGES, NULL, false},
    {"img_size", PLIM_CONTEXT_IMAGES, NULL, false},
    {"stylinganimage", PLIM_CONTEXT_IMAGES, NULL, false},
    {"device_map='auto'", PLIM_CONTEXT_DEVICE_MAP, NULL, false},
    {"device_map=\"auto\"", PLIM_CONTEXT_DEVICE_MAP, NULL, false},
    {"device_map='balanced'", PLIM_CONTEXT_DEVICE_MAP, NULL, false},
    {"resumetraining", PLIM_CONTEXT_RESUMES, NULL, false},
    {"resumingtraining", PLIM_CONTEXT_RESUMES, NULL, false},
    {"resumingthetraining", PLIM_CONTEXT_RESUMES, NULL, false},
    {"batchsizetoeven1", PLIM_CONTEXT_BATCH_ONE, NULL, false},
    {"batchsizeeven1", PLIM_CONTEXT_BATCH_ONE, NULL, false},
    {"evenbatchsize1", PLIM_CONTEXT_BATCH_ONE, NULL, false},
    {"batchsizeisonly1", PLIM_CONTEXT_BATCH_ONE, NULL, false},
    {"batchsizeisjust1", PLIM_CONTEXT_BATCH_ONE, NULL, false},
    {"batchsizeonly1", PLIM_CONTEXT_BATCH_ONE, NULL, false},
    {"_setup_for_real_optimizer", PLIM_CONTEXT_STATE, NULL, false},
    {"_configure_zero_optimizer", PLIM_CONTEXT_STATE, NULL, false},
    {"evenwithbatchsize1", PLIM_CONTEXT_BATCH_ONE, NULL, false},
    {"vocode", PLIM_CONTEXT_WHISPER, NULL, false},
    {"audioclip", PLIM_CONTEXT_WHISPER, NULL, false},
    {"wav2vec", PLIM_CONTEXT_WHISPER, NULL, false},
    {"texttospeech", PLIM_CONTEXT_WHISPER, NULL, false},
    {"text-to-speech", PLIM_CONTEXT_WHISPER, NULL, false},
    {"voice-cloning", PLIM_CONTEXT_WHISPER, NULL, false},
    {"tts_to_file", PLIM_CONTEXT_WHISPER, NULL, false},
    {"\xE5\xA3\xB0\xE9\x9F\xB3", PLIM_CONTEXT_WHISPER, NULL, false},
    {"resumethetraining", PLIM_CONTEXT_RESUMES, NULL, false},
    {"resumefrom", PLIM_CONTEXT_RESUMES, read_resume, true},
    {"resumingfrom", PLIM_CONTEXT_RESUMES, NULL, false},
    {"args.resume", PLIM_CONTEXT_RESUMES, read_resume_argument, true},
    {"continuetraining", PLIM_CONTEXT_RESUMES, NULL, false},
    {"minimumresolution", PLIM_CONTEXT_INPUT_TRIED, NULL, false},
    {"lowestresolution", PLIM_CONTEXT_INPUT_TRIED, NULL, false},
    {"lowestsettings", PLIM_CONTEXT_INPUT_TRIED, NULL, false},
    {"forevaluation", PLIM_CONTEXT_EVALUATION, NULL, false},
    {"tryingtovalidate", PLIM_CONTEXT_EVALUATION, NULL, false},
    {"startsthevalidation", PLIM_CONTEXT_EVALUATION, NULL, false},
    {"startsvalidati", PLIM_CONTEXT_EVALUATION, NULL, false},
    {"whenvalidati", PLIM_CONTEXT_EVALUATION, NULL, false},
    {"whilevalidati", PLIM_CONTEXT_EVALUATION, NULL, false},
    {"duringvalidati", PLIM_CONTEXT_EVALUATION, NULL, false},
    {"evaluationdataset", PLIM_CONTEXT_EVALUATION, NULL, false},
    {"evaluationset", PLIM_CONTEXT_EVALUATION, NULL, false},
    {"do_eval", PLIM_CONTEXT_EVALUATION, read_eval_flag, true},
    {"runningevaluation", PLIM_CONTEXT_EVALUATION, NULL, false},
    {"transformers/generation", PLIM_CONTEXT_LLM, NULL, false},
    {"transformers\\generation", PLIM_CONTEXT_LLM, NULL, false},
    {"processingmethodload_model", PLIM_CONTEXT_LOADING, NULL, false},
    {"deepspeed.init_inference(", PLIM_CONTEXT_INFERS, NULL, false},
    {"#sbatch", PLIM_CONTEXT_SLURM, NULL, false},
    {"slurm_job", PLIM_CONTEXT_SLURM, NULL, false},
    {"slurmstepd", PLIM_CONTEXT_SLURM, NULL, false},
    {"usingslurm", PLIM_CONTEXT_SLURM, NULL, false},
    {"whensavingthe", PLIM_CONTEXT_SAID_SAVED, NULL, false},
    {"whensavingmodel", PLIM_CONTEXT_SAID_SAVED, NULL, false},
    {"whensavingstate", PLIM_CONTEXT_SAID_SAVED, NULL, false},
    {"whensavingcheck", PLIM_CONTEXT_SAID_SAVED, NULL, false},
    {"whensaveth", PLIM_CONTEXT_SAID_SAVED, NULL, false},
    {"whenisave", PLIM_CONTEXT_SAID_SAVED, NULL, false},
    {"whilesaving", PLIM_CONTEXT_SAID_SAVED, NULL, false},
    {"duringsaving", PLIM_CONTEXT_SAID_SAVED, NULL, false},
    {"duringcheckpointsav", PLIM_CONTEXT_SAID_SAVED, NULL, false},
    {"attemptingtosave", PLIM_CONTEXT_SAID_SAVED, NULL, false},
    {"tryingtosave", PLIM_CONTEXT_SAID_SAVED, NULL, false},
    {"oomwhensav", PLIM_CONTEXT_SAID_SAVED, NULL, false},
    {"resume_from_checkpoint", PLIM_CONTEXT_RESUMES, read_resume, true},
    {"useinference", PLIM_CONTEXT_INFERS, NULL, false},
    {"usinginference", PLIM_CONTEXT_INFERS, NULL, false},
    {"attemptinginference", PLIM_CONTEXT_INFERS, NULL, false},
    {"doinginference", PLIM_CONTEXT_INFERS, NULL, false},
    {"whileinferring", PLIM_CONTEXT_INFERS, NULL, false},
    {"wheninferring", PLIM_CONTEXT_INFERS, NULL, false},
    {"wastesting", PLIM_CONTEXT_INFERS, NULL, false},
    {"amtesting", PLIM_CONTEXT_INFERS, NULL, false},
    {"duringtesting", PLIM_CONTEXT_INFERS, NULL, false},
    {"duringtest", PLIM_CONTEXT_INFERS, NULL, false},
    {"inthetest", PLIM_CONTEXT_INFERS, NULL, false},
    {"runthedemo", PLIM_CONTEXT_INFERS, NULL, false},
    {"runningthedemo", PLIM_CONTEXT_INFERS, NULL, false},
    {"ranthedemo", PLIM_CONTEXT_INFERS, NULL, false},
    {"rundemo", PLIM_CONTEXT_INFERS, NULL, false},
    {"run_demo.py", PLIM_CONTEXT_INFERS, NULL, false},
    {"\xE6\x89\xA7\xE8\xA1\x8C"
     "demo",
     PLIM_CONTEXT_INFERS, NULL, false},
    {"\xE8\xBF\x90\xE8\xA1\x8C"
     "demo",
     PLIM_CONTEXT_INFERS, NULL, false},
    {"runtest", PLIM_CONTEXT_INFERS, NULL, false},
    {"run_test", PLIM_CONTEXT_INFERS, NULL, false},
    {"imagetotest", PLIM_CONTEXT_INFERS, NULL, false},
    {"zero3", PLIM_CONTEXT_DEEPSPEED, NULL, false},
    {"zero-stage3", PLIM_CONTEXT_DEEPSPEED, NULL, false},
    {"zerostage3", PLIM_CONTEXT_DEEPSPEED, NULL, false},
    {"batchsizes", PLIM_CONTEXT_BATCH_TRIED, read_in_vain, true},
    {"thebatch", PLIM_CONTEXT_BATCH_TRIED, read_in_vain, true},
    {"batchsizeallthewaydown", PLIM_CONTEXT_BATCH_TRIED, NULL, false},
    {"batchsizealreadyat", PLIM_CONTEXT_BATCH_TRIED, NULL, false},
    {"batchsizetothelowest", PLIM_CONTEXT_BATCH_TRIED, NULL, false},
    {"batchsizetotheminimum", PLIM_CONTEXT_BATCH_TRIED, NULL, false},
    {"gbatchsize", PLIM_CONTEXT_BATCH_TRIED, read_in_vain, true},
    {"dbatchsize", PLIM_CONTEXT_BATCH_TRIED, read_in_vain, true},
    {"rbatchsize", PLIM_CONTEXT_BATCH_TRIED, read_in_vain, true},
    {"gbatch_size", PLIM_CONTEXT_BATCH_TRIED, read_in_vain, true},
    {"inputsize", PLIM_CONTEXT_INPUT_TRIED, read_in_vain, true},
    {"theimagesize", PLIM_CONTEXT_INPUT_TRIED, read_in_vain, true},
    {"theresolution", PLIM_CONTEXT_INPUT_TRIED, read_in_vain, true},
    {"smallerimages", PLIM_CONTEXT_INPUT_TRIED, read_in_vain, true},
    {"smallerresolution", PLIM_CONTEXT_INPUT_TRIED, read_in_vain, true},
    {"lowerresolution", PLIM_CONTEXT_INPUT_TRIED, read_in_vain, true},
    {"cropsize", PLIM_CONTEXT_INPUT_TRIED, read_in_vain, true},
    {"patchsize", PLIM_CONTEXT_INPUT_TRIED, read_in_vain, true},
    {"imgsize", PLIM_CONTEXT_INPUT_TRIED, read_in_vain, true},
    {"batchto", PLIM_CONTEXT_BATCHED, read_batch, false},
    {"despitefixingthebatch", PLIM_CONTEXT_BATCH_TRIED, NULL, false},
    {"despitereducing", PLIM_CONTEXT_BATCH_TRIED, NULL, false},
    {"evenafterreducing", PLIM_CONTEXT_BATCH_TRIED, NULL, false},
    {"evenafterlowering", PLIM_CONTEXT_BATCH_TRIED, NULL, false},
    {"despiteasmallbatch", PLIM_CONTEXT_BATCH_TRIED, NULL, false},
    {"smallerbatch", PLIM_CONTEXT_BATCH_TRIED, read_after_tried, true},
    {"reducebatch", PLIM_CONTEXT_BATCH_TRIED, read_after_tried, true},
    {"lowerbatch", PLIM_CONTEXT_BATCH_TRIED, read_after_tried, true},
    {"reducethebatch", PLIM_CONTEXT_BATCH_TRIED, read_after_tried, true},
    {"lowerthebatch", PLIM_CONTEXT_BATCH_TRIED, read_after_tried, true},
    {"decreasebatch", PLIM_CONTEXT_BATCH_TRIED, read_after_tried, true},
    {"decreasethebatch", PLIM_CONTEXT_BATCH_TRIED, read_after_tried, true},
    {"\xE4\xB9\x9F\xE4\xB8\x8D\xE8\xA1\x8C", PLIM_CONTEXT_BATCH_TRIED, read_no_help, true},
    {"fp8", PLIM_CONTEXT_HALF, read_on, true},
    {"besideschangingthebatch", PLIM_CONTEXT_BATCH_TRIED, NULL, false},
    {"besidesreducingthebatch", PLIM_CONTEXT_BATCH_TRIED, NULL, false},
    {"otherthanreducing", PLIM_CONTEXT_BATCH_TRIED, NULL, false},
    {"otherthanbatch", PLIM_CONTEXT_BATCH_TRIED, NULL, false},
    {"apartfromreducing", PLIM_CONTEXT_BATCH_TRIED, NULL, false},
    {"asidefromreducing", PLIM_CONTEXT_BATCH_TRIED, NULL, false},
    {"otherthanthebatch", PLIM_CONTEXT_BATCH_TRIED, NULL, false},
    {"\xE6\x94\xB9\xE5\xB0\x8F\xE4\xBA\x86", PLIM_CONTEXT_BATCH_TRIED, NULL, false},
    {"\xE5\x87\x8F\xE5\xB0\x8F\xE4\xBA\x86", PLIM_CONTEXT_BATCH_TRIED, NULL, false},
    {"\xE8\xB0\x83\xE5\xB0\x8F\xE4\xBA\x86", PLIM_CONTEXT_BATCH_TRIED, NULL, false},
    {"\xE9\x99\x8D\xE4\xBD\x8E\xE4\xBA\x86", PLIM_CONTEXT_BATCH_TRIED, NULL, false},
    {"batchsizeperdevice", PLIM_CONTEXT_BATCHED, read_batch, false},
    {"batchsizepergpu", PLIM_CONTEXT_BATCHED, read_batch, false},
    {"batch_size_per_device", PLIM_CONTEXT_BATCHED, read_batch, false},
    {"batch_size_per_gpu", PLIM_CONTEXT_BATCHED, read_batch, false},
    {"train_batch_size", PLIM_CONTEXT_BATCHED, read_batch, false},
    {"icropped", PLIM_CONTEXT_INPUT_TRIED, read_tried, true},
    {"croppedthesize", PLIM_CONTEXT_INPUT_TRIED, read_tried, true},
    {"croppedtheimage", PLIM_CONTEXT_INPUT_TRIED, read_tried, true},
    {"resizedtheimage", PLIM_CONTEXT_INPUT_TRIED, read_tried, true},
    {"iresized", PLIM_CONTEXT_INPUT_TRIED, read_tried, true},
    {"reducedtheimage", PLIM_CONTEXT_INPUT_TRIED, read_tried, true},
    {"reducedimagesize", PLIM_CONTEXT_INPUT_TRIED, read_tried, true},
    {"reducedtheresolution", PLIM_CONTEXT_INPUT_TRIED, read_tried, true},
    {"reducedresolution", PLIM_CONTEXT_INPUT_TRIED, read_tried, true},
    {"reducedthesequence", PLIM_CONTEXT_INPUT_TRIED, read_tried, true},
    {"reducedmax", PLIM_CONTEXT_INPUT_TRIED, read_tried, true},
    {"reducingtheimage", PLIM_CONTEXT_INPUT_TRIED, read_tried, true},
    {"smallerimages,but", PLIM_CONTEXT_INPUT_TRIED, read_tried, true},
    {"smallerresolution,but", PLIM_CONTEXT_INPUT_TRIED, read_tried, true},
    {"loweredtheresolution", PLIM_CONTEXT_INPUT_TRIED, read_tried, true},
    {"decreasedtheimage", PLIM_CONTEXT_INPUT_TRIED, read_tried, true},
    {"decreasingthoseparameters", PLIM_CONTEXT_INPUT_TRIED, read_tried, true},
    {"decreasetheimagesize,but", PLIM_CONTEXT_INPUT_TRIED, read_tried, true},
    {"decreasingtheimage", PLIM_CONTEXT_INPUT_TRIED, read_tried, true},
    {"bydecreasingtheimage", PLIM_CONTEXT_INPUT_TRIED, read_tried, true},
    {"minimumof", PLIM_CONTEXT_BATCH_TRIED, read_no_help, true},
    {"gradientcheckpoint", PLIM_CONTEXT_CHECKPOINTING, read_on, true},
    {"gradient-checkpoint", PLIM_CONTEXT_CHECKPOINTING, read_on, true},
    {"activationcheckpoint", PLIM_CONTEXT_CHECKPOINTING, read_on, true},
    {"gradient_checkpointing_enable", PLIM_CONTEXT_CHECKPOINTING, read_on, true},
    {"memorysavinggradients", PLIM_CONTEXT_CHECKPOINTING, read_on, true},
    {"memory_saving_gradients", PLIM_CONTEXT_CHECKPOINTING, read_set, true},
    {"mixedprecision", PLIM_CONTEXT_HALF, read_on, true},
    {"half-precision", PLIM_CONTEXT_HALF, read_on, true},
    {"halfprecision", PLIM_CONTEXT_HALF, read_on, true},
    {"fp16", PLIM_CONTEXT_HALF, read_on, true},
    {"16bitprecision", PLIM_CONTEXT_HALF, read_on, true},
    {"16-bitprecision", PLIM_CONTEXT_HALF, read_on, true},
    {"bf16", PLIM_CONTEXT_HALF, read_on, true},
    {"4-bit", PLIM_CONTEXT_QUANTIZED, read_bits, true},
    {"8-bit", PLIM_CONTEXT_QUANTIZED, read_bits, true},
    {"4bit", PLIM_CONTEXT_QUANTIZED, read_bits, true},
    {"8bit", PLIM_CONTEXT_QUANTIZED, read_bits, true},
    {"int8", PLIM_CONTEXT_QUANTIZED, read_bits, true},
    {"int4", PLIM_CONTEXT_QUANTIZED, read_bits, true},
    {"quantized", PLIM_CONTEXT_QUANTIZED, read_on, true},
    {"quantised", PLIM_CONTEXT_QUANTIZED, read_on, true},
    {"reducedbatch", PLIM_CONTEXT_BATCH_TRIED, read_tried, true},
    {"reducedthebatch", PLIM_CONTEXT_BATCH_TRIED, read_tried, true},
    {"reducedmybatch", PLIM_CONTEXT_BATCH_TRIED, read_tried, true},
    {"reducingbatch", PLIM_CONTEXT_BATCH_TRIED, read_tried, true},
    {"reducingthebatch", PLIM_CONTEXT_BATCH_TRIED, read_tried, true},
    {"reducebatch_size,but", PLIM_CONTEXT_BATCH_TRIED, read_tried, true},
    {"reducethebatchsize,but", PLIM_CONTEXT_BATCH_TRIED, read_tried, true},
    {"reducethebatchsizebut", PLIM_CONTEXT_BATCH_TRIED, read_tried, true},
    {"triedtoreduce", PLIM_CONTEXT_BATCH_TRIED, read_tried, true},
    {"triedreducing", PLIM_CONTEXT_BATCH_TRIED, read_tried, true},
    {"triedsmaller", PLIM_CONTEXT_BATCH_TRIED, read_tried, true},
    {"triedasmaller", PLIM_CONTEXT_BATCH_TRIED, read_tried, true},
    {"triedlower", PLIM_CONTEXT_BATCH_TRIED, read_tried, true},
    {"triedtolower", PLIM_CONTEXT_BATCH_TRIED, read_tried, true},
    {"trieddecreas", PLIM_CONTEXT_BATCH_TRIED, read_tried, true},
    {"triedtodecrease", PLIM_CONTEXT_BATCH_TRIED, read_tried, true},
    {"triedchangingthebatch", PLIM_CONTEXT_BATCH_TRIED, read_tried, true},
    {"triedchangingbatch", PLIM_CONTEXT_BATCH_TRIED, read_tried, true},
    {"trieddifferentbatch", PLIM_CONTEXT_BATCH_TRIED, read_tried, true},
    {"loweredbatch", PLIM_CONTEXT_BATCH_TRIED, read_tried, true},
    {"loweredthebatch", PLIM_CONTEXT_BATCH_TRIED, read_tried, true},
    {"loweringthebatch", PLIM_CONTEXT_BATCH_TRIED, read_tried, true},
    {"loweringbatch", PLIM_CONTEXT_BATCH_TRIED, read_tried, true},
    {"decreasedbatch", PLIM_CONTEXT_BATCH_TRIED, read_tried, true},
    {"decreasedthebatch", PLIM_CONTEXT_BATCH_TRIED, read_tried, true},
    {"decreasingthebatch", PLIM_CONTEXT_BATCH_TRIED, read_tried, true},
    {"smallestbatch", PLIM_CONTEXT_BATCH_TRIED, read_tried, true},
    {"minimumbatch", PLIM_CONTEXT_BATCH_TRIED, read_tried, true},
    {"didnothelp", PLIM_CONTEXT_BATCH_TRIED, read_no_help, true},
    {"didn'thelp", PLIM_CONTEXT_BATCH_TRIED, read_no_help, true},
    {"doesn'thelp", PLIM_CONTEXT_BATCH_TRIED, read_no_help, true},
    {"doesnothelp", PLIM_CONTEXT_BATCH_TRIED, read_no_help, true},
    {"enforce-eager", PLIM_CONTEXT_EAGER, read_eager, true},
    {"enforce_eager", PLIM_CONTEXT_EAGER, read_eager, true},
    {"batch=", PLIM_CONTEXT_COUNT, read_batch, false},
    {"per_device_train_batch_size", PLIM_CONTEXT_TRAINER, read_batch, false},
    {"gradient_checkpointing", PLIM_CONTEXT_CHECKPOINTING, read_set, true},
    {"gradient-checkpointing", PLIM_CONTEXT_CHECKPOINTING, read_set, true},
    {"--fp16", PLIM_CONTEXT_HALF, read_set, true},
    {"--bf16", PLIM_CONTEXT_HALF, read_set, true},
    {"load_in_4bit", PLIM_CONTEXT_QUANTIZED, read_set, true},
    {"load_in_8bit", PLIM_CONTEXT_QUANTIZED, read_set, true},
    {"cpu_offload", PLIM_CONTEXT_OFFLOAD, read_set, true},
    {"offload", PLIM_CONTEXT_OFFLOAD, read_offload, true},
    {"offload_param", PLIM_CONTEXT_OFFLOAD, read_offload, true},
    {"andcpuoffload", PLIM_CONTEXT_OFFLOAD, NULL, false},
    {"--lowvram", PLIM_CONTEXT_LOWVRAM, read_lowvram, true},
    {"--medvram", PLIM_CONTEXT_LOWVRAM, read_lowvram, true},
    {"batch_size", PLIM_CONTEXT_BATCHED, read_batch, false},
    {"batchsize", PLIM_CONTEXT_BATCHED, read_batch, false},
    {"batch-size", PLIM_CONTEXT_BATCHED, read_batch, false},
    {"--batch", PLIM_CONTEXT_BATCHED, read_batch, false},
    {"ims_per_batch", PLIM_CONTEXT_TRAINING, read_batch, false},
    {"samples_per_gpu", PLIM_CONTEXT_TRAINING, read_batch, false},
    {"samplepergpu", PLIM_CONTEXT_TRAINING, read_batch, false},
    {"samplespergpu", PLIM_CONTEXT_TRAINING, read_batch, false},
    {"\xE8\xAE\xBE\xE7\xBD\xAE\xE4\xB8\xBA"
     "1",
     PLIM_CONTEXT_BATCH_ONE, NULL, false},
    {"decreasethebatchsize,the", PLIM_CONTEXT_BATCH_TRIED, NULL, false},
    {"evenwithsmallbatch", PLIM_CONTEXT_BATCH_TRIED, NULL, false},
    {"evenwithasmallbatch", PLIM_CONTEXT_BATCH_TRIED, NULL, false},
    {"evenwithsmallerbatch", PLIM_CONTEXT_BATCH_TRIED, NULL, false},
    {"evenafterreducing", PLIM_CONTEXT_BATCH_TRIED, NULL, false},
    {"nomatterwhatbatch", PLIM_CONTEXT_BATCH_TRIED, NULL, false},
    {"nomatterhowsmall", PLIM_CONTEXT_BATCH_TRIED, NULL, false},
    {"anybatchsize", PLIM_CONTEXT_BATCH_TRIED, NULL, false},
    {"regardlessofbatch", PLIM_CONTEXT_BATCH_TRIED, NULL, false},
    {"regardlessofthebatch", PLIM_CONTEXT_BATCH_TRIED, NULL, false},
    {"increaseordecreasethebatch", PLIM_CONTEXT_BATCH_TRIED, NULL, false},
    {"batchsizedoesn", PLIM_CONTEXT_BATCH_TRIED, NULL, false},
    {"batch_sizedoesn", PLIM_CONTEXT_BATCH_TRIED, NULL, false},
    {"batchsizedidn", PLIM_CONTEXT_BATCH_TRIED, NULL, false},
    {"batchsizedoesnot", PLIM_CONTEXT_BATCH_TRIED, NULL, false},
    {"batchsizedidnot", PLIM_CONTEXT_BATCH_TRIED, NULL, false},
    {"\xE9\x99\x8D\xE4\xBD\x8E\xE8\x87\xB3"
     "1",
     PLIM_CONTEXT_BATCH_ONE, NULL, false},
    {"\xE6\x94\xB9\xE4\xB8\xBA"
     "1",
     PLIM_CONTEXT_BATCH_ONE, NULL, false},
    {"\xE6\x94\xB9\xE6\x88\x90"
     "1",
     PLIM_CONTEXT_BATCH_ONE, NULL, false},
    {"\xE8\xAE\xBE\xE4\xB8\xBA"
     "1",
     PLIM_CONTEXT_BATCH_ONE, NULL, false},
    {"\xE8\xB0\x83\xE6\x88\x90"
     "1",
     PLIM_CONTEXT_BATCH_ONE, NULL, false},
    {"\xE8\xB0\x83\xE5\x88\xB0"
     "1",
     PLIM_CONTEXT_BATCH_ONE, NULL, false},
};

const size_t plim__said_count = sizeof plim__said_words / sizeof *plim__said_words;
