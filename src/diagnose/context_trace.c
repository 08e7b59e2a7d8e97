/* The traceback and the progress around a message. */
#include "diagnose/context_trace.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "diagnose/context_words.h"
#include "diagnose/talk.h"

enum { REACH = 400, PROGRESS_REACH = 6000, FRAMES_BEHIND = 12000, FRAME_LENGTH = 512 };

typedef struct frame {
    plim__text file, function, code;
    int64_t line;
} frame;

/* --- frames --------------------------------------------------------------------------------------------------- */

static plim__text trim(plim__text t) {
    while (t.at < t.end && (unsigned char)*t.at <= ' ') t.at++;
    while (t.end > t.at && (unsigned char)t.end[-1] <= ' ') t.end--;
    return t;
}

static plim__text line_from(const char *at, const char *end) {
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    return (plim__text){at, stop ? stop : end};
}

static plim__text up_to(plim__text *t, const char *stops) {
    plim__text made = {t->at, t->at};
    while (t->at < t->end && !strchr(stops, *t->at)) t->at++;
    made.end = t->at;
    return made;
}

/* '  File "a.py", line 3, in f', 'File ~/a.py:3, in f(x)', 'a.py in f(x)', '<ipython-input-3-ab> in f(x)', 'Cell In[3],
 * line 4', 'a.py:3: in f' (pytest). */
static bool take_frame(plim__text line, frame *made) {
    plim__text t = trim(line), rest;
    *made = (frame){.line = -1};
    while (t.at < t.end && strchr("|>!│", *t.at) && *t.at) t.at++; /* quoted, or a rich traceback's frame */
    t = trim(t);
    if (!plim__has(t, 5, "File ")) { /* behind what a logger puts in front of every line */
        plim__text inner = t;
        if (plim__seek(&inner, 90, "File \"")) t.at = inner.at - 6;
    }
    bool curly = plim__take(&t, "File \xE2\x80\x9C"); /* pasted through a word processor */
    if (curly || plim__take(&t, "File \"")) {
        made->file = up_to(&t, curly ? "\xE2" : "\"");
        if (curly ? !plim__take(&t, "\xE2\x80\x9D , line %i", &made->line)
                  : !plim__take(&t, "\" , line %i", &made->line))
            return false;
        if (plim__take(&t, " , in")) made->function = trim(t);
        return true;
    }
    if (plim__take(&t, "Cell In[%i], line %i", &made->line, &made->line)) {
        made->file = (plim__text){line.at, line.at};
        made->file = trim(line);
        made->file.end = made->file.at + 4;
        return true;
    }
    bool named = plim__take(&t, "File ");
    rest = t;
    made->file = up_to(&rest, " :,\n");
    size_t length = (size_t)(made->file.end - made->file.at);
    bool python = length > 3 && memcmp(made->file.end - 3, ".py", 3) == 0;
    bool cell = length > 6 && (plim__has(made->file, 16, "<ipython") || plim__has(made->file, 40, "ipykernel"));
    if (!python && !cell) return false;
    if (plim__take(&rest, ":%i", &made->line)) {
        if (plim__take(&rest, " , in ") || plim__take(&rest, " : in ") || plim__take(&rest, " in "))
            made->function = trim(rest);
        else if (!named)
            return false;
        return true;
    }
    if (!plim__take(&rest, " in ")) return false;
    made->function = trim(rest);
    return true;
}

/* A path that somebody has shortened to where its package begins: "torch/_tensor.py", ".../keras/engine/training.py". */
static bool begins_in_package(plim__text file) {
    static const char *const packages[] = {"torch",        "torchvision", "tensorflow",        "keras",     "jax",
                                           "transformers", "accelerate",  "pytorch_lightning", "lightning", "numpy",
                                           "pandas",       "diffusers",   "deepspeed",         "peft",      "cupy"};
    if (plim__has(file, 2, ".."))
        while (file.at < file.end && (*file.at == '.' || *file.at == '/')) file.at++;
    size_t length = (size_t)(file.end - file.at);
    for (size_t i = 0; i < sizeof packages / sizeof *packages; i++) {
        size_t name = strlen(packages[i]);
        if (length > name && memcmp(file.at, packages[i], name) == 0 && file.at[name] == '/') return true;
    }
    return false;
}

