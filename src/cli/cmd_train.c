/* plimsoll train: a model, data, and a loss that falls. */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/activity.h"
#include "cli/budget_options.h"
#include "cli/config.h"
#include "cli/format.h"
#include "cli/gradients.h"
#include "cli/lora_options.h"
#include "cli/measures_text.h"
#include "cli/model.h"
#include "cli/profile.h"
#include "cli/progress.h"
#include "cli/remarks.h"
#include "cli/train_budget.h"
#include "cli/train_data.h"
#include "cli/train_epochs.h"
#include "cli/train_log.h"
#include "cli/train_outputs.h"
#include "cli/train_report.h"

enum { EXIT_INTERRUPTED = 130 };

struct train {
    plim__args *args;
    plim__train_settings settings;
    plim__data_settings data_settings;
    plim_fit_options fit;
    plim_graph *model;
    plim_trainer *trainer;
    plim__train_data data;
    plim__train_budget budget;
    plim__train_log log;
    plim__train_report report;
    plim__progress progress;
    plim__train_epochs epochs;
    plim_error failure;     /* of what was done between steps */
    plim_error log_failure; /* the first of the log, which does not end training */
    char automatic[4096];   /* the checkpoint in the cache folder; "": none */
    uint64_t idle_bytes;
};

/* --- while it runs -------------------------------------------------------------------------------------------- */

static volatile sig_atomic_t interrupted;
static char acknowledgement[256]; /* made before signals come: a handler may do little */

/* Said at once, since the step may take long. */
static void on_signal(int number) {
    (void)number;
    int before = errno;
    if (!interrupted && write(STDERR_FILENO, acknowledgement, strlen(acknowledgement)) < 0) errno = before;
    interrupted = 1;
    errno = before;
}

/* A second signal ends the program at once. */
static void catch_signals(const struct train *t) {
    plim__terminal terminal = plim__terminal_of(STDERR_FILENO);
    plim__str text = {0};
    plim__terminal_wrap(&text,
                        "plimsoll train: stopping after this step, to save what was learned; once more: at once, "
                        "without saving",
                        terminal.is_terminal ? terminal.width : INT_MAX, 2);
    snprintf(acknowledgement, sizeof acknowledgement, "%s%s\n",
             t->progress.stream && t->progress.terminal.moves && terminal.moves ? "\r\033[J" : "",
             plim__str_text(&text));
    plim__str_free(&text);
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND | SA_RESTART};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL); /* a terminal that was closed */
}

/* Weights are worth more than their log: training goes on without it, and the exit status tells. */
static void say_log_failed(struct train *t) {
    plim__progress_clear(&t->progress);
    plim__say_note(t->args, "%s; training goes on without the log", t->log_failure.message);
}

static int between_steps(void *context, const plim_fit_event *event) {
    struct train *t = context;
    plim__activity_end();
    plim__train_epochs_seen(&t->epochs, event, t->data.validation != NULL);
    plim__progress_seen(&t->progress, event);
    if (t->log_failure.status == PLIM_OK && plim__train_log_seen(&t->log, event, &t->log_failure) != PLIM_OK)
        say_log_failed(t);
    plim_status status = plim__train_budget_poll(&t->budget, t->trainer, &t->failure);
    const char *notice = plim_budget_watch_notice(t->budget.watch);
    if (*notice) {
        plim__progress_clear(&t->progress);
        if (!plim__args_json(t->args)) plim__say_note(t->args, "%s", notice);
    }
    return interrupted || status != PLIM_OK;
}

/* Scores of a model that no class of the data has: they are trained to be never right. */
static void say_spare_classes(const struct train *t) {
    const char *wanted = t->settings.options.loss.output;
    plim_value v = wanted ? plim_graph_find(t->model, wanted) : plim_graph_output_at(t->model, 0);
    int64_t dims[PLIM_MAX_RANK], names = 0;
    if (t->settings.options.loss.kind != PLIM_LOSS_CROSS_ENTROPY || v == PLIM_NO_VALUE ||
        plim_graph_value_shape(t->model, v, dims) != 2)
        return;
    while (names < dims[1] && plim_data_class_name(t->data.data, names)) names++;
    if (names > 1 && names < dims[1]) /* one alone is refused */
        plim__say_note(t->args,
                       "note: the data has %lld classes, the model has scores for %lld: the last %lld will have no "
                       "name; zoo --classes %lld makes a model that fits",
                       (long long)names, (long long)dims[1], (long long)(dims[1] - names), (long long)names);
}

