/* Weights come in many small pieces and fill the device to the brim: a small request on a full device in inference speaks
 * of them. A large one says little: room for it is made by a smaller input, and by weights that are elsewhere, too. */
#include "diagnose/situation.h"

#include <string.h>

#include "diagnose/context_tried.h"
#include "diagnose/programs.h"
#include "diagnose/weigh.h"

/* --- what is held ----------------------------------------------------------------------------------------------- */

/* Nothing was computed while weights are loaded, activations are gone when the optimizer steps, and inference has neither
 * gradients nor state. Neighbours and holes are there in every phase. */
static const char *held_in(plim_phase phase) {
    switch (phase) {
    case PLIM_PHASE_LOADING: return "woh";
    case PLIM_PHASE_OPTIMIZER: return "wsoh";
    case PLIM_PHASE_INFERENCE: return "wtckoh";
    case PLIM_PHASE_EVALUATION: return "wstckoh";
    default: return "wsbtckoh";
    }
}

static bool shares(const char *acts, const char *kinds) { return !*acts || strpbrk(acts, kinds); }

static bool is_device(plim_cause cause) {
    return cause == PLIM_CAUSE_FULL || cause == PLIM_CAUSE_FRAGMENTED || cause == PLIM_CAUSE_TOO_BIG ||
           cause == PLIM_CAUSE_OTHER_PROCESS;
}

static bool makes_images(const plim__case *c) {
    return plim__conditions_hold("diffusion", c) || plim__conditions_hold("comfy", c);
}

/* What is live is two to three bytes a parameter: the weights are in 16 bits. */
static bool is_half(const plim__case *c) {
    double live = c->x->allocated.known ? (double)c->x->allocated.bytes : 0;
    if (c->parameters < 1e9 || plim__conditions_hold("train", c) || plim__conditions_hold("parallel", c)) return false;
    if (c->context->phase == PLIM_PHASE_LOADING) return false; /* a part of them */
    return live > 1.5 * c->parameters && live < 3 * c->parameters;
}

bool plim__lever_helps(plim__lever lever, const plim__case *c) {
    bool large = lever == PLIM_LEVER_BATCH && c->context->batch >= 16; /* not tried to its end */
    if (plim__was_tried(c->context, lever) && !large) return false;
    bool foreign = plim__conditions_hold("npu", c) || plim__conditions_hold("tpu", c); /* no bitsandbytes there */
    if (lever == PLIM_LEVER_QUANTIZE && foreign && strcmp(c->x->framework, "pytorch") == 0) return false;
    if (!is_device(c->x->cause)) return true;
    bool context = lever == PLIM_LEVER_LENGTH || lever == PLIM_LEVER_CACHE;
    if (context && plim__conditions_hold("small-cache", c)) return false; /* what it would give is printed: little */
    if (lever == PLIM_LEVER_PRECISION && (plim__conditions_hold("quantized", c) || is_half(c))) return false;
    bool pytorch = strcmp(c->x->framework, "pytorch") == 0 || strcmp(c->x->framework, "cuda") == 0;
    bool captures = plim__conditions_hold("captures", c); /* weights are there by then, and calls are run */
    if (pytorch && !captures && !shares(plim__lever_acts(lever), held_in(c->context->phase))) return false;
    /* an image is decoded in tiles, not made in them */
    if (lever != PLIM_LEVER_TILES || !makes_images(c) || c->x->cause == PLIM_CAUSE_TOO_BIG) return true;
    bool told = c->context->traced || plim__conditions_hold("comfy", c);
    return !told || plim__context_has(c->context, PLIM_CONTEXT_DECODES);
}

/* --- what fills the device -------------------------------------------------------------------------------------- */

/* ComfyUI and its like move weights by themselves: there they do not stand in the way. */
static bool has_large_weights(const plim__case *c) {
    if (plim__conditions_hold("comfy", c) || plim__conditions_hold("webui", c)) return false;
    return makes_images(c) || plim__conditions_hold("llm", c) || c->parameters >= 1e9;
}

static bool is_used(const plim__case *c) {
    const plim__program *program = plim__program_find(c);
    if (plim__conditions_hold("train", c)) return false;
    return plim__conditions_hold("infer", c) || (program && program->usual == PLIM_ACTIVITY_INFER);
}

/* In inference: by the size of the request. */
static const char *fills_in_use(const plim__case *c) {
    const plim_explanation *x = c->x;
    if (plim__context_has(c->context, PLIM_CONTEXT_DECODES) && makes_images(c)) return "t";
    if (!x->requested.known || !x->capacity.known) return "";
    if (x->requested.bytes >= x->capacity.bytes / 4) return "T";
    /* a layer of a language model is smaller: such a request is made for tokens */
    if (plim__conditions_hold("llm", c) && x->requested.bytes >= x->capacity.bytes / 32) return "L";
    bool brim = x->allocated.known && x->allocated.bytes >= x->capacity.bytes / 100 * 88;
    bool small = x->requested.bytes < x->capacity.bytes / 50;
    return brim && small && has_large_weights(c) ? plim__conditions_hold("llm", c) ? "wc" : "w" : "";
}

/* Weights and state come in blocks of one layer: a request of a sixteenth of the device and more is an activation, unless
 * it is a gradient of all at once. */
static const char *fills_in_training(const plim__case *c) {
    const plim_explanation *x = c->x;
    if (!x->requested.known || !x->capacity.known || x->requested.bytes < x->capacity.bytes / 16) return "";
    return plim__conditions_hold("train !flat !all-weights", c) ? "bt" : "";
}

const char *plim__fills(const plim__case *c) {
    bool pytorch = strcmp(c->x->framework, "pytorch") == 0 || strcmp(c->x->framework, "cuda") == 0;
    if (!is_device(c->x->cause) || !pytorch) return "";
    const plim__program *program = plim__program_find(c);
    if (program && program->usual == PLIM_ACTIVITY_SERVE) return ""; /* its cache takes what there is */
    if (plim__conditions_hold("load", c)) return "w";
    if (plim__conditions_hold("optimizer", c)) return "s";
    return is_used(c) ? fills_in_use(c) : fills_in_training(c);
}

bool plim__lever_fits(plim__lever lever, const char *fills) {
    const char *acts = plim__lever_acts(lever);
    /* one large request: fewer bits of the weights do not reach it, weights that are elsewhere make room */
    if (*fills == 'T') return lever != PLIM_LEVER_QUANTIZE && lever != PLIM_LEVER_SHARD && lever != PLIM_LEVER_MODEL;
    bool weighs = strchr(acts, 'w') != NULL; /* weights make up most of what it would save */
    if (*fills == 'L') return (shares(acts, "tc") && !weighs) || strpbrk(acts, "oh");
    bool last = lever == PLIM_LEVER_CHECK || lever == PLIM_LEVER_MACHINE; /* what is left when nothing else is */
    return !*fills || (shares(acts, fills) && !last) || strpbrk(acts, "oh");
}