static bool is_library(plim__text file) {
    static const char *const parts[] = {"site-packages", "dist-packages",      "lib/python", "<frozen",
                                        "<string>",      "lib\\python",        "python3.",   "/torch/nn/",
                                        "\\torch\\",     "importlib",          "runpy.py",   "<__array_funct",
                                        "autotracking",  "/deepspeed/runtime/"};
    size_t length = (size_t)(file.end - file.at);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (plim__has(file, length, parts[i])) return true;
    /* "D:\Anaconda3\lib\contextlib.py": Python's own on Windows stands beside its packages */
    bool installed =
        plim__has(file, length, "conda") || plim__has(file, length, "\\envs\\") || plim__has(file, length, "Python3");
    return (installed && plim__has(file, length, "\\lib\\")) || begins_in_package(file);
}

static void copy(char *to, size_t size, plim__text from) {
    size_t length = 0;
    from = trim(from);
    for (; from.at < from.end && length + 1 < size; from.at++)
        to[length++] = (unsigned char)*from.at < ' ' || *from.at == 127 ? ' ' : *from.at;
    to[length] = 0;
}

/* --- phases --------------------------------------------------------------------------------------------------- */

typedef struct marker {
    const char *text;
    plim_phase phase;
} marker;

/* Found in a frame's file, function or code; a phase further up in this list beats those below. */
static const marker markers[] = {
    {"optimizer.step", PLIM_PHASE_OPTIMIZER},
    {"/optim/", PLIM_PHASE_OPTIMIZER},
    {"\\optim\\", PLIM_PHASE_OPTIMIZER},
    {"exp_avg", PLIM_PHASE_OPTIMIZER},
    {"initialize_optimizer_states", PLIM_PHASE_OPTIMIZER},
    {"_setup_for_real_optimizer", PLIM_PHASE_OPTIMIZER},
    {"_configure_optimizer", PLIM_PHASE_OPTIMIZER},
    {"_create_fp32_partitions", PLIM_PHASE_OPTIMIZER},
    {"apply_gradients", PLIM_PHASE_OPTIMIZER},
    {"_take_model_step", PLIM_PHASE_OPTIMIZER},
    {".backward(", PLIM_PHASE_BACKWARD},
    {"autograd/__init__", PLIM_PHASE_BACKWARD},
    {"autograd\\__init__", PLIM_PHASE_BACKWARD},
    {"backward_hook", PLIM_PHASE_BACKWARD},
    {"tape.gradient", PLIM_PHASE_BACKWARD},
    {"patch_weight_to_device", PLIM_PHASE_LOADING},
    {"partially_load", PLIM_PHASE_LOADING},
    {"_create_weight", PLIM_PHASE_LOADING},
    {"in _apply", PLIM_PHASE_LOADING},
    {"in convert", PLIM_PHASE_LOADING},
    {"_apply(fn)", PLIM_PHASE_LOADING},
    {"from_pretrained", PLIM_PHASE_LOADING},
    {"torch.load(", PLIM_PHASE_LOADING},
    {"load_state_dict", PLIM_PHASE_LOADING},
    {"serialization.py", PLIM_PHASE_LOADING},
    {"load_checkpoint", PLIM_PHASE_LOADING},
    {"load_model", PLIM_PHASE_LOADING},
    {"set_module_tensor_to_device", PLIM_PHASE_LOADING},
    {"dispatch_model", PLIM_PHASE_LOADING},
    {"load_weights", PLIM_PHASE_LOADING},
    {"Parameter(torch.empty", PLIM_PHASE_LOADING},
    {"= get_model(", PLIM_PHASE_LOADING},
    {"= get_peft_model(", PLIM_PHASE_LOADING},
    {"model.to(", PLIM_PHASE_LOADING},
    {"module.to(self.device", PLIM_PHASE_LOADING},
    {"model.cuda(", PLIM_PHASE_LOADING},
    {"safetensors", PLIM_PHASE_LOADING},
    {"load_pretrained", PLIM_PHASE_LOADING},
    {"_initialize_model", PLIM_PHASE_LOADING},
    {"create_weights", PLIM_PHASE_LOADING},
    {"modeling_utils.py", PLIM_PHASE_UNKNOWN},
    {"_inductor", PLIM_PHASE_COMPILING},
    {"evaluation_loop", PLIM_PHASE_EVALUATION},
    {"validation_step(", PLIM_PHASE_EVALUATION}, /* "validation_steps" and "validate=" are arguments */
    {"in validation_step", PLIM_PHASE_EVALUATION},
    {"validate(", PLIM_PHASE_EVALUATION},
    {"in validate", PLIM_PHASE_EVALUATION},
    {"validate_", PLIM_PHASE_EVALUATION},
    {"evaluate", PLIM_PHASE_EVALUATION},
    {"in validation", PLIM_PHASE_EVALUATION},
    {"validation(", PLIM_PHASE_EVALUATION},
    {"eval(", PLIM_PHASE_EVALUATION},
    {"(\"val\"", PLIM_PHASE_EVALUATION},
    {"('val'", PLIM_PHASE_EVALUATION},
    {"valid_epoch", PLIM_PHASE_EVALUATION},
    {".generate(", PLIM_PHASE_INFERENCE},
    {"generation/utils", PLIM_PHASE_INFERENCE},
    {"generation_utils", PLIM_PHASE_INFERENCE},
    {"generation\\utils", PLIM_PHASE_INFERENCE},
    {"/pipelines/", PLIM_PHASE_INFERENCE},
    {"\\pipelines\\", PLIM_PHASE_INFERENCE},
    {"inference", PLIM_PHASE_INFERENCE},
    {"ksampler", PLIM_PHASE_INFERENCE},
    {"comfy/", PLIM_PHASE_INFERENCE},
    {"comfy\\", PLIM_PHASE_INFERENCE},
    {"processing.py", PLIM_PHASE_INFERENCE},
    {"sampling.py", PLIM_PHASE_INFERENCE},
    {"sample.py", PLIM_PHASE_INFERENCE},
    {"demo", PLIM_PHASE_INFERENCE},
    {"predict", PLIM_PHASE_INFERENCE},
    {"test.py", PLIM_PHASE_INFERENCE},
    {"infer", PLIM_PHASE_INFERENCE},
    {"transcribe", PLIM_PHASE_INFERENCE},
    {"gradio", PLIM_PHASE_INFERENCE},
    {"detect.py", PLIM_PHASE_INFERENCE},
    {"chat", PLIM_PHASE_INFERENCE},
    {"dataloader.py", PLIM_PHASE_DATA},
    {"collate", PLIM_PHASE_DATA},
    {"__getitem__", PLIM_PHASE_DATA},
    {"read_csv", PLIM_PHASE_DATA},
    {"np.load(", PLIM_PHASE_DATA},
    {"pickle.load", PLIM_PHASE_DATA},
    {"load_data", PLIM_PHASE_DATA},
    {"toarray", PLIM_PHASE_DATA},
    {"in forward", PLIM_PHASE_FORWARD},
    {"_call_impl", PLIM_PHASE_FORWARD},
    {"__call__", PLIM_PHASE_FORWARD},
    {"self.model(", PLIM_PHASE_FORWARD},
    {"model(", PLIM_PHASE_FORWARD},
    {".fit(", PLIM_PHASE_FORWARD},
    {"session.run", PLIM_PHASE_FORWARD},
    {"sess.run", PLIM_PHASE_FORWARD},
};