/* What the user should know before it begins. */
static void say_notes(struct train *t) {
    plim_trainer_stats stats;
    char odd[600];
    plim_trainer_get_stats(t->trainer, &stats);
    if (*plim_data_remark(t->data.data, odd, sizeof odd)) plim__say_note(t->args, "note: %s", odd);
    say_spare_classes(t);
    if (stats.accumulate > 1 && stats.prevents_split)
        plim__say_note(t->args,
                       "warning: micro-batches of %lld samples give other results than the whole batch of %lld: %s",
                       (long long)stats.micro_batch, (long long)stats.batch, stats.prevents_split);
}

/* --- what is said at the end ---------------------------------------------------------------------------------- */

static void fill_profile(const plim_trainer *trainer, plim__profile *profile) {
    *profile = (plim__profile){0};
    for (size_t i = 0; i < plim_trainer_step_count(trainer); i++) {
        plim_session_step step;
        plim_trainer_get_step(trainer, i, &step);
        plim__profile_add(profile, &step);
    }
    plim__profile_sort(profile);
}

static int64_t best_epoch(const struct train *t, const plim_fit_result *r) {
    plim_data_info info;
    plim_data_get_info(t->data.data, &info);
    return info.batches > 0 ? (r->best_update - 1) / info.batches + 1 : 1;
}

/* Which epoch was the best, and how the epochs went. */
static void say_epochs(const struct train *t, const plim_fit_result *r) {
    plim__terminal terminal = plim__terminal_of(1);
    plim__str curves = {0};
    if (r->best_update > 0)
        plim__terminal_line(stdout, "best: epoch %lld, step %lld, validation loss %.4f%s%s",
                            (long long)best_epoch(t, r), (long long)r->best_update, r->best_loss,
                            t->fit.best ? ", in " : "", plim__shown(t->fit.best));
    if (!plim__args_has(t->args, "quiet")) plim__train_epochs_draw(&t->epochs, &terminal, &curves);
    fputs(plim__str_text(&curves), stdout);
    plim__str_free(&curves);
    const plim__train_epochs *e = &t->epochs;
    if (e->measure && strcmp(e->measure, "R2") == 0 && e->count > 0 && e->curves[2][e->count - 1] < 0)
        plim__say_note(t->args, "R2 is below 0: the mean of the targets is a better answer than the model's; large "
                                "targets need a larger --lr ('plimsoll find-lr' finds one) or more epochs");
}

