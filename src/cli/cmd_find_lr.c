/* plimsoll find-lr: which learning rate to begin with. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/activity.h"
#include "cli/budget_options.h"
#include "cli/config.h"
#include "cli/format.h"
#include "cli/lr_plot.h"
#include "cli/model.h"
#include "cli/remarks.h"
#include "cli/terminal.h"
#include "cli/train_data.h"
#include "core/clock.h"

struct search {
    plim__args *args;
    plim__train_settings settings;
    plim__data_settings data_settings;
    plim__train_data data;
    plim_graph *model;
    plim_trainer *trainer;
    plim__lr_curve curve;
    double least, most;
    int64_t steps;
    bool diverged;
    double said; /* when the terminal was told last */
    plim_fit_result result;
};

/* The loss is smoothed as it comes; four times the best one is the end. */
static int see_step(void *context, const plim_fit_event *event) {
    struct search *s = context;
    if (event->kind != PLIM_FIT_STEP) return 0;
    plim__lr_curve_add(&s->curve, event->step.rate, event->step.loss);
    s->diverged = plim__lr_curve_diverges(&s->curve);
    double now = plim__clock_seconds();
    if (now - s->said > 0.2) {
        plim__activity_say(s->args, "update %zu of %lld, rate %.1e, loss %.4g", s->curve.count, (long long)s->steps,
                           event->step.rate, event->step.loss);
        s->said = now;
    }
    return s->diverged;
}

/* Rates grow by the same factor from update to update: a step schedule that steps each time. */
static void set_schedule(struct search *s) {
    plim_trainer_options *o = &s->settings.options;
    o->optimizer.rate = s->least;
    o->schedule = (plim_schedule){.kind = PLIM_STEP, .every = 1};
    o->schedule.gamma = pow(s->most / s->least, 1.0 / (double)(s->steps > 1 ? s->steps - 1 : 1));
}

static plim_status make(struct search *s, const char *path, plim_error *error) {
    plim__activity_say(s->args, "reading %s", path);
    plim_status status = plim_graph_load(path, &s->model, error);
    plim__activity_end();
    if (status == PLIM_OK) status = plim__weights_read(s->args, s->model, error);
    if (status != PLIM_OK) return status;
    plim__remarks_say(s->args, s->model);
    status = plim__train_free_batch(s->args, s->model, &s->settings, error);
    if (status == PLIM_OK) status = plim__train_data_follow(s->args, s->model, &s->settings, &s->data_settings, error);
    if (status != PLIM_OK) return status;
    plim__activity_say(s->args, "reading %s", plim__args_get(s->args, "data"));
    s->data = (plim__train_data){.steps = s->steps, .counted = s->settings.options.budget > 0};
    status = plim__train_data_open(s->args, s->model, &s->settings, &s->data_settings, &s->data, error);
    plim__activity_say(s->args, "planning");
    if (status == PLIM_OK) status = plim_trainer_create(s->model, &s->settings.options, &s->trainer, error);
    if (status == PLIM_OK)
        status = plim__train_data_follow_trainer(s->args, s->trainer, &s->data_settings, &s->data, error);
    return status;
}

/* A loss that is not finite is an end as good as any. */
static plim_status search(struct search *s, plim_error *error) {
    plim_fit_options fit = {.steps = s->steps, .on_event = see_step, .context = s};
    plim_status status = plim_fit(s->trainer, s->data.data, &fit, &s->result, error);
    if (status == PLIM_NUMERIC && s->curve.count > 0) s->diverged = true;
    if (status == PLIM_INTERRUPTED || (status == PLIM_NUMERIC && s->curve.count > 0)) return PLIM_OK;
    return status;
}

static json_t *curve_json(const plim__lr_curve *c) {
    json_t *list = json_array();
    for (size_t i = 0; i < c->count; i++)
        json_array_append_new(
            list, json_pack("{s:f, s:f, s:f}", "rate", c->rates[i], "loss", c->losses[i], "smoothed", c->smooth[i]));
    return list;
}

