/* plimsoll predict: what a trained model says about new data. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/activity.h"
#include "cli/format.h"
#include "cli/prediction.h"
#include "cli/terminal.h"
#include "cli/train_data.h"
#include "core/alloc.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/file.h"

enum { NAME = 4200 };

struct predict {
    plim__args *args;
    plim_graph *model;
    plim__model_options options;
    plim__data_settings settings;
    plim_loss loss;
    bool has_loss;
    plim_session *session;
    plim__prediction prediction;
    int64_t samples;
    plim_generate_options sampling;
    plim_tokenizer *tokenizer;        /* NULL: text is bytes */
    const int64_t *tokens;            /* prompt and what was generated */
    size_t shown_tokens, shown_bytes; /* of these, and of their text */
    plim_error error;
};

/* --- data ----------------------------------------------------------------------------------------------------- */

static const char *output_of(const struct predict *p, int *rank, int64_t dims[PLIM_MAX_RANK], plim_dtype *dtype) {
    const plim_graph *g = plim_session_graph(p->session);
    const char *wanted = p->has_loss ? p->loss.output : NULL;
    plim_value v = wanted ? plim_graph_find(g, wanted) : PLIM_NO_VALUE;
    if (v == PLIM_NO_VALUE) v = plim_graph_output_at(g, 0);
    *rank = plim_graph_value_shape(g, v, dims);
    *dtype = plim_graph_value_dtype(g, v);
    return plim_graph_value_name(g, v);
}

static plim_status create_session(struct predict *p, int64_t batch) {
    int rank;
    int64_t dims[PLIM_MAX_RANK];
    plim_dtype dtype;
    p->options.session.batch = batch;
    plim_status status = plim_session_create(p->model, &p->options.session, &p->session, &p->error);
    if (status != PLIM_OK) return status;
    const char *name = output_of(p, &rank, dims, &dtype);
    if (dtype != PLIM_F32 || rank < 1 || dims[0] != batch)
        return plim__fail(&p->error, PLIM_UNSUPPORTED, "the model's output '%s' is not float32 for each sample", name);
    return plim__prediction_begin(&p->prediction, rank, dims, p->has_loss ? &p->loss : NULL, &p->error);
}

static plim_status predict_batch(struct predict *p, plim_data *data, const plim_data_batch *batch) {
    int rank;
    int64_t dims[PLIM_MAX_RANK], count;
    plim_dtype dtype;
    char name[NAME];
    const char *output = output_of(p, &rank, dims, &dtype);
    size_t width = (size_t)(p->prediction.classes * p->prediction.places);
    bool table = p->prediction.format == PLIM__FORMAT_TABLE;
    for (int64_t i = 0; table && i < batch->count; i++) {
        plim_data_batch_sample_name(data, batch, i, name, sizeof name);
        plim__prediction_room(&p->prediction, name);
    }
    for (int64_t from = 0; from < batch->count; from += count) {
        plim_status status = plim_session_feed(p->session, data, batch, from, &count, &p->error);
        if (status == PLIM_OK) status = plim_session_run(p->session, &p->error);
        if (status != PLIM_OK) return status;
        const float *scores = plim_session_output(p->session, output);
        for (int64_t i = 0; i < count; i++, scores += width) {
            plim_data_batch_sample_name(data, batch, from + i, name, sizeof name);
            plim__prediction_add(&p->prediction, name, scores);
        }
    }
    p->samples += batch->count;
    return plim__prediction_show(&p->prediction, &p->error);
}

static plim_status predict_data(struct predict *p, plim_data *data) {
    plim_data_batch batch;
    plim_data_info info;
    plim_data_get_info(data, &info);
    plim_status status = plim_job_check(p->settings.job, data, &p->error);
    if (status == PLIM_OK && !p->session) status = create_session(p, info.batch);
    if (plim__args_has(p->args, "out") || p->prediction.list)
        plim__activity_say(p->args, "predicting %lld samples", (long long)info.samples);
    else
        plim__activity_end();
    while (status == PLIM_OK) {
        status = plim_data_next(data, &batch, &p->error);
        if (status == PLIM_OK && batch.count > 0) status = predict_batch(p, data, &batch);
        if (status != PLIM_OK || batch.last || batch.count == 0) break;
    }
    return status;
}

