/* Trains a model from a file on a data set from files, and writes the trained weights.
 *
 *     train_files MODEL.onnx DATA TRAINED.onnx [STEPS]
 *
 * DATA is anything that the library reads: a folder of IDX files or of images, an NPZ or CSV file, text. */
#include <plimsoll/plimsoll.h>
#include <stdio.h>
#include <stdlib.h>

static int show(void *context, const plim_fit_event *event) {
    (void)context;
    if (event->kind == PLIM_FIT_STEP && event->updates % 50 == 1)
        printf("step %lld  loss %.4f\n", (long long)event->updates, event->step.loss);
    return 0; /* anything else would end the run */
}

int main(int argc, char **argv) {
    if (argc < 4) return fprintf(stderr, "usage: %s MODEL.onnx DATA TRAINED.onnx [STEPS]\n", argv[0]), 2;
    plim_error error;
    plim_graph *model = NULL;
    plim_trainer *trainer = NULL;
    plim_data *data = NULL;
    plim_fit_result result;
    plim_trainer_options options = {.batch = 64,
                                    .loss = plim_loss_default(PLIM_LOSS_CROSS_ENTROPY),
                                    .optimizer = plim_optimizer_default(PLIM_ADAMW),
                                    .threads = 2};
    plim_data_options reading = {.batch = options.batch, .seed = 1};
    plim_fit_options run = {.epochs = 1, .steps = argc > 4 ? atoll(argv[4]) : 0, .on_event = show};

    plim_status status = plim_graph_load(argv[1], &model, &error);
    if (status == PLIM_OK) status = plim_trainer_create(model, &options, &trainer, &error);
    if (status == PLIM_OK) status = plim_data_create(argv[2], &reading, &data, &error);
    if (status == PLIM_OK) status = plim_fit(trainer, data, &run, &result, &error);
    if (status == PLIM_OK) status = plim_trainer_save(trainer, argv[3], &error);

    if (status == PLIM_OK)
        printf("%lld steps, loss %.4f, wrote %s\n", (long long)result.steps, result.loss, argv[3]);
    else
        fprintf(stderr, "%s\n", error.message);
    plim_data_free(data);
    plim_trainer_free(trainer);
    plim_graph_free(model);
    return status == PLIM_OK ? 0 : 1;
}
