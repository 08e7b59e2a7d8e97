/* Trains on arrays that the program holds, within a budget, with a callback: which quarter of a small image is bright? */
#include <plimsoll/plimsoll.h>
#include <stdio.h>
#include <stdlib.h>

enum { SAMPLES = 4096, SIDE = 8, CLASSES = 4, BATCH = 128 };
static uint8_t images[SAMPLES][1][SIDE][SIDE]; /* bytes 0..255 arrive at the model as 0..1 */
static int64_t labels[SAMPLES];

static void make_images(void) {
    for (int n = 0; n < SAMPLES; n++) {
        labels[n] = rand() % CLASSES;
        for (int i = 0; i < SIDE * SIDE; i++) {
            int quarter = 2 * (i / SIDE >= SIDE / 2) + (i % SIDE >= SIDE / 2);
            images[n][0][i / SIDE][i % SIDE] = (uint8_t)(rand() % 128 + (quarter == labels[n] ? 64 : 0));
        }
    }
}

/* After each update, validation and checkpoint. */
static int on_event(void *best, const plim_fit_event *event) {
    if (event->kind != PLIM_FIT_STEP) return 0;
    if (event->step.loss < *(double *)best) *(double *)best = event->step.loss;
    if (event->position == event->epoch_samples)
        printf("epoch %lld  loss %.4f\n", (long long)event->epoch, event->step.loss);
    return event->step.loss < 1e-3; /* anything but 0 ends the run: PLIM_INTERRUPTED */
}

int main(int argc, char **argv) {
    plim_error error = {0};
    plim_graph *model = NULL;
    plim_data *data = NULL;
    plim_trainer *trainer = NULL;
    double best = 1e9;
    plim_zoo_options sizes = {.image = SIDE, .channels = 1, .width = 32, .classes = CLASSES};
    plim_data_array arrays[] = {{"image", PLIM_U8, 4, (int64_t[]){SAMPLES, 1, SIDE, SIDE}, images, 0},
                                {"label", PLIM_I64, 1, (int64_t[]){SAMPLES}, labels, 1}};
    plim_trainer_options options = {.batch = BATCH, .samples = SAMPLES, .optimizer = {.rate = 0.05, .momentum = 0.9}};
    plim_fit_options run = {.epochs = 5, .on_event = on_event, .context = &best};

    make_images();
    plim_status status = plim_bytes_parse(argc > 1 ? argv[1] : "256MiB", &options.budget, &error);
    if (status == PLIM_OK) status = plim_zoo_create("mlp", &sizes, &model, &error);
    if (status == PLIM_OK)
        status = plim_data_create_arrays(arrays, 2, &(plim_data_options){.batch = BATCH}, &data, &error);
    if (status == PLIM_OK) status = plim_trainer_create(model, &options, &trainer, &error);
    if (status == PLIM_OK) status = plim_fit(trainer, data, &run, NULL, &error);
    if (status == PLIM_OK || status == PLIM_INTERRUPTED)
        printf("best loss %.4f, peak memory %llu bytes\n", best, (unsigned long long)plim_process_resident_peak());
    else if (status == PLIM_BUDGET) /* the message names the smallest budget that works */
        fprintf(stderr, "does not fit: %s\n", error.message);
    else
        fprintf(stderr, "%s: %s\n", plim_status_name(status), error.message);
    plim_trainer_free(trainer);
    plim_data_free(data);
    plim_graph_free(model);
    return status == PLIM_OK || status == PLIM_INTERRUPTED ? 0 : 1;
}
