/* plimsoll train: a model, data, and a loss that falls. */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cli/budget_options.h"
#include "cli/gradients.h"
#include "cli/profile.h"
#include "cli/progress.h"
#include "cli/train_budget.h"
#include "cli/train_data.h"
#include "cli/train_log.h"
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
    plim_error failure;     /* of what was done between steps */
    plim_error log_failure; /* the first of the log, which does not end training */
    uint64_t idle_bytes;
};

/* --- while it runs -------------------------------------------------------------------------------------------- */

static volatile sig_atomic_t interrupted;

static void on_signal(int number) {
    (void)number;
    interrupted = 1;
}

/* A second signal ends the program at once. */
static void catch_signals(void) {
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND | SA_RESTART};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL); /* a terminal that was closed */
}

/* Weights are worth more than their log: training goes on without it, and the exit status tells. */
static void say_log_failed(struct train *t) {
    plim__progress_clear(&t->progress);
    fprintf(stderr, "plimsoll train: %s; training goes on without the log\n", t->log_failure.message);
}

static int between_steps(void *context, const plim_fit_event *event) {
    struct train *t = context;
    plim__progress_seen(&t->progress, event);
    if (t->log_failure.status == PLIM_OK && plim__train_log_seen(&t->log, event, &t->log_failure) != PLIM_OK)
        say_log_failed(t);
    plim_status status = plim__train_budget_poll(&t->budget, t->trainer, &t->failure);
    const char *notice = plim_budget_watch_notice(t->budget.watch);
    if (*notice) {
        plim__progress_clear(&t->progress);
        if (!plim__args_json(t->args)) fprintf(stderr, "plimsoll train: %s\n", notice);
    }
    return interrupted || status != PLIM_OK;
}