/* "train_and_evaluate" trains; "validate_python" looks at arguments. */
static bool is_both(plim__text t, const char *text) {
    static const char *const checks[] = {"validate_python", "validate_call", "validate_arg", "validate_model_kwargs"};
    if (strncmp(text, "validate_", 9) == 0) return plim__has_any(t, checks, sizeof checks / sizeof *checks);
    return strcmp(text, "evaluate") == 0 && plim__has(t, (size_t)(t.end - t.at), "train_and_eval");
}

static size_t strongest(plim__text t) {
    size_t length = (size_t)(t.end - t.at);
    for (size_t i = 0; i < sizeof markers / sizeof *markers; i++)
        if (plim__has(t, length, markers[i].text) && !is_both(t, markers[i].text)) return i;
    return sizeof markers / sizeof *markers;
}

/* What a name of the user's own says: "one_stage_eval_model" evaluates, "trainer" says nothing. */
static plim_phase told_by(plim__text name) {
    static const struct {
        const char *word;
        plim_phase phase;
    } words[] = {
        {"test", PLIM_PHASE_INFERENCE},      {"demo", PLIM_PHASE_INFERENCE},        {"predict", PLIM_PHASE_INFERENCE},
        {"infer", PLIM_PHASE_INFERENCE},     {"inference", PLIM_PHASE_INFERENCE},   {"eval", PLIM_PHASE_EVALUATION},
        {"evaluate", PLIM_PHASE_EVALUATION}, {"val", PLIM_PHASE_EVALUATION},        {"valid", PLIM_PHASE_EVALUATION},
        {"validate", PLIM_PHASE_EVALUATION}, {"validation", PLIM_PHASE_EVALUATION}, {"train", PLIM_PHASE_FORWARD},
        {"training", PLIM_PHASE_FORWARD},    {"fit", PLIM_PHASE_FORWARD},
    };
    while (name.at < name.end) {
        const char *first = name.at;
        while (name.at < name.end && isalpha((unsigned char)*name.at)) name.at++;
        size_t length = (size_t)(name.at - first);
        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
            if (strlen(words[i].word) == length && strncasecmp(words[i].word, first, length) == 0)
                return words[i].phase;
        if (name.at < name.end) name.at++;
    }
    return PLIM_PHASE_UNKNOWN;
}

