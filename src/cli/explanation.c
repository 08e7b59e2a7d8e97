/* An explanation on a terminal and as JSON. */
#include "cli/explanation.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "plimsoll/bytes.h"

/* --- JSON ----------------------------------------------------------------------------------------------------- */

static json_t *amount_json(plim_amount amount) {
    return amount.known && amount.bytes <= INT64_MAX ? json_integer((json_int_t)amount.bytes) : json_null();
}

/* Messages may hold bytes that are not UTF-8; those become question marks. */
static json_t *text_json(const char *text) {
    json_t *made = json_string(text);
    if (made) return made;
    char plain[512];
    size_t length = 0;
    for (; *text && length + 1 < sizeof plain; text++) plain[length++] = (unsigned char)*text < 128 ? *text : '?';
    plain[length] = 0;
    return json_string(plain);
}

static json_t *shape_json(const plim_explanation *x) {
    if (x->rank < 0) return json_null();
    json_t *shape = json_array();
    for (int i = 0; i < x->rank; i++) json_array_append_new(shape, json_integer(x->shape[i]));
    return shape;
}

static json_t *fixes_json(const plim_explanation *x) {
    json_t *fixes = json_array();
    for (int i = 0; i < x->fix_count; i++) {
        const plim_fix *fix = &x->fixes[i];
        json_array_append_new(
            fixes, json_pack("{s:s, s:o, s:o, s:o, s:o, s:i}", "title", fix->title, "setting", text_json(fix->setting),
                             "saving_bytes", amount_json(fix->saving), "saving_is",
                             fix->saving_note[0] ? json_string(fix->saving_note) : json_null(), "reaches",
                             fix->reaches < 0 ? json_null() : json_boolean(fix->reaches), "cost", fix->cost));
    }
    return fixes;
}

static json_t *holders_json(const plim_explanation *x) {
    json_t *holders = json_array();
    for (int i = 0; i < x->holder_count; i++) {
        const plim_holder *holder = &x->holders[i];
        json_array_append_new(holders,
                              json_pack("{s:I, s:I, s:o, s:o}", "bytes", (json_int_t)(holder->bytes & INT64_MAX),
                                        "count", (json_int_t)(holder->count & INT64_MAX), "shape_guess",
                                        holder->guess[0] ? json_string(holder->guess) : json_null(), "what",
                                        holder->what[0] ? text_json(holder->what) : json_null()));
    }
    return holders;
}

static json_t *count_json(int64_t count) { return count >= 0 ? json_integer(count) : json_null(); }

static json_t *place_json(const plim_explanation *x) {
    const plim_place *place = &x->place;
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "file",
                     place->file[0] ? text_json(place->file) : json_null(), "line", count_json(place->line), "function",
                     place->function[0] ? text_json(place->function) : json_null(), "code",
                     place->code[0] ? text_json(place->code) : json_null(), "epoch", count_json(place->epoch), "step",
                     count_json(place->step), "step_count", count_json(place->step_count));
}

