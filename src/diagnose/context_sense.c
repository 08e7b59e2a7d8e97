/* Words that mean another thing where others stand in the log. */
#include "diagnose/context_words.h"
#include "diagnose/talk.h"

/* A U-Net that cuts pictures into regions makes none. */
static void read_unet(plim__context *context, plim__word_place at) {
    static const char *const regions[] = {"egmentation", "masks", "unet_model.py", "Unets", "nested"};
    static const char *const makes[] = {"diffus", "latent", "text_encoder", "lora", "pipe"};
    size_t count = sizeof regions / sizeof *regions, others = sizeof makes / sizeof *makes;
    bool cuts = plim__has_any(at.before, regions, count) || plim__has_any(at.after, regions, count);
    bool paints = plim__has_any(at.before, makes, others) || plim__has_any(at.after, makes, others);
    if (!cuts || paints) plim__read_name(context, at);
}

/* "Use `with torch.no_grad():` instead": a warning of PyTorch 0.4, which says that there is none. */
static void read_no_grad(plim__context *context, plim__word_place at) {
    plim__text before = at.before;
    if (before.end - before.at > 40) before.at = before.end - 40;
    if (!plim__has(before, 40, "Use `with")) plim__context_set(context, at.means);
}

const plim__word plim__sense_words[] = {
    {"unet", PLIM_CONTEXT_DIFFUSION, read_unet, true},
    {"no_grad()", PLIM_CONTEXT_NO_GRAD, read_no_grad, true},
};

const size_t plim__sense_count = sizeof plim__sense_words / sizeof *plim__sense_words;