/* Each path is read as the model's own data was. */
static plim_status predict_path(struct predict *p, const char *path) {
    plim__data_settings given = p->settings;
    plim_data *data = NULL;
    plim__sizes sizes = {p->options.sizes, &p->options.session.size_count};
    given.path = path;
    plim__activity_say(p->args, "reading %s", path);
    given.options.no_target = given.options.in_order = 1;
    given.options.epochs = 1;
    if (!given.options.batch) given.options.batch = 32;
    if (!given.options.split) given.options.split = "test";
    plim__data_settings_free(&p->settings);
    plim_status status = plim__model_data_follow(p->args, p->model, &sizes, &p->loss, &given, &p->error);
    p->settings.job = given.job;
    p->prediction.job = given.job;
    p->has_loss = plim__args_has(p->args, "loss") || plim_job_get_loss(given.job, &p->loss);
    if (status == PLIM_OK) status = plim_data_create(path, &given.options, &data, &p->error);
    if (status == PLIM_OK) status = predict_data(p, data);
    if (status == PLIM_OK) plim__data_say_bad(p->args, data);
    plim_data_free(data);
    return status;
}

/* --- generation ----------------------------------------------------------------------------------------------- */

static bool takes_numbers(const struct predict *p) { return strcmp(plim_job_kind(p->settings.job), "tokens") == 0; }

/* The tokenizer's numbers or bytes of a text, or "12,7,99" where the model was trained on token numbers; `room` of them. */
static plim_status read_prompt(const struct predict *p, const char *text, int64_t *tokens, size_t room, size_t *count,
                               plim_error *error) {
    bool numbers = takes_numbers(p);
    *count = 0;
    if (p->tokenizer) {
        plim_token_buffer buffer = {.tokens = tokens, .room = room};
        plim_status status = plim_tokenizer_encode(p->tokenizer, text, strlen(text), &buffer, error);
        *count = buffer.count;
        return status;
    }
    for (char *end; *text; text = numbers ? end + (*end == ',') : text + 1) {
        errno = 0;
        tokens[(*count)++] = numbers ? strtoll(text, &end, 10) : (int64_t)(unsigned char)*text;
        if (numbers && (end == text || errno || (*end && *end != ',')))
            return plim__fail(error, PLIM_INVALID,
                              "--prompt '%s': the model was trained on token numbers; give some, with commas", text);
    }
    return PLIM_OK;
}

/* What all tokens so far have as text and was not shown; characters that are not whole yet wait. */
static void show_text(struct predict *p) {
    char *text = NULL;
    if (plim_tokenizer_decode(p->tokenizer, p->tokens, p->shown_tokens, &text, NULL) != PLIM_OK) return;
    size_t length = strlen(text);
    while (length >= 3 && memcmp(text + length - 3, "\xef\xbf\xbd", 3) == 0) length -= 3;
    if (length > p->shown_bytes) fwrite(text + p->shown_bytes, 1, length - p->shown_bytes, stdout);
    if (length > p->shown_bytes) p->shown_bytes = length;
    plim_text_free(text);
}

static int show_token(void *context, int64_t token, double probability) {
    struct predict *p = context;
    (void)probability;
    p->shown_tokens++;
    if (takes_numbers(p))
        printf("%lld ", (long long)token);
    else if (p->tokenizer)
        show_text(p);
    else
        putchar((int)token);
    return fflush(stdout) != 0;
}

/* NULL where tokens have no text. */
static json_t *text_json(const struct predict *p, const int64_t *tokens, size_t count) {
    char *text = NULL;
    if (!p->tokenizer || plim_tokenizer_decode(p->tokenizer, tokens, count, &text, NULL) != PLIM_OK) return json_null();
    json_t *made = json_string(text);
    plim_text_free(text);
    return made;
}

static json_t *tokens_json(const int64_t *tokens, size_t count) {
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) json_array_append_new(list, json_integer(tokens[i]));
    return list;
}

/* The tokenizer that the model was trained with, or --tokenizer where that is the same. */
static plim_status load_tokenizer(struct predict *p) {
    const char *path = p->settings.options.tokenizer;
    if (!path) return PLIM_OK;
    plim_status status = plim_tokenizer_load(path, &p->tokenizer, &p->error);
    return status == PLIM_OK ? plim_job_check_tokenizer(p->settings.job, plim_tokenizer_hash(p->tokenizer), &p->error)
                             : status;
}