json_t *plim__explanation_json(const plim_explanation *x) {
    json_t *evidence = json_array();
    for (int i = 0; i < x->evidence_count; i++) json_array_append_new(evidence, text_json(x->evidence[i]));
    json_t *object = json_object();
    json_object_set_new(object, "found", json_boolean(x->found));
    json_object_set_new(object, "framework", json_string(x->framework));
    json_object_set_new(object, "device",
                        json_pack("{s:s?, s:o}", "kind", x->device_kind, "index",
                                  x->device_index >= 0 ? json_integer(x->device_index) : json_null()));
    json_object_set_new(object, "requested_bytes", amount_json(x->requested));
    json_object_set_new(object, "requested_exact", x->requested.known ? json_boolean(x->requested.exact) : json_null());
    json_object_set_new(object, "shape", shape_json(x));
    json_object_set_new(object, "dtype", x->dtype[0] ? text_json(x->dtype) : json_null());
    json_object_set_new(object, "shape_bytes", amount_json(x->shape_bytes));
    json_object_set_new(object, "capacity_bytes", amount_json(x->capacity));
    json_object_set_new(object, "allocated_bytes", amount_json(x->allocated));
    json_object_set_new(object, "reserved_bytes", amount_json(x->reserved));
    json_object_set_new(object, "free_bytes", amount_json(x->free));
    json_object_set_new(object, "process_bytes", amount_json(x->process));
    json_object_set_new(object, "other_process_bytes", amount_json(x->other_process));
    json_object_set_new(object, "limit_bytes", amount_json(x->limit));
    json_object_set_new(object, "largest_free_bytes", amount_json(x->largest_free));
    json_object_set_new(object, "shortfall_bytes", amount_json(x->shortfall));
    json_object_set_new(object, "cause", json_string(plim_cause_name(x->cause)));
    json_object_set_new(object, "headline", x->headline[0] ? text_json(x->headline) : json_null());
    json_object_set_new(object, "phase",
                        x->phase != PLIM_PHASE_UNKNOWN ? json_string(plim_phase_name(x->phase)) : json_null());
    json_object_set_new(object, "place", place_json(x));
    json_object_set_new(object, "recurrence", x->recurrence[0] ? json_string(x->recurrence) : json_null());
    json_object_set_new(object, "unread", x->unread[0] ? text_json(x->unread) : json_null());
    json_object_set_new(object, "confidence", json_real(round(x->confidence * 100) / 100));
    json_object_set_new(object, "evidence", evidence);
    json_object_set_new(object, "fixes", fixes_json(x));
    json_object_set_new(object, "holders", holders_json(x));
    json_object_set_new(object, "fragmentation",
                        x->fragmentation >= 0 ? json_real(round(x->fragmentation * 1e4) / 1e4) : json_null());
    json_object_set_new(object, "version", x->version[0] ? json_string(x->version) : json_null());
    json_object_set_new(object, "message", x->message[0] ? text_json(x->message) : json_null());
    json_object_set_new(object, "failures", json_integer((json_int_t)(x->failures & INT64_MAX)));
    return object;
}

/* --- for people ----------------------------------------------------------------------------------------------- */

typedef char text[64];

/* Two decimals: a request just above what is free must not look like it. */
static const char *size_text(uint64_t bytes, text made) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    size_t unit = 0;
    double value = (double)bytes;
    while (value >= 1023.995 && unit + 1 < sizeof units / sizeof *units) value /= 1024, unit++;
    snprintf(made, sizeof(text), unit ? "%.2f %s" : "%.0f %s", value, units[unit]);
    return made;
}