/* "val_loss = loss_fn(...)" in a function that trains: this line evaluates. */
static bool assigns_evaluation(plim__text code) {
    const char *sign = code.at < code.end ? memchr(code.at, '=', (size_t)(code.end - code.at)) : NULL;
    if (!sign || sign + 1 >= code.end || sign[1] == '=') return false;
    if (memchr(code.at, '(', (size_t)(sign - code.at))) return false; /* an argument */
    return told_by((plim__text){code.at, sign}) == PLIM_PHASE_EVALUATION;
}

/* What the line makes says it, else the function, else the file. */
static plim_phase told_by_frame(const frame *f) {
    plim__text name = f->function, file = f->file;
    if (assigns_evaluation(f->code)) return PLIM_PHASE_EVALUATION;
    const char *open = name.at < name.end ? memchr(name.at, '(', (size_t)(name.end - name.at)) : NULL;
    if (open) name.end = open;
    plim_phase told = told_by(name);
    if (told != PLIM_PHASE_UNKNOWN) return told;
    for (const char *p = file.at; p < file.end; p++)
        if (*p == '/' || *p == '\\') file.at = p + 1;
    return told_by(file);
}

typedef struct trace {
    size_t marker; /* the best so far */
    frame own;     /* the innermost that is the user's */
    bool found, has_own, trains;
    plim_phase told; /* by the names of the user's own functions, the innermost that says something */
    bool loads;      /* a function that loads weights, by its name, and no pass of the network behind it */
    bool builds;     /* the innermost function makes an object */
    bool computed;   /* a pass of the network, an update or a saved state is among the frames */
    bool decodes;    /* an image or sound out of its code */
    bool touches;    /* the innermost frame makes or moves a tensor */
    bool makes;      /* and that is a layer or a network */
    const char *begin;
} trace;

/* The frame that makes a layer, moves one to the device, or wakes the device. */
static bool touches_device(const frame *f, plim__text whole, bool *makes) {
    static const char *const moves[] = {".cuda(", ".to(device", ".to(\"cuda", ".to('cuda", "_lazy_init", "set_device("};
    bool layer = plim__has(whole, (size_t)(whole.end - whole.at), "nn/modules/") ||
                 plim__has(whole, (size_t)(whole.end - whole.at), "nn\\modules\\");
    *makes = (layer && plim__has(f->function, 24, "__init__")) || plim__has(f->code, 60, "model") ||
             plim__has(f->code, 60, "net");
    if (layer && plim__has(f->function, 24, "__init__")) return true;
    return plim__has_any(whole, moves, sizeof moves / sizeof *moves);
}