/* What the user should know before it begins. */
static void say_notes(struct train *t) {
    plim_trainer_stats stats;
    plim_trainer_get_stats(t->trainer, &stats);
    if (stats.accumulate > 1 && stats.prevents_split)
        fprintf(stderr,
                "plimsoll train: note: micro-batches of %lld samples give other results than the whole batch of %lld: "
                "%s\n",
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
    json_object_set_new(object, "validation_loss",
                        isfinite(r->best_loss) && r->validation.samples > 0 ? json_real(r->validation.loss)
                                                                            : json_null());
    json_object_set_new(object, "best_validation_loss", isfinite(r->best_loss) ? json_real(r->best_loss) : json_null());
    json_object_set_new(object, "skipped", json_integer((json_int_t)data.skipped));
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
    printf("loss %.4f%s after %lld steps%s; %.0f samples/s, peak memory %s\n", r->loss, accuracy, (long long)r->steps,
           r->early ? " (ended early: validation has not improved)" : "", r->samples_per_second,
           plim_bytes_format(plim_process_resident_peak(), peak));
    if (t->settings.options.budget) plim__train_budget_say(&t->budget, t->trainer);
    const char *out;
    for (size_t i = 0; (out = plim__args_get_nth(t->args, "out", i)) && !r->stopped; i++) printf("wrote %s\n", out);
    if (t->report.trace) printf("wrote %s\n", t->report.trace);
    if (t->report.page) printf("wrote %s\n", t->report.page);
    plim_data_stats data;
    plim_data_get_stats(t->data.data, &data);
    if (data.skipped)
        printf("%lld bad samples were left out; the last: %s\n", (long long)data.skipped,
               plim_data_last_bad(t->data.data));
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
    return PLIM_OK;
}

static void say_interrupted(struct train *t, const plim_fit_result *r) {
    const char *out = plim__args_get(t->args, "out");
    if (t->fit.checkpoint)
        fprintf(stderr, "plimsoll train: stopped after step %lld; '%s' has everything, --resume goes on from there\n",
                (long long)r->steps, t->fit.checkpoint);
    else
        fprintf(stderr, "plimsoll train: stopped after step %lld%s%s%s\n", (long long)r->steps,
                out ? "; the weights are in '" : "; nothing was saved (--checkpoint FILE would)", out ? out : "",
                out ? "'" : "");
}

static int run_training(struct train *t) {
    plim_error error;
    plim_fit_result result;
    t->fit.on_event = between_steps;
    t->fit.context = t;
    t->fit.validation = t->data.validation;
    catch_signals();
    plim_status status = plim_fit(t->trainer, t->data.data, &t->fit, &result, &error);
    plim__progress_clear(&t->progress);
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

/* Weights that cannot be written are reported before training, not after hours of it. */
static plim_status check_outputs(const struct train *t, plim_error *error) {
    const char *out;
    plim_status status = PLIM_OK;
    for (size_t i = 0; status == PLIM_OK && (out = plim__args_get_nth(t->args, "out", i)); i++)
        status = plim_trainer_can_save(out, error);
    if (status == PLIM_OK && t->fit.best) status = plim_trainer_can_save(t->fit.best, error);
    return status;
}

static plim_status make(struct train *t, const char *path, plim_error *error) {
    const char *gradients = plim__args_get(t->args, "dump-gradients");
    plim_status status = check_outputs(t, error);
    if (status == PLIM_OK) status = plim_graph_load(path, &t->model, error);
    if (status != PLIM_OK) return status;
    plim__train_data_follow(t->args, t->model, &t->settings, &t->data_settings);
    if (t->settings.options.budget) plim__budget_measure_costs(t->args);
    t->idle_bytes = plim_process_resident();
    t->data = (plim__train_data){.steps = t->fit.steps, .counted = t->settings.options.budget > 0};
    status = plim__train_data_open(t->args, &t->settings, &t->data_settings, &t->data, error);
    if (status == PLIM_OK) status = plim_trainer_create(t->model, &t->settings.options, &t->trainer, error);
    if (status == PLIM_OK)
        status = plim__train_data_follow_trainer(t->args, t->trainer, &t->data_settings, &t->data, error);
    if (status == PLIM_OK && gradients) status = plim__gradients_dump(t->trainer, t->data.data, gradients, error);
    if (status == PLIM_OK) status = plim__train_log_open(&t->log, plim__args_get(t->args, "log"), t->fit.resume, error);
    if (status == PLIM_OK) status = plim__train_report_begin(&t->report, t->trainer, t->args, error);
    return status;
}

static int train(struct train *t, const char *path) {
    plim_error error;
    if (make(t, path, &error) != PLIM_OK) return plim__say_error(t->args, &error);
    say_notes(t);
    plim__progress_begin(&t->progress, plim__args_json(t->args), plim__args_has(t->args, "quiet"),
                         t->fit.epochs > 0   ? t->fit.epochs
                         : t->fit.steps == 0 ? 1
                                             : 0);
    if (plim__train_budget_begin(&t->budget, t->args, &t->settings.options, &error) != PLIM_OK)
        return plim__say_error(t->args, &error);
    int code = run_training(t);
    plim__train_budget_end(&t->budget);
    return code;
}

static bool read_run(plim__args *args, plim_fit_options *fit) {
    const int64_t most = (int64_t)1 << 40;
    fit->best = plim__args_get(args, "best");
    fit->checkpoint = plim__args_get(args, "checkpoint");
    fit->resume = plim__args_has(args, "resume");
    bool validates = plim__args_has(args, "val") || plim__args_has(args, "validation");
    if ((fit->resume || plim__args_has(args, "checkpoint-every")) && !fit->checkpoint)
        return plim__say_usage(args, "--resume and --checkpoint-every need --checkpoint FILE"), false;
    if ((fit->best || plim__args_has(args, "patience")) && !validates)
        return plim__say_usage(args, "--best and --patience need --val PATH or --validation SHARE"), false;
    return plim__args_int(args, "epochs", 1, most, &fit->epochs) &&
           plim__args_int(args, "steps", 1, most, &fit->steps) &&
           plim__args_int(args, "patience", 1, most, &fit->patience) &&
           plim__args_int(args, "checkpoint-every", 1, most, &fit->checkpoint_every);
}

static int run(plim__args *args) {
    const char *path = plim__args_at(args, 0);
    if (!path) return plim__say_usage(args, "which model?");
    if (plim__args_count(args) > 1)
        return plim__say_usage(args, "'%s' is one argument too many", plim__args_at(args, 1));
    if (!plim__args_has(args, "data")) return plim__say_usage(args, "which data? give --data PATH");
    struct train t = {.args = args};
    if (!plim__train_options_read(args, &t.settings) || !plim__data_options_read(args, &t.data_settings) ||
        !plim__budget_options_read(args, &t.settings.options) || !read_run(args, &t.fit) ||
        !plim__train_report_read(args, &t.report))
        return PLIM_EXIT_USAGE;
    if (!plim__train_plan_read(args, &t.settings.options)) return PLIM_EXIT_FAILURE;
    t.settings.options.measure = plim__args_has(args, "profile");
    t.settings.options.alternatives = t.report.page != NULL; /* the page shows them */
    t.settings.options.records = t.report.page ? 2 : t.report.trace ? 1 : 0;
    int code = train(&t, path);
    plim_error unused;
    plim__train_log_close(&t.log, &unused);
    plim__train_data_free(&t.data);
    plim_trainer_free(t.trainer);
    plim_graph_free(t.model);
    return code;
}

static const plim__option options[] = {
    {"data", 'd', "PATH", "the data set: a folder of IDX files or images, or an NPY, NPZ, CSV, text or token file"},
    {"epochs", 'e', "N", "passes over the data; the default is 1"},
    {"steps", 0, "N", "at most N updates"},
    {"out", 'o', "FILE", "write the trained weights to this .onnx or .safetensors file; may be given several times"},
    {"best", 0, "FILE", "write the weights with the best validation loss to this .onnx or .safetensors file"},
    {"patience", 0, "N", "end after N validations without a better loss"},
    {"checkpoint", 0, "FILE", "keep the state of the run here: after each epoch, at the end, and when interrupted"},
    {"checkpoint-every", 0, "N", "and after every N updates"},
    {"resume", 0, NULL, "go on from --checkpoint, where there is one"},
    {"log", 0, "FILE", "one line of JSON for each update and validation"},
    {"dump-gradients", 0, "FILE", "write the gradients of the first batch to this .safetensors file"},
    {"profile", 0, NULL, "tell where the time goes, by kinds of steps"},
    {"quiet", 'q', NULL, "do not show progress"},
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