static const char *nice_name(const char *framework) {
    static const char *const names[][2] = {{"pytorch", "PyTorch"},
                                           {"tensorflow", "TensorFlow"},
                                           {"jax", "JAX"},
                                           {"onnxruntime", "ONNX Runtime"},
                                           {"tensorrt", "TensorRT"},
                                           {"paddle", "Paddle"},
                                           {"mxnet", "MXNet"},
                                           {"caffe", "Caffe"},
                                           {"darknet", "Darknet"},
                                           {"cupy", "CuPy"},
                                           {"theano", "Theano"},
                                           {"julia", "CUDA.jl (Julia)"},
                                           {"vllm", "vLLM"},
                                           {"mlx", "MLX"},
                                           {"directml", "DirectML"},
                                           {"numpy", "NumPy"},
                                           {"python", "Python"},
                                           {"cuda", "CUDA"},
                                           {"kernel", "the kernel"},
                                           {"slurm", "Slurm"},
                                           {"kubernetes", "Kubernetes"},
                                           {"ray", "Ray"},
                                           {"deepspeed", "DeepSpeed"},
                                           {"cpp", "C++"},
                                           {"windows", "Windows"},
                                           {"ollama", "Ollama"},
                                           {"sglang", "SGLang"},
                                           {"lmdeploy", "LMDeploy"},
                                           {"tensorrt-llm", "TensorRT-LLM"},
                                           {"exllama", "ExLlama"},
                                           {"ctranslate2", "CTranslate2"},
                                           {"xgboost", "XGBoost"},
                                           {"lightgbm", "LightGBM"},
                                           {"catboost", "CatBoost"},
                                           {"rapids", "RAPIDS (cuDF, RMM)"},
                                           {"numba", "Numba"},
                                           {"faiss", "Faiss"},
                                           {"opencv", "OpenCV"},
                                           {"neuron", "AWS Neuron"},
                                           {"cann", "Ascend CANN"},
                                           {"sycl", "SYCL"},
                                           {"hip", "HIP"},
                                           {"opencl", "OpenCL"},
                                           {"vulkan", "Vulkan"},
                                           {"cntk", "CNTK"},
                                           {"torch7", "Torch (Lua)"},
                                           {"colab", "Colab"},
                                           {"kaggle", "Kaggle"},
                                           {"jupyter", "Jupyter"},
                                           {"lsf", "LSF"},
                                           {"pbs", "PBS"},
                                           {"sge", "Grid Engine"},
                                           {"htcondor", "HTCondor"},
                                           {"yarn", "YARN"},
                                           {"dask", "Dask"},
                                           {"pandas", "pandas"},
                                           {"arrow", "Arrow"},
                                           {"duckdb", "DuckDB"},
                                           {"joblib", "joblib"},
                                           {"nccl", "NCCL"},
                                           {"java", "Java"},
                                           {"node", "Node.js"},
                                           {"r", "R"},
                                           {"go", "Go"},
                                           {"rust", "Rust"},
                                           {"php", "PHP"},
                                           {"ruby", "Ruby"},
                                           {"perl", "Perl"},
                                           {"dotnet", ".NET"},
                                           {"matlab", "MATLAB"},
                                           {"compiler", "the compiler"},
                                           {"jetson", "Jetson"},
                                           {"unknown", "a program"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(framework, names[i][0]) == 0) return names[i][1];
    return framework;
}

/* What a log brings never steers the terminal: control characters, also the two-byte ones, become question marks. */
static void make_safe(char *shown) {
    for (unsigned char *c = (unsigned char *)shown; *c; c++) {
        if (*c < ' ' || *c == 127) *c = '?';
        if (c[0] == 0xC2 && c[1] >= 0x80 && c[1] < 0xA0) c[0] = c[1] = '?';
    }
}

/* Adds text in lines of at most `width` columns, each behind `indent` blanks but the first. */
static void add_wrapped(plim__str *out, const char *words, int indent, int width) {
    int column = indent;
    bool first = true;
    while (*words) {
        while (*words == ' ') words++;
        size_t length = strcspn(words, " ");
        if (!length) break;
        char word[512];
        snprintf(word, sizeof word, "%.*s", (int)(length < sizeof word ? length : sizeof word - 1), words);
        make_safe(word);
        int columns = (int)plim__terminal_columns(word);
        if (!first && column + 1 + columns > width) {
            plim__str_addf(out, "\n%*s", indent, "");
            column = indent;
        } else if (!first) {
            plim__str_addc(out, ' ');
            column++;
        }
        plim__str_add(out, word);
        column += columns;
        first = false;
        words += length;
    }
    plim__str_addc(out, '\n');
}

/* Where in the program, and how far it had come. */
static void print_place(plim__str *out, const plim_explanation *x, int width) {
    const plim_place *place = &x->place;
    plim__str where = {0};
    if (x->phase != PLIM_PHASE_UNKNOWN) plim__str_addf(&where, "in %s", plim_phase_name(x->phase));
    if (x->phase == PLIM_PHASE_LOADING || x->phase == PLIM_PHASE_DATA) {
        plim__str_clear(&where);
        plim__str_addf(&where, "while %s", plim_phase_name(x->phase));
    }
    if (place->file[0]) {
        plim__str_addf(&where, "%s%s", where.length ? ", at " : "at ", place->file);
        if (place->line >= 0) plim__str_addf(&where, " line %lld", (long long)place->line);
    }
    if (place->epoch >= 0) plim__str_addf(&where, "%sepoch %lld", where.length ? ", " : "", (long long)place->epoch);
    if (place->step >= 0) plim__str_addf(&where, "%sstep %lld", where.length ? ", " : "", (long long)place->step);
    if (place->step >= 0 && place->step_count > 0) plim__str_addf(&where, " of %lld", (long long)place->step_count);
    if (where.length) {
        plim__str_add(out, "  where      ");
        add_wrapped(out, plim__str_text(&where), 13, width);
    }
    if (place->code[0]) {
        plim__str_add(out, "             ");
        add_wrapped(out, place->code, 13, width);
    }
    if (x->recurrence[0]) {
        plim__str_add(out, "  again?     ");
        add_wrapped(out, x->recurrence, 13, width);
    }
    plim__str_free(&where);
}

static void print_failure(plim__str *out, const plim__terminal *terminal, const plim_explanation *x) {
    text size, exact;
    plim__terminal_addf(out, terminal, PLIM_STYLE_BOLD, "%s",
                        x->cause == PLIM_CAUSE_WARNING ? "Only a warning" : "Out of memory");
    bool named = strncmp(x->version, nice_name(x->framework), strlen(nice_name(x->framework))) == 0;
    if (named)
        plim__str_addf(out, "  %s", x->version);
    else
        plim__str_addf(out, x->version[0] ? "  %s (%s)" : "  %s", nice_name(x->framework), x->version);
    if (x->device_kind) {
        plim__str_addf(out, ", %s", x->device_kind);
        if (x->device_index >= 0) plim__str_addf(out, " %lld", (long long)x->device_index);
    }
    plim__str_addc(out, '\n');
    if (x->shortfall.known && x->shortfall.bytes && x->found)
        plim__str_addf(out, "  missing    %s\n", size_text(x->shortfall.bytes, size));
    else if (x->cause == PLIM_CAUSE_FRAGMENTED && x->requested.known)
        plim__str_addf(out, "  missing    no bytes, but %s in one piece\n", size_text(x->requested.bytes, size));
    if (x->requested.known) {
        plim__str_addf(out, "  asked for  %s", size_text(x->requested.bytes, size));
        if (x->requested.exact) plim__str_addf(out, " (%s bytes)", plim_bytes_group(x->requested.bytes, exact));
        if (x->rank >= 0) {
            plim__str_add(out, ": ");
            for (int i = 0; i < x->rank; i++) plim__str_addf(out, i ? " x %lld" : "%lld", (long long)x->shape[i]);
            if (x->dtype[0]) plim__str_addf(out, " %s", x->dtype);
        }
        plim__str_addc(out, '\n');
    } else if (x->rank >= 0) {
        plim__str_add(out, "  asked for  a tensor of ");
        for (int i = 0; i < x->rank; i++) plim__str_addf(out, i ? " x %lld" : "%lld", (long long)x->shape[i]);
        plim__str_add(out, x->dtype[0] ? " " : "; its type is not told, nor are its bytes\n");
        if (x->dtype[0]) plim__str_addf(out, "%s\n", x->dtype);
    }
}

static void add_legend(plim__str *out, const plim__terminal *terminal, plim__style style, const char *mark,
                       const char *name, uint64_t bytes) {
    text size;
    bool rest = mark[0] == '.';
    /* the bar's own cells */
    const char *cell = terminal->unicode && rest ? "░" : terminal->unicode && terminal->colour ? "█" : mark;
    plim__str_add(out, "  ");
    plim__terminal_addf(out, terminal, style, "%s", cell);
    plim__str_addf(out, " %s %s", name, size_text(bytes, size));
}

static double part(uint64_t bytes) { return (double)bytes; }

/* The capacity as a bar: live, cached, the rest of this process, other processes, free. */
static void print_bar(plim__str *out, const plim__terminal *terminal, const plim_explanation *x) {
    if (!x->capacity.known || !x->capacity.bytes || !(x->allocated.known || x->free.known)) return;
    uint64_t total = x->capacity.bytes, live = x->allocated.known ? x->allocated.bytes : 0;
    uint64_t cached = x->reserved.known && x->reserved.bytes > live ? x->reserved.bytes - live : 0;
    uint64_t free = x->free.known ? x->free.bytes : 0;
    bool pool = x->free.known && x->allocated.known && free + live == total;
    if (pool) free = free > cached ? free - cached : 0;
    uint64_t others = x->other_process.known ? x->other_process.bytes : 0;
    uint64_t used = live + cached + free + others, rest = total > used && x->free.known ? total - used : 0;
    int width = terminal->width > 30 ? (terminal->width < 78 ? terminal->width : 78) - 4 : 20;
    plim__bar_part parts[] = {
        {part(live), PLIM_STYLE_RED, '#'},
        {part(cached), PLIM_STYLE_YELLOW, '='},
        {part(rest), PLIM_STYLE_MAGENTA, '+'},
        {part(others), PLIM_STYLE_BLUE, 'o'},
    };
    text size;
    plim__str_addf(out, "\nWhere the memory is: %s\n  ", size_text(total, size));
    plim__terminal_bar(out, terminal, parts, sizeof parts / sizeof *parts, (double)total, width);
    plim__str_addc(out, '\n');
    if (x->allocated.known) add_legend(out, terminal, PLIM_STYLE_RED, "#", "live", live);
    if (cached) add_legend(out, terminal, PLIM_STYLE_YELLOW, "=", "cached", cached);
    if (rest)
        add_legend(out, terminal, PLIM_STYLE_MAGENTA, "+",
                   x->other_process.known || x->process.known ? "context" : "context and others", rest);
    if (others) add_legend(out, terminal, PLIM_STYLE_BLUE, "o", "other processes", others);
    if (x->free.known) add_legend(out, terminal, PLIM_STYLE_DIM, ".", pool ? "not reserved yet" : "free", free);
    plim__str_addc(out, '\n');
}

static void print_holders(plim__str *out, const plim_explanation *x) {
    if (!x->holder_count) return;
    plim__str_add(out, "\nLargest holders\n");
    for (int i = 0; i < x->holder_count && i < 5; i++) {
        const plim_holder *holder = &x->holders[i];
        text size, total;
        plim__str_addf(out, "  %10s", size_text((uint64_t)((double)holder->bytes * (double)holder->count), total));
        if (holder->count > 1)
            plim__str_addf(out, " = %llu x %s", (unsigned long long)holder->count, size_text(holder->bytes, size));
        if (holder->guess[0]) plim__str_addf(out, "   %s%s", holder->what[0] ? "" : "maybe ", holder->guess);
        char what[sizeof holder->what];
        snprintf(what, sizeof what, "%s", holder->what);
        make_safe(what);
        if (what[0]) plim__str_addf(out, "   %s", what);
        plim__str_addc(out, '\n');
    }
}

static const char *sure(double confidence) {
    return confidence >= 0.95 ? "sure" : confidence >= 0.8 ? "very likely" : confidence >= 0.65 ? "likely" : "possible";
}

static void print_fixes(plim__str *out, const plim__terminal *terminal, const plim_explanation *x, int width) {
    if (!x->fix_count) return;
    plim__terminal_addf(out, terminal, PLIM_STYLE_BOLD, "\nWhat to try, in this order\n");
    for (int i = 0; i < x->fix_count; i++) {
        const plim_fix *fix = &x->fixes[i];
        plim__str_addf(out, "  %d. ", i + 1);
        add_wrapped(out, fix->title, 5, width);
        plim__str_add(out, "     ");
        plim__str_add(out, plim__terminal_style(terminal, PLIM_STYLE_CYAN));
        add_wrapped(out, fix->setting, 5, width);
        plim__str_add(out, plim__terminal_style(terminal, PLIM_STYLE_PLAIN));
        if (fix->saving.known) {
            text size;
            char line[256];
            text missing;
            if (fix->reaches == 0)
                snprintf(line, sizeof line, "gives %s of the %s that are missing: %s",
                         size_text(fix->saving.bytes, size), size_text(x->shortfall.bytes, missing), fix->saving_note);
            else
                snprintf(line, sizeof line, "gives %s%s: %s", size_text(fix->saving.bytes, size),
                         fix->reaches == 1 ? ", enough" : "", fix->saving_note);
            plim__str_add(out, "     ");
            add_wrapped(out, line, 5, width);
        }
    }
}

void plim__explanation_print(plim__str *out, const plim__terminal *terminal, const plim_explanation *x) {
    int width = terminal->width > 40 ? (terminal->width < 100 ? terminal->width : 100) : 80;
    if (x->cause == PLIM_CAUSE_NONE) {
        plim__str_add(out, x->log_bytes == 0 ? "The log is empty.\n"
                           : x->binary       ? "This is not a text log; no out-of-memory message in it.\n"
                                             : "No out-of-memory message in this log.\n");
        return;
    }
    print_failure(out, terminal, x);
    print_place(out, x, width);
    print_bar(out, terminal, x);
    print_holders(out, x);
    plim__terminal_addf(out, terminal, PLIM_STYLE_BOLD, "\nCause: %s", plim_cause_name(x->cause));
    plim__str_addf(out, "  (%s)\n  ", sure(x->confidence));
    char sentence[256];
    snprintf(sentence, sizeof sentence, "%s.", x->headline[0] ? x->headline : plim_cause_sentence(x->cause));
    add_wrapped(out, sentence, 2, width);
    for (int i = 0; i < x->evidence_count; i++) {
        plim__str_add(out, "  - ");
        add_wrapped(out, x->evidence[i], 4, width);
    }
    print_fixes(out, terminal, x, width);
}