/* "load_flow_model", "loadWeights(", "load_checkpoint_guess_config": a verb and what it loads, in one name. */
static bool loads_by_name(plim__text t) {
    static const char *const objects[] = {"model", "weight",   "ckpt",   "checkpoint", "pipe",
                                          "lora",  "vae",      "unet",   "text_e",     "clip",
                                          "state", "pretrain", "transf", "flow",       "diffusion"};
    const char *stop = t.end;
    for (; stop - t.at > 4; t.at++) {
        if (strncasecmp(t.at, "load", 4) != 0) continue;
        plim__text rest = {t.at + 4, t.at + 4};
        while (rest.end < stop && (isalnum((unsigned char)*rest.end) || *rest.end == '_')) rest.end++;
        for (size_t i = 0; i < sizeof objects / sizeof *objects; i++)
            if (plim__has(rest, (size_t)(rest.end - rest.at), objects[i])) return true;
        t.at += 3;
    }
    return false;
}

static void look_into(trace *made, const frame *f, plim__text whole) {
    static const char *const passes[] = {"in forward", "_call_impl",      ".backward(", ".step(",
                                         "loss",       "load_state_dict", "torch.load("};
    static const char *const decoders[] = {"vae", "decode", "autoencoder", "first_stage"};
    if (plim__has_any(whole, passes, sizeof passes / sizeof *passes)) made->computed = true;
    if (plim__has_any(whole, decoders, sizeof decoders / sizeof *decoders)) made->decodes = true;
    static const char *const inner[] = {"in _apply",   "in to\n", "in convert",
                                        "in <lambda>", "in cuda", "in _lazy_init"};
    bool goes_on = made->touches && plim__has_any(whole, inner, sizeof inner / sizeof *inner); /* what the move calls */
    if (!goes_on) made->touches = touches_device(f, whole, &made->makes);
    bool passes_on = plim__has(whole, (size_t)(whole.end - whole.at), "in forward") ||
                     plim__has(whole, (size_t)(whole.end - whole.at), "_call_impl");
    made->loads = (made->loads || loads_by_name(f->function) || loads_by_name(f->code)) && !passes_on;
    made->builds = plim__has(f->function, 10, "__init__");
}

static void add_frame(trace *made, const frame *f, plim__text whole) {
    made->found = true;
    look_into(made, f, whole);
    size_t best = strongest(whole);
    plim_phase now = best < sizeof markers / sizeof *markers ? markers[best].phase : PLIM_PHASE_UNKNOWN;
    bool stepping =
        made->marker < sizeof markers / sizeof *markers && markers[made->marker].phase == PLIM_PHASE_OPTIMIZER;
    /* the closure that a step was given computes the loss: what it does is inside of the step */
    bool inside = stepping && (now == PLIM_PHASE_FORWARD || now == PLIM_PHASE_BACKWARD);
    if (best < made->marker || inside) made->marker = best;
    if (plim__has(whole, (size_t)(whole.end - whole.at), "train")) made->trains = true;
    if (is_library(f->file)) return;
    made->own = *f, made->has_own = true;
    plim_phase told = told_by_frame(f);
    if (told != PLIM_PHASE_UNKNOWN) made->told = told;
}

/* A frame's head and the line that its arrow points to. */
static plim__text join(char both[2 * FRAME_LENGTH + 1], plim__text head, plim__text code) {
    size_t a = (size_t)(head.end - head.at), b = (size_t)(code.end - code.at);
    if (a > FRAME_LENGTH) a = FRAME_LENGTH;
    if (b > FRAME_LENGTH) b = FRAME_LENGTH;
    memcpy(both, head.at, a);
    both[a] = '\n';
    memcpy(both + a + 1, code.at, b);
    return (plim__text){both, both + a + 1 + b};
}

