/* Calls that load a model:
 *
 *   pipe = DiffusionPipeline.from_pretrained(path)   no type among the arguments: 32 bits
 *   AutoTokenizer.from_pretrained(path)              no weights
 *   model = Auto...from_pretrained(                  a frame of a traceback, which shows its first line only
 */
#include "diagnose/context_code.h"

#include <ctype.h>
#include <string.h>

#include "diagnose/context_words.h"
#include "diagnose/talk.h"

enum { LONGEST_CALL = 900, BEHIND = 60, LONGEST_NAME = 60 };

/* What is behind the bracket that closes; NULL where the call is cut. */
static const char *close_of(plim__text call) {
    int open = 1;
    for (const char *at = call.at; at < call.end && at - call.at < LONGEST_CALL; at++) {
        if (*at == '(') open++;
        if (*at == ')' && --open == 0) return at;
        if (*at == '\n' && plim__has((plim__text){at, call.end}, 12, "File \"")) return NULL;
    }
    return NULL;
}

/* Models that are large in most hands, not tokenizers, settings or a small classifier. */
static bool loads_large(plim__text before) {
    static const char *const kinds[] = {"causallm",   "pipeline",  "conditionalgeneration",
                                        "vision2seq", "seq2seqlm", "transformer",
                                        "imagetext",  "unet",      "controlnet",
                                        "llama"};
    plim__text name = {before.end, before.end};
    while (name.at > before.at && name.end - name.at < LONGEST_NAME &&
           (isalnum((unsigned char)name.at[-1]) || name.at[-1] == '.' || name.at[-1] == '_'))
        name.at--;
    static const char *const others[] = {"token", "processor", "config", "scheduler", "extractor", "peft"};
    return plim__has_any(name, kinds, sizeof kinds / sizeof *kinds) &&
           !plim__has_any(name, others, sizeof others / sizeof *others);
}

void plim__code_read(plim__context *context, plim__text window) {
    static const char *const types[] = {"dtype", "load_in_", "quantization", "variant", "fp16",
                                        "bf16",  "half",     "bfloat",       "**"};
    static const char *const halves[] = {".half(", "float16", ".bfloat16("};
    if (!plim__context_has(context, PLIM_CONTEXT_PRETRAINED)) return;
    bool plain = false;
    for (plim__text at = window; plim__seek(&at, (size_t)(at.end - at.at), "from_pretrained(");) {
        const char *name = at.at - strlen("from_pretrained("), *close = close_of(at);
        if (!close || close - at.at < 3 || name <= window.at || name[-1] != '.') continue;
        if (!loads_large((plim__text){window.at, name - 1})) continue;
        plim__text arguments = {at.at, close}, behind = {close, at.end - close > BEHIND ? close + BEHIND : at.end};
        plain = !plim__has_any(arguments, types, sizeof types / sizeof *types) &&
                !plim__has_any(behind, halves, sizeof halves / sizeof *halves); /* the last call counts */
    }
    if (plain) plim__context_set(context, PLIM_CONTEXT_PLAIN_LOAD);
}