static plim_status generate(struct predict *p, int64_t *tokens, size_t room, const char *prompt) {
    size_t count;
    plim_status status = read_prompt(p, prompt, tokens, room, &p->sampling.prompt_count, &p->error);
    int64_t *made = tokens + p->sampling.prompt_count;
    p->tokens = tokens;
    p->shown_tokens = p->sampling.prompt_count;
    p->options.session.batch = 1;
    if (status == PLIM_OK) status = plim_session_create(p->model, &p->options.session, &p->session, &p->error);
    if (status != PLIM_OK) return status;
    p->sampling.prompt = tokens;
    if (!plim__args_json(p->args)) {
        p->sampling.on_token = show_token;
        p->sampling.context = p;
        if (p->tokenizer)
            show_text(p);
        else
            fputs(prompt, stdout);
        if (takes_numbers(p)) putchar(' ');
    }
    status = plim_generate(p->session, &p->sampling, made, &count, &p->error);
    if (status == PLIM_OK && plim__args_json(p->args))
        plim__say_json(p->args, json_pack("{s:o, s:o, s:o}", "prompt", tokens_json(tokens, p->sampling.prompt_count),
                                          "tokens", tokens_json(made, count), "text", text_json(p, made, count)));
    else if (status == PLIM_OK)
        putchar('\n');
    return status;
}

static plim_status continue_text(struct predict *p, const char *prompt) {
    plim__sizes sizes = {p->options.sizes, &p->options.session.size_count};
    p->settings.path = "text:prompt";
    plim_status status = plim__model_data_follow(p->args, p->model, &sizes, &p->loss, &p->settings, &p->error);
    if (status == PLIM_OK) status = load_tokenizer(p);
    if (status != PLIM_OK) return status;
    size_t room = 4 * strlen(prompt) + 64, all = room + (size_t)p->sampling.count; /* normalising may make more of it */
    int64_t *tokens = plim__alloc_array(all, sizeof *tokens);
    if (!tokens) return plim__fail_memory(&p->error, "tokens", all * sizeof *tokens);
    status = generate(p, tokens, room, prompt);
    plim__free(tokens);
    plim_tokenizer_free(p->tokenizer);
    p->tokenizer = NULL;
    return status;
}

/* --- the command ---------------------------------------------------------------------------------------------- */

static bool read_sampling(plim__args *args, plim_generate_options *o) {
    int64_t seed = 0;
    o->count = 200;
    o->temperature = 1;
    bool good = plim__args_int(args, "generate", 1, 1 << 24, &o->count) &&
                plim__args_double(args, "temperature", &o->temperature) &&
                plim__args_int(args, "top-k", 1, 1 << 24, &o->top_k) && plim__args_double(args, "top-p", &o->top_p) &&
                plim__args_int(args, "seed", 0, INT64_MAX, &seed);
    o->seed = (uint64_t)seed;
    if (good && !(o->temperature >= 0 && o->top_p >= 0 && o->top_p <= 1))
        return plim__say_usage(args, "--temperature is at least 0, --top-p from 0 to 1"), false;
    return good;
}

static bool read_format(plim__args *args, plim__prediction_format *format) {
    static const char *const names[] = {"table", "csv", "jsonl"};
    const char *text = plim__args_get(args, "format");
    for (int i = 0; i < 3; i++)
        if (!text || strcmp(text, names[i]) == 0) {
            *format = (plim__prediction_format)i;
            return true;
        }
    plim__say_choice(args, "format", "table, csv or jsonl");
    return false;
}

static plim_status predict_all(struct predict *p) {
    const char *source = plim__args_get(p->args, "data"), *path;
    const char **longest = &p->prediction.longest;
    for (size_t i = 1; plim__args_at(p->args, 2) && (path = plim__args_at(p->args, i)); i++) /* files by themselves */
        if (!*longest || plim__terminal_columns(path) > plim__terminal_columns(*longest)) *longest = path;
    plim_status status = source ? predict_path(p, source) : PLIM_OK;
    for (size_t i = 1; status == PLIM_OK && (path = plim__args_at(p->args, i)); i++) status = predict_path(p, path);
    return status;
}