static int say(const struct search *s, double found) {
    const char *plot = plim__args_get(s->args, "plot");
    if (plim__args_json(s->args))
        return plim__say_json(
            s->args, json_pack("{s:o, s:I, s:f, s:b, s:o}", "rate", found > 0 ? json_real(found) : json_null(), "steps",
                               (json_int_t)s->curve.count, "seconds_per_step", s->result.seconds_per_step, "diverged",
                               s->diverged, "curve", curve_json(&s->curve)));
    plim__lr_curve_print(&s->curve, found);
    if (found > 0)
        plim__terminal_line(stdout, "learning rate %.1e: the loss falls fastest there; begin with --lr %.1e", found,
                            found);
    else
        plim__terminal_line(stdout, "%s",
                            "no learning rate: the loss does not fall; try --from and --to, or look at data and loss");
    if (!s->diverged)
        plim__terminal_line(stdout, "the loss never left its way up to %.1e; --to tries larger rates", s->most);
    if (plot) plim__terminal_line(stdout, "wrote %s", plim__shown(plot));
    return PLIM_EXIT_OK;
}

static int find(struct search *s, const char *path) {
    const char *plot = plim__args_get(s->args, "plot");
    plim_error error;
    plim_status status = plot ? plim_output_check(plot, PLIM_OUTPUT_RECORD, &error) : PLIM_OK;
    if (status == PLIM_OK) status = make(s, path, &error);
    if (status == PLIM_OK) plim__activity_say(s->args, "the first update");
    if (status == PLIM_OK) status = search(s, &error);
    plim__activity_end();
    double found = status == PLIM_OK ? plim__lr_curve_find(&s->curve) : 0;
    if (status == PLIM_OK && plot) status = plim__lr_curve_save(&s->curve, found, plot, &error);
    return status == PLIM_OK ? say(s, found) : plim__say_error(s->args, &error);
}

static int run(plim__args *args) {
    static struct search s;
    const char *path = plim__args_at(args, 0);
    if (!path) return plim__say_usage(args, "which model?");
    if (plim__args_count(args) > 1)
        return plim__say_usage(args, "'%s' is one argument too many", plim__args_at(args, 1));
    if (!plim__args_has(args, "data")) return plim__say_usage(args, "which data? give --data PATH");
    s = (struct search){.args = args, .least = 1e-7, .most = 10, .steps = 100};
    if (!plim__train_options_read(args, &s.settings) || !plim__data_options_read(args, &s.data_settings) ||
        !plim__budget_options_read(args, &s.settings.options) ||
        !plim__args_int(args, "steps", 10, PLIM__LR_MOST, &s.steps) || !plim__args_double(args, "from", &s.least) ||
        !plim__args_double(args, "to", &s.most))
        return PLIM_EXIT_USAGE;
    static const char *const without[] = {"lr", "schedule", "warmup", "lr-step", "lr-gamma", "lr-least"};
    for (size_t i = 0; i < sizeof without / sizeof *without && !plim__args_has(args, "config"); i++)
        if (plim__args_has(args, without[i])) return plim__say_usage(args, "--%s has no effect here", without[i]);
    if (!(s.least > 0 && s.most > s.least && isfinite(s.most)))
        return plim__say_usage(args, "--from and --to: a range of rates, from more than 0 up");
    plim__lr_curve_begin(&s.curve, s.steps);
    set_schedule(&s);
    int code = find(&s, path);
    plim__train_data_free(&s.data);
    plim__data_settings_free(&s.data_settings);
    plim_trainer_free(s.trainer);
    plim_graph_free(s.model);
    return code;
}

static const plim__option options[] = {
    {"data", 'd', "PATH", "the data set, as for train"},
    {"steps", 0, "N", "updates to try, at most 10000; the default is 100"},
    {"from", 0, "X", "the first learning rate; the default is 1e-7"},
    {"to", 0, "X", "the last one; the default is 10"},
    {"plot", 0, "FILE.svg", "draw the losses to this file"},
    {"weights", 0, "FILE", "begin with these weights, as for train"},
    PLIM__CONFIG_OPTIONS,
    PLIM__BUDGET_OPTIONS,
    PLIM__TRAIN_OPTIONS,
    PLIM__TRAIN_DATA_OPTIONS,
    PLIM__DATA_OPTIONS,
    {NULL, 0, NULL, NULL},
};

const plim__command plim__command_find_lr = {
    .name = "find-lr",
    .usage = "MODEL.onnx --data PATH",
    .summary = "Find a learning rate to begin with",
    .description =
        "Trains for some updates while the learning rate grows from --from to --to, and ends when the loss is four "
        "times its best.\n"
        "The rate at which the smoothed loss falls fastest is a good one to begin with. Nothing is saved.",
    .options = options,
    .examples = "  plimsoll find-lr lenet.onnx --data /usr/share/datasets/fashion-mnist --batch 64 --plot rates.svg\n"
                "  plimsoll find-lr --config run.toml",
    .run = run,
};