/* Frames between `from` and `to`; a new "Traceback" begins again while `last` is asked for. */
static trace read_frames(const char *from, const char *to, bool last) {
    trace made = {.marker = sizeof markers / sizeof *markers};
    for (const char *at = from; at < to;) {
        plim__text line = line_from(at, to);
        const char *next = line.end < to ? line.end + 1 : to;
        if (plim__has(line, 60, "Traceback (most recent call last")) {
            if (!last && made.found) return made;
            made = (trace){.marker = sizeof markers / sizeof *markers, .begin = at};
        }
        frame f;
        if (take_frame(line, &f)) {
            plim__text code = next < to ? line_from(next, to) : (plim__text){next, next};
            frame other;
            if (take_frame(code, &other)) code.end = code.at;
            f.code = trim(code);
            /* IPython marks the line: "----> 3     loss.backward()" */
            const char *look = next;
            for (int i = 0; i < 8 && look < to && code.end > code.at; i++) {
                plim__text shown = line_from(look, to), arrow = trim(shown);
                int64_t number;
                if (i && take_frame(shown, &other)) break;
                if (arrow.at < arrow.end && *arrow.at == '-' && plim__seek(&arrow, 12, "> %i ", &number)) {
                    f.code = trim(arrow);
                    if (f.line < 0) f.line = number;
                    break;
                }
                look = shown.end < to ? shown.end + 1 : to;
            }
            plim__text whole = {line.at, code.end > line.end ? code.end : line.end};
            char both[2 * FRAME_LENGTH + 1];
            if (f.code.at > whole.end) whole = join(both, line, f.code); /* without the lines around it */
            add_frame(&made, &f, whole);
        }
        at = next;
    }
    return made;
}

/* --- progress ------------------------------------------------------------------------------------------------- */

static void read_step(plim_place *place, plim__text line) {
    static const char *const names[] = {"global_step", "step", "iteration", "iter", "batch"};
    size_t length = (size_t)(line.end - line.at);
    int64_t a, b;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        plim__text t = line;
        char pattern[24];
        snprintf(pattern, sizeof pattern, "%s", names[i]);
        if (!plim__seek(&t, length, pattern)) continue;
        while (t.at < t.end && strchr(" s:=[(#\t", *t.at) && *t.at) t.at++;
        if (!plim__take(&t, "%i", &a) || (t.at < t.end && (*t.at == '.' || *t.at == 's' || *t.at == '%'))) continue;
        place->step = a;
        if (plim__take(&t, "/%i", &b) || plim__take(&t, " of %i", &b)) place->step_count = b;
        return;
    }
}

/* "n_epoch=10", "num_epoch: 10": how many there will be. */
static bool is_number_of(const char *line, const char *epoch) {
    return plim__has_before(line, epoch, 3, "n_") || plim__has_before(line, epoch, 4, "num_") ||
           plim__has_before(line, epoch, 4, "max_");
}

/* "Namespace(batch_size=65, epoch=10, ...)": what is set, not where it is. */
static bool is_settings(plim__text line) {
    size_t signs = 0;
    for (const char *at = line.at; at + 1 < line.end; at++) signs += *at == '=' && at[1] != '=' && at[1] != ' ';
    return signs >= 6;
}

/* " 12%|#3  | 120/1000 [00:10<01:10, 11.2it/s" */
static bool read_bar(plim_place *place, plim__text line) {
    plim__text t = line;
    int64_t a, b;
    if (!plim__seek(&t, (size_t)(line.end - line.at), "%%|")) return false;
    while (t.at < t.end && *t.at != '|') t.at++;
    if (!plim__take(&t, "| %i/%i [", &a, &b)) return false;
    place->step = a, place->step_count = b;
    return true;
}

static void read_progress(plim_place *place, plim__text window, const char *at) {
    const char *from = at - window.at > PROGRESS_REACH ? at - PROGRESS_REACH : window.at;
    while (from < at) {
        plim__text line = line_from(from, at);
        size_t length = (size_t)(line.end - line.at);
        frame ignored;
        from = line.end + 1;
        if (length > 600 || take_frame(line, &ignored)) continue;
        plim__text t = line;
        int64_t epoch;
        bool named = !is_settings(line) && plim__seek(&t, length, "epoch") &&
                     !plim__has_before(line.at, t.at - 5, 6, "each ") &&
                     !plim__has_before(line.at, t.at - 5, 6, "per ") && !(t.at - line.at > 5 && t.at[-6] == '-') &&
                     /* "--epoch 30" */ !is_number_of(line.at, t.at - 5) &&
                     !(t.at < t.end && (*t.at == 's' || *t.at == 'S')); /* "--epochs 30" */
        while (named && t.at < t.end && strchr(" s:=[(#\t", *t.at) && *t.at) t.at++;
        bool has_epoch = named && plim__take(&t, "%i", &epoch) && epoch < 1000000 && !(t.at < t.end && *t.at == '.');
        if (has_epoch) place->epoch = epoch, place->step = place->step_count = -1;
        bool measured = has_epoch || plim__has(line, length, "loss") || plim__has(line, length, "it/s") ||
                        plim__has(line, length, "s/it") || plim__has(line, length, "ETA");
        if (!read_bar(place, line) && measured) read_step(place, has_epoch ? t : line);
    }
}