/* The index-th file that the run has written; NULL past the last one. */
static const char *written(const struct train *t, const plim_fit_result *r, size_t index) {
    const char *out;
    bool saves = !r->stopped || !t->fit.checkpoint;
    for (size_t i = 0; saves && (out = plim__args_get_nth(t->args, "out", i)); i++)
        if (index-- == 0) return out;
    const char *const others[] = {
        r->best_update > 0 ? t->fit.best : NULL,
        t->fit.checkpoint == t->automatic && plim__args_has(t->args, "quiet") ? NULL : t->fit.checkpoint,
        t->log.path,
        *t->log.events.path ? t->log.events.path : NULL,
        plim__args_get(t->args, "dump-gradients"),
        plim__args_get(t->args, "adapter"),
        plim__args_get(t->args, "merge"),
        t->report.trace,
        t->report.page,
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (others[i] && index-- == 0) return others[i];
    return NULL;
}

static int say_json(struct train *t, const plim_fit_result *r) {
    plim_trainer_stats stats;
    plim_data_stats data;
    plim_trainer_get_stats(t->trainer, &stats);
    plim_data_get_stats(t->data.data, &data);
    json_t *object =
        json_pack("{s:I, s:f, s:o, s:f, s:f, s:I, s:I, s:I, s:f}", "steps", (json_int_t)r->steps, "loss", r->loss,
                  "metric", r->metric >= 0 ? json_real(r->metric) : json_null(), "seconds_per_step",
                  r->seconds_per_step, "samples_per_second", r->samples_per_second, "arena_bytes",
                  (json_int_t)stats.arena_bytes, "peak_resident_bytes", (json_int_t)plim_process_resident_peak(),
                  "idle_resident_bytes", (json_int_t)t->idle_bytes, "data_wait_share", r->wait_share);
    json_object_set_new(object, "threads", json_integer(t->settings.options.threads));
    json_object_set_new(object, "validation_loss",
                        isfinite(r->best_loss) && r->validation.samples > 0 ? json_real(r->validation.loss)
                                                                            : json_null());
    json_object_set_new(object, "best_validation_loss", isfinite(r->best_loss) ? json_real(r->best_loss) : json_null());
    json_object_set_new(object, "best_step", r->best_update ? json_integer(r->best_update) : json_null());
    json_object_set_new(object, "best_epoch", r->best_update ? json_integer(best_epoch(t, r)) : json_null());
    json_t *files = json_array();
    const char *file;
    for (size_t i = 0; (file = written(t, r, i)); i++) json_array_append_new(files, json_string(file));
    json_object_set_new(object, "files", files);
    json_object_set_new(object, "epoch_loss", isfinite(t->epochs.loss) ? json_real(t->epochs.loss) : json_null());
    if (t->epochs.measures) {
        json_t *measures = json_object();
        plim__measures_json(t->epochs.measures, 0, NULL, false, measures);
        json_object_set_new(object, "validation", measures);
    }
    json_object_set_new(object, "skipped", json_integer((json_int_t)data.skipped));
    plim_progress progress = plim_trainer_progress(t->trainer);
    json_object_set_new(object, "skipped_updates", json_integer((json_int_t)progress.skipped_updates));
    json_object_set_new(object, "loss_scale", progress.loss_scale > 0 ? json_real(progress.loss_scale) : json_null());
    json_object_set_new(object, "interrupted", json_boolean(r->stopped));
    json_object_set_new(object, "stopped_early", json_boolean(r->early));
    plim__train_budget_json(&t->budget, t->trainer, object);
    if (plim__args_has(t->args, "profile")) {
        plim__profile profile;
        fill_profile(t->trainer, &profile);
        json_object_set_new(object, "profile", plim__profile_json(&profile));
    }
    return plim__say_json(t->args, object);
}

static void say_text(struct train *t, const plim_fit_result *r) {
    char peak[PLIM_BYTES_TEXT], accuracy[48] = "";
    if (r->metric >= 0)
        snprintf(accuracy, sizeof accuracy, ", %saccuracy %.2f %%", r->validation.count > 0 ? "validation " : "",
                 100 * r->metric);
    double loss = t->epochs.loss;
    plim__terminal_line(stdout, "loss %.4f%s after %lld step%s%s; %.0f samples/s, peak memory %s",
                        isnan(loss) ? r->loss : loss, accuracy, (long long)r->steps, r->steps == 1 ? "" : "s",
                        r->early ? " (ended early: validation has not improved)" : "", r->samples_per_second,
                        plim_bytes_format(plim__progress_peak(), peak));
    say_epochs(t, r);
    if (t->settings.options.budget) plim__train_budget_say(&t->budget, t->trainer);
    const char *file;
    for (size_t i = 0; (file = written(t, r, i)); i++) plim__terminal_line(stdout, "wrote %s", plim__shown(file));
    plim_data_stats data;
    plim_data_get_stats(t->data.data, &data);
    plim_progress progress = plim_trainer_progress(t->trainer);
    if (progress.loss_scale > 0)
        plim__terminal_line(stdout, "fp16: %lld of %lld updates were skipped since gradients overflowed; loss scale %g",
                            (long long)progress.skipped_updates, (long long)progress.updates, progress.loss_scale);
    if (data.skipped)
        plim__terminal_line(stdout, "%lld bad samples were left out; the last: %s", (long long)data.skipped,
                            plim__shown(plim_data_last_bad(t->data.data)));
    if (!plim__args_has(t->args, "profile")) return;
    plim__profile profile;
    fill_profile(t->trainer, &profile);
    plim__profile_print(&profile);
}

/* Interrupted: the trainable state is in the checkpoint; where there is none, in the output. */
static plim_status save_outputs(struct train *t, const plim_fit_result *r, plim_error *error) {
    const char *out;
    if (r->stopped && t->fit.checkpoint) return PLIM_OK;
    for (size_t i = 0; (out = plim__args_get_nth(t->args, "out", i)); i++) {
        plim_status status = plim_trainer_save(t->trainer, out, error);
        if (status != PLIM_OK) return status;
    }
    return plim__lora_write(t->args, t->trainer, error);
}

static void say_interrupted(struct train *t, const plim_fit_result *r) {
    const char *out = plim__args_get(t->args, "out");
    if (t->fit.checkpoint)
        plim__say_note(t->args, "stopped after step %lld; '%s' has everything, --resume goes on from there",
                       (long long)r->steps, t->fit.checkpoint);
    else
        plim__say_note(t->args, "stopped after step %lld%s%s%s", (long long)r->steps,
                       out ? "; the weights are in '" : "; nothing was saved (--checkpoint FILE would)", out ? out : "",
                       out ? "'" : "");
}

static int run_training(struct train *t) {
    plim_error error;
    plim_fit_result result;
    t->fit.on_event = between_steps;
    t->fit.context = t;
    t->fit.validation = t->data.validation;
    t->fit.measures = t->epochs.measures;
    t->progress.sums = t->log.sums = &t->epochs;
    t->progress.validates = t->log.validates = t->data.validation != NULL;
    plim_data_info info;
    plim_data_get_info(t->data.data, &info);
    t->epochs.text = strcmp(info.kind, "text") == 0 || strcmp(info.kind, "tokens") == 0;
    catch_signals(t);
    plim_status status = plim_fit(t->trainer, t->data.data, &t->fit, &result, &error);
    plim__progress_clear(&t->progress);
    plim__activity_end();
    if (status == PLIM_INTERRUPTED) status = PLIM_OK; /* result.stopped tells it from the end */
    if (status == PLIM_OK && t->failure.status != PLIM_OK) {
        error = t->failure;
        status = error.status;
    }
    if (status == PLIM_OK) status = save_outputs(t, &result, &error);
    plim_error late; /* of the report: what failed first is told */
    if (plim__train_report_end(&t->report, t->trainer, &late) != PLIM_OK && status == PLIM_OK) {
        error = late;
        status = error.status;
    }
    if (status != PLIM_OK) return plim__say_error(t->args, &error);
    if (t->log_failure.status == PLIM_OK && plim__train_log_close(&t->log, &t->log_failure) != PLIM_OK)
        say_log_failed(t);
    if (result.stopped) say_interrupted(t, &result);
    int code = PLIM_EXIT_OK;
    if (plim__args_json(t->args))
        code = say_json(t, &result);
    else
        say_text(t, &result);
    if (code != PLIM_EXIT_OK) return code;
    return result.stopped ? EXIT_INTERRUPTED : t->log_failure.status != PLIM_OK ? PLIM_EXIT_FAILURE : PLIM_EXIT_OK;
}

/* --- the command ---------------------------------------------------------------------------------------------- */

/* --weights: what is new is said, since it has to be trained. */
static plim_status make(struct train *t, const char *path, plim_error *error) {
    const char *gradients = plim__args_get(t->args, "dump-gradients");
    plim_status status = plim__train_outputs_check(t->args, &t->fit, error);
    plim__activity_say(t->args, "reading %s", path);
    if (status == PLIM_OK) status = plim_graph_load(path, &t->model, error);
    if (status == PLIM_OK) status = plim__weights_read(t->args, t->model, error);
    if (status == PLIM_OK) status = plim__lora_apply(t->args, t->model, t->settings.options.seed, error);
    if (status != PLIM_OK) return status;
    plim__remarks_say(t->args, t->model);
    plim__trained_say(t->args, t->model);
    status = plim__train_free_batch(t->args, t->model, &t->settings, error);
    if (status != PLIM_OK) return status;
    status = plim__train_data_follow(t->args, t->model, &t->settings, &t->data_settings, error);
    if (status != PLIM_OK) return status;
    if (t->settings.options.budget) plim__budget_measure_costs(t->args);
    t->idle_bytes = plim_process_resident();
    plim__activity_say(t->args, "reading %s", plim__args_get(t->args, "data"));
    t->data = (plim__train_data){.steps = t->fit.steps, .counted = t->settings.options.budget > 0};
    status = plim__train_data_open(t->args, t->model, &t->settings, &t->data_settings, &t->data, error);
    if (status == PLIM_OK && t->data.data)
        status = plim_job_write(t->model, t->data.data, &t->data_settings.options, &t->settings.options.loss, error);
    plim__activity_say(t->args, "planning");
    if (status == PLIM_OK) status = plim_trainer_create(t->model, &t->settings.options, &t->trainer, error);
    if (status == PLIM_OK)
        status = plim__train_data_follow_trainer(t->args, t->trainer, &t->data_settings, &t->data, error);
    if (status == PLIM_OK && gradients) status = plim__gradients_dump(t->trainer, t->data.data, gradients, error);
    if (status == PLIM_OK && t->data.measured)
        status = plim_measures_create(&t->data.measures, &t->epochs.measures, error);
    if (status == PLIM_OK)
        status = plim__train_log_open(&t->log, plim__args_get(t->args, "log"), plim__args_get(t->args, "tensorboard"),
                                      t->fit.resume, error);
    if (status == PLIM_OK) status = plim__train_report_begin(&t->report, t->trainer, t->args, error);
    return status;
}

static int train(struct train *t, const char *path) {
    plim_error error;
    if (make(t, path, &error) != PLIM_OK) return plim__say_error(t->args, &error);
    say_notes(t);
    plim__train_outputs_choose(t->args, t->trainer, &t->fit, t->automatic);
    plim__progress_begin(&t->progress, plim__args_json(t->args), plim__args_has(t->args, "quiet"),
                         t->fit.epochs > 0   ? t->fit.epochs
                         : t->fit.steps == 0 ? 1
                                             : 0);
    if (plim__train_budget_begin(&t->budget, t->args, &t->settings.options, &error) != PLIM_OK)
        return plim__say_error(t->args, &error);
    plim__activity_say(t->args, "preparing the first step");
    int code = run_training(t);
    plim__train_budget_end(&t->budget);
    return code;
}

static bool read_run(plim__args *args, plim_fit_options *fit) {
    const int64_t most = (int64_t)1 << 40;
    fit->best = plim__args_get(args, "best");
    fit->checkpoint = plim__args_get(args, "checkpoint");
    fit->resume = plim__args_has(args, "resume");
    fit->new_rate = fit->resume && plim__args_has(args, "lr"); /* who gives one means it */
    return plim__train_length_read(args, &fit->epochs, &fit->steps) &&
           plim__args_int(args, "patience", 1, most, &fit->patience) &&
           plim__args_int(args, "checkpoint-every", 1, most, &fit->checkpoint_every);
}

static int run(plim__args *args) {
    const char *path = plim__args_at(args, 0);
    if (!path) return plim__say_usage(args, "which model?");
    if (!plim__args_has(args, "data")) return plim__say_usage(args, "which data? give --data PATH");
    struct train t = {.args = args, .log = {.events = {.fd = -1}}};
    if (!plim__train_options_read(args, &t.settings) || !plim__data_options_read(args, &t.data_settings) ||
        !plim__budget_options_read(args, &t.settings.options) || !read_run(args, &t.fit) ||
        !plim__train_report_read(args, &t.report))
        return PLIM_EXIT_USAGE;
    if (!plim__train_plan_read(args, &t.settings.options)) return PLIM_EXIT_FAILURE;
    t.settings.options.measure = plim__args_has(args, "profile");
    t.settings.options.alternatives = t.report.page != NULL; /* the page shows them */
    t.settings.options.records = t.report.page ? 2 : t.report.trace ? 1 : 0;
    t.settings.options.log_bytes = plim__train_log_bytes(args);
    int code = train(&t, path);
    plim_error unused;
    plim__train_log_close(&t.log, &unused);
    plim_measures_free(t.epochs.measures);
    plim__train_data_free(&t.data);
    plim__data_settings_free(&t.data_settings);
    plim_trainer_free(t.trainer);
    plim_graph_free(t.model);
    return code;
}

static const plim__option options[] = {
    {"data", 'd', "PATH", "the data set: a folder of IDX files or images, or an NPY, NPZ, CSV, text or token file"},
    PLIM__TRAIN_LENGTH_OPTIONS,
    {"out", 'o', "FILE", "write the trained weights to this .onnx or .safetensors file; may be given several times"},
    {"best", 0, "FILE", "write the weights with the best validation loss to this .onnx or .safetensors file"},
    {"patience", 0, "N", "end after N validations without a better loss"},
    {"checkpoint", 0, "FILE", "keep the state of the run here: after each epoch, at the end, and when interrupted"},
    {"checkpoint-every", 0, "N", "and after every N updates"},
    {"weights", 0, "FILE",
     "begin with these weights, by name: .safetensors, its .index.json, .pt, .onnx or a checkpoint; another number of "
     "classes makes "
     "the last layer new"},
    PLIM__LORA_OPTIONS,
    {"adapter", 0, "FOLDER", "with --lora: write the adapters here, as PEFT does"},
    {"merge", 0, "FILE",
     "with --lora: write the whole model with the adapters in its weights, as .onnx or .safetensors"},
    {"resume", 0, NULL, "go on from --checkpoint, where there is one"},
    {"log", 0, "FILE", "a row for each update and each epoch with its measures: CSV in FILE.csv, else lines of JSON"},
    {"tensorboard", 0, "DIR", "the same as an event file in this folder, which TensorBoard shows"},
    {"dump-gradients", 0, "FILE", "write the gradients of the first batch to this .safetensors file"},
    {"profile", 0, NULL, "tell where the time goes, by kinds of steps"},
    {"quiet", 'q', NULL, "do not show progress"},
    PLIM__CONFIG_OPTIONS,
    PLIM__TRAIN_REPORT_OPTIONS,
    PLIM__BUDGET_OPTIONS,
    PLIM__TRAIN_OPTIONS,
    PLIM__TRAIN_DATA_OPTIONS,
    PLIM__DATA_OPTIONS,
    {0},
};

const plim__command plim__command_train = {
    .name = "train",
    .usage = "MODEL.onnx --data PATH",
    .summary = "Train a model on a data set",
    .description =
        "Loss and optimizer become part of the model's graph; the whole step is planned before it runs.\n\n"
        "--batch is the batch of one update; with --accumulate K it is computed in K parts, and the gradient is still "
        "that of the whole.\n"
        "Ctrl-C finishes the step, writes the checkpoint (without --checkpoint: the files of --out) and exits with "
        "130; --resume goes on\n"
        "as if nothing had happened.",
    .options = options,
    .examples = "  plimsoll train lenet.onnx --data /usr/share/datasets/fashion-mnist --epochs 5 --batch 256 "
                "--optimizer adamw --lr 1e-3 --out trained.onnx\n"
                "  plimsoll train model.onnx --data photos/ --validation 0.1 --best best.onnx --patience 3 --epochs "
                "100 --checkpoint run.ckpt --resume\n"
                "  plimsoll train gpt2.onnx --data book.txt --batch 16 --accumulate 4 --steps 2000 --log run.jsonl",
    .run = run,
};