static int predict(struct predict *p) {
    const char *prompt = plim__args_get(p->args, "prompt"), *out = plim__args_get(p->args, "out");
    plim__file_writer file = {0};
    if (out && plim__file_writer_open(&file, out, &p->error) != PLIM_OK) return plim__say_error(p->args, &p->error);
    p->prediction.stream = out ? file.stream : stdout;
    if (plim__args_json(p->args) && !prompt) p->prediction.list = json_array();
    double start = plim__clock_seconds();
    plim_status status = prompt ? continue_text(p, prompt) : predict_all(p);
    double seconds = plim__clock_seconds() - start;
    plim__activity_end();
    if (status == PLIM_OK && out) status = plim__file_writer_commit(&file, &p->error);
    plim__file_writer_discard(&file);
    if (status != PLIM_OK) {
        json_decref(p->prediction.list);
        return plim__say_error(p->args, &p->error);
    }
    if (!out && (fflush(stdout) != 0 || ferror(stdout)))
        return plim__say_failure(p->args, "cannot write standard output");
    if (out) plim__terminal_line(stdout, "wrote %s: %lld predictions", plim__shown(out), (long long)p->samples);
    if (!p->prediction.list) return PLIM_EXIT_OK;
    return plim__say_json(p->args, json_pack("{s:o, s:I, s:f}", "predictions", p->prediction.list, "samples",
                                             (json_int_t)p->samples, "seconds", seconds));
}

static int run(plim__args *args) {
    static float class_weights[PLIM__MOST_CLASSES];
    static struct predict p;
    const char *path = plim__args_at(args, 0), *out = plim__args_get(args, "out");
    bool prompts = plim__args_has(args, "prompt");
    p = (struct predict){.args = args, .prediction = {.top = 1}};
    if (!path) return plim__say_usage(args, "which model?");
    if (!prompts && !plim__args_at(args, 1) && !plim__args_has(args, "data"))
        return plim__say_usage(args, "of what? give files or folders, or --prompt TEXT");
    if (!plim__model_options_read(args, &p.options) || !plim__data_options_read(args, &p.settings) ||
        !read_sampling(args, &p.sampling) || !read_format(args, &p.prediction.format) ||
        !plim__args_int(args, "top", 1, 1 << 20, &p.prediction.top) ||
        !plim__loss_options_read(args, PLIM_LOSS_CROSS_ENTROPY, class_weights, &p.loss, NULL))
        return PLIM_EXIT_USAGE;
    p.options.session.evaluation = PLIM_EVALUATION_AS_TRAINED;
    if (plim__args_has(args, "batch")) p.settings.options.batch = p.options.session.batch;
    if (out && plim_output_find(out) != PLIM_OUTPUT_NONE)
        return plim__say_failure(args, "'%s' exists: it is not replaced; choose another name", out);
    plim__activity_say(args, "reading %s", path);
    if (plim_graph_load(path, &p.model, &p.error) != PLIM_OK) return plim__say_error(args, &p.error);
    plim__activity_end();
    int code = predict(&p);
    plim__prediction_end(&p.prediction);
    plim_session_free(p.session);
    plim__data_settings_free(&p.settings);
    plim_graph_free(p.model);
    return code;
}

static const plim__option options[] = {
    {"data", 'd', "PATH", "what to predict, as an option: a file or folder like those of train"},
    {"top", 'k', "K", "show the K most probable classes; the default is 1"},
    {"format", 'f', "FORMAT", "table (the default), csv, or jsonl: one JSON object a line"},
    {"out", 'o', "FILE", "write to a new file instead of standard output"},
    {"prompt", 'p', "TEXT", "language models: continue this text"},
    {"generate", 0, "N", "with N tokens; the default is 200"},
    {"temperature", 0, "X", "below 1 more certain, above it more varied, 0 always the most probable; the default is 1"},
    {"top-k", 0, "K", "choose among the K most probable tokens"},
    {"top-p", 0, "X", "choose among the most probable tokens that together have this probability"},
    {"seed", 0, "N", "of generation; the default is 0"},
    PLIM__MODEL_OPTIONS,
    PLIM__LOSS_OPTIONS,
    PLIM__JOB_OPTIONS,
    PLIM__DATA_OPTIONS,
    {0},
};

const plim__command plim__command_predict = {
    .name = "predict",
    .usage = "MODEL.onnx PATH... | MODEL.onnx --prompt TEXT",
    .summary = "Tell what a trained model says about new data",
    .description = "Images and folders of them, tables, arrays: the class and its probability, or the number, for each "
                   "sample. Data is "
                   "read as it was for training: the model remembers that, with the names of its classes. A language "
                   "model continues a "
                   "text.",
    .options = options,
    .examples = "  plimsoll predict flowers.onnx photo.jpg holiday/ --top 3\n"
                "  plimsoll predict prices.onnx houses.csv --format csv --out prices.csv\n"
                "  plimsoll predict shakespeare.onnx --prompt 'To be' --temperature 0.8 --top-k 40 --seed 7",
    .run = run,
};