/* --- the whole ------------------------------------------------------------------------------------------------ */

void plim__traceback_read(plim__context *context, plim__text window, const char *at, const char *end) {
    if (at < window.at) at = window.at;
    if (end < at) end = at;
    if (end > window.end) end = window.end;
    trace found = read_frames(window.at, end, true);
    if (!found.found) {
        const char *to = window.end - end > FRAMES_BEHIND ? end + FRAMES_BEHIND : window.end;
        found = read_frames(end, to, false);
    }
    read_progress(&context->place, window, found.begin && found.begin < at ? found.begin : at);
    context->traced = found.found;
    /* a traceback of which only the last line is left */
    static const char *const moves[] = {"t.is_floating_point() or t.is_complex()", "self._apply(convert)",
                                        "self._apply(lambda t: t.cuda"};
    plim__text last = {at - window.at > REACH ? at - REACH : window.at, at};
    for (size_t i = 0; i < sizeof moves / sizeof *moves && context->phase == PLIM_PHASE_UNKNOWN; i++)
        if (plim__has(last, REACH, moves[i])) context->phase = PLIM_PHASE_LOADING;
    if (!found.found) return;
    if (found.decodes) plim__context_set(context, PLIM_CONTEXT_DECODES);
    bool made = found.touches && !found.computed && context->place.epoch < 0 && context->place.step < 1;
    if (made) plim__context_set(context, PLIM_CONTEXT_FIRST_TOUCH);
    if (found.marker < sizeof markers / sizeof *markers) context->phase = markers[found.marker].phase;
    if (made && found.makes) context->phase = PLIM_PHASE_LOADING;
    bool open = context->phase == PLIM_PHASE_UNKNOWN || context->phase == PLIM_PHASE_INFERENCE;
    if (open && (found.loads || (found.builds && !found.computed))) context->phase = PLIM_PHASE_LOADING;
    bool uses = found.told == PLIM_PHASE_INFERENCE || found.told == PLIM_PHASE_EVALUATION;
    bool passes = context->phase == PLIM_PHASE_FORWARD || context->phase == PLIM_PHASE_UNKNOWN ||
                  context->phase == PLIM_PHASE_INFERENCE;
    if (uses && passes) context->phase = found.told;
    if (uses) found.trains = false;
    bool trains = found.trains || context->place.epoch >= 0;
    bool evaluated = plim__context_has(context, PLIM_CONTEXT_SAID_EVALUATED),
         used = plim__context_has(context, PLIM_CONTEXT_SAID_USED);
    /* a forward pass is both's: who tells of it knows which */
    if (context->phase == PLIM_PHASE_FORWARD && (evaluated || used) && context->place.epoch < 0 &&
        !plim__context_has(context, PLIM_CONTEXT_TRAINING)) {
        context->phase = evaluated ? PLIM_PHASE_EVALUATION : PLIM_PHASE_INFERENCE;
        found.trains = false;
    }
    if (context->phase == PLIM_PHASE_FORWARD && !trains && !plim__context_has(context, PLIM_CONTEXT_TRAINING) &&
        !(plim__context_has(context, PLIM_CONTEXT_BATCHED) && !plim__context_has(context, PLIM_CONTEXT_INFERENCE)))
        context->phase = PLIM_PHASE_INFERENCE;
    if (context->phase == PLIM_PHASE_INFERENCE && found.trains) context->phase = PLIM_PHASE_FORWARD;
    if (!found.has_own) return;
    copy(context->place.file, sizeof context->place.file, found.own.file);
    copy(context->place.function, sizeof context->place.function, found.own.function);
    copy(context->place.code, sizeof context->place.code, found.own.code);
    context->place.line = found.own.line;
}
