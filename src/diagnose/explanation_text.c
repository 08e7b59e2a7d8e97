/* An explanation in lines for people. */
#include <stdio.h>
#include <string.h>

#include "core/arguments.h"
#include "core/error.h"
#include "core/styled.h"
#include "plimsoll/bytes.h"
#include "plimsoll/diagnose.h"

typedef char size_words[64];

/* Two decimals: a request just above what is free must not look like it. */
static const char *size_text(uint64_t bytes, size_words made) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    size_t unit = 0;
    double value = (double)bytes;
    while (value >= 1023.995 && unit + 1 < sizeof units / sizeof *units) value /= 1024, unit++;
    snprintf(made, sizeof(size_words), unit ? "%.2f %s" : "%.0f %s", value, units[unit]);
    return made;
}

const char *plim_framework_title(const char *framework) {
    if (!framework) return "a program";
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
        int columns = (int)plim__text_columns(word);
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

static void print_failure(plim__str *out, const plim__canvas *canvas, const plim_explanation *x) {
    size_words size, exact;
    plim__styled_addf(out, canvas->colour, PLIM_STYLE_BOLD, "%s",
                      x->cause == PLIM_CAUSE_WARNING ? "Only a warning" : "Out of memory");
    bool named =
        strncmp(x->version, plim_framework_title(x->framework), strlen(plim_framework_title(x->framework))) == 0;
    if (named)
        plim__str_addf(out, "  %s", x->version);
    else
        plim__str_addf(out, x->version[0] ? "  %s (%s)" : "  %s", plim_framework_title(x->framework), x->version);
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

static void add_legend(plim__str *out, const plim__canvas *canvas, plim__style style, const char *mark,
                       const char *name, uint64_t bytes) {
    size_words size;
    bool rest = mark[0] == '.';
    /* the bar's own cells */
    const char *cell = canvas->unicode && rest ? "░" : canvas->unicode && canvas->colour ? "█" : mark;
    plim__str_add(out, "  ");
    plim__styled_addf(out, canvas->colour, style, "%s", cell);
    plim__str_addf(out, " %s %s", name, size_text(bytes, size));
}

static double part(uint64_t bytes) { return (double)bytes; }

/* What is neither live nor cached, free or known to be of others. */
static const char *rest_name(const plim_explanation *x) {
    if (!x->allocated.known) return x->process.known ? "this process, and others" : "in use";
    return x->other_process.known || x->process.known ? "context" : "context and others";
}

/* The capacity as a bar: live, cached, the rest of this process, other processes, free. */
static void print_bar(plim__str *out, const plim__canvas *canvas, const plim_explanation *x) {
    if (!x->capacity.known || !x->capacity.bytes || !(x->allocated.known || x->free.known)) return;
    uint64_t total = x->capacity.bytes, live = x->allocated.known ? x->allocated.bytes : 0;
    uint64_t cached = x->reserved.known && x->reserved.bytes > live ? x->reserved.bytes - live : 0;
    uint64_t free = x->free.known ? x->free.bytes : 0;
    bool pool = x->free.known && x->allocated.known && free + live == total;
    if (pool) free = free > cached ? free - cached : 0;
    uint64_t others = x->other_process.known ? x->other_process.bytes : 0;
    uint64_t used = live + cached + free + others, rest = total > used && x->free.known ? total - used : 0;
    int width = canvas->width > 30 ? (canvas->width < 78 ? canvas->width : 78) - 4 : 20;
    plim__bar_part parts[] = {
        {part(live), PLIM_STYLE_RED, '#'},
        {part(cached), PLIM_STYLE_YELLOW, '='},
        {part(rest), PLIM_STYLE_MAGENTA, '+'},
        {part(others), PLIM_STYLE_BLUE, 'o'},
    };
    size_words size;
    plim__str_addf(out, "\nWhere the memory is: %s\n  ", size_text(total, size));
    plim__bar_add(out, &(plim__canvas){canvas->colour, canvas->unicode, width}, parts, sizeof parts / sizeof *parts,
                  (double)total);
    plim__str_addc(out, '\n');
    if (x->allocated.known) add_legend(out, canvas, PLIM_STYLE_RED, "#", "live", live);
    if (cached) add_legend(out, canvas, PLIM_STYLE_YELLOW, "=", "cached", cached);
    if (rest) add_legend(out, canvas, PLIM_STYLE_MAGENTA, "+", rest_name(x), rest);
    if (others) add_legend(out, canvas, PLIM_STYLE_BLUE, "o", "other processes", others);
    if (x->free.known) add_legend(out, canvas, PLIM_STYLE_DIM, ".", pool ? "not reserved yet" : "free", free);
    plim__str_addc(out, '\n');
}

static void print_holders(plim__str *out, const plim_explanation *x) {
    if (!x->holder_count) return;
    plim__str_add(out, "\nLargest holders\n");
    for (int i = 0; i < x->holder_count && i < 5; i++) {
        const plim_holder *holder = &x->holders[i];
        size_words size, total;
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

static void print_fixes(plim__str *out, const plim__canvas *canvas, const plim_explanation *x, int width) {
    if (!x->fix_count) return;
    plim__styled_addf(out, canvas->colour, PLIM_STYLE_BOLD, "\nWhat to try, in this order\n");
    for (int i = 0; i < x->fix_count; i++) {
        const plim_fix *fix = &x->fixes[i];
        plim__str_addf(out, "  %d. ", i + 1);
        add_wrapped(out, fix->title, 5, width);
        plim__str_add(out, "     ");
        plim__str_add(out, plim__style_escape(canvas->colour, PLIM_STYLE_CYAN));
        add_wrapped(out, fix->setting, 5, width);
        plim__str_add(out, plim__style_escape(canvas->colour, PLIM_STYLE_PLAIN));
        if (fix->saving.known) {
            size_words size;
            char line[256];
            size_words missing;
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

static void print_all(plim__str *out, const plim__canvas *canvas, const plim_explanation *x, const char *section) {
    int width = canvas->width;
    if (x->cause == PLIM_CAUSE_NONE) {
        plim__str_add(out, x->log_bytes == 0 ? "The log is empty.\n"
                           : x->binary       ? "This is not a text log; no out-of-memory message in it.\n"
                                             : "No out-of-memory message in this log.\n");
        return;
    }
    print_failure(out, canvas, x);
    print_place(out, x, width);
    if (section && *section) plim__str_addf(out, "\n%s", section);
    print_bar(out, canvas, x);
    print_holders(out, x);
    plim__styled_addf(out, canvas->colour, PLIM_STYLE_BOLD, "\nCause: %s", plim_cause_name(x->cause));
    plim__str_addf(out, "  (%s)\n  ", sure(x->confidence));
    char sentence[256];
    snprintf(sentence, sizeof sentence, "%s.", x->headline[0] ? x->headline : plim_cause_sentence(x->cause));
    add_wrapped(out, sentence, 2, width);
    for (int i = 0; i < x->evidence_count; i++) {
        plim__str_add(out, "  - ");
        add_wrapped(out, x->evidence[i], 4, width);
    }
    print_fixes(out, canvas, x, width);
}

plim_status plim_explanation_print(const plim_explanation *explanation, const plim_explanation_style *style,
                                   char **text, plim_error *error) {
    PLIM__NEED(text, error);
    *text = NULL;
    PLIM__NEED(explanation, error);
    plim_explanation_style used;
    PLIM__OPTIONS(plim_explanation_style, used, style, error);
    if (used.width < 0) return plim__fail(error, PLIM_INVALID, "the width is %d columns", used.width);
    plim__canvas canvas = {
        .colour = used.colour != 0, .unicode = used.unicode != 0, .width = used.width ? used.width : 80};
    plim__str out = {0};
    print_all(&out, &canvas, explanation, used.section);
    if (out.failed) {
        plim__str_free(&out);
        return plim__fail_memory(error, "the text of an explanation", 4096);
    }
    *text = out.data;
    return PLIM_OK;
}
