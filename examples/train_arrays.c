/* Trains on arrays that the program holds in memory, with a loop of its own: which quarter of a small image is bright? */
#include <plimsoll/plimsoll.h>
#include <stdio.h>
#include <stdlib.h>

enum { SAMPLES = 4096, SIDE = 8, CLASSES = 4 };
static uint8_t images[SAMPLES][1][SIDE][SIDE]; /* bytes 0..255 arrive at the model as 0..1 */
static int64_t labels[SAMPLES];

static void make_images(void) {
    srand(1);
    for (int n = 0; n < SAMPLES; n++) {
        labels[n] = rand() % CLASSES;
        for (int y = 0; y < SIDE; y++)
            for (int x = 0; x < SIDE; x++) {
                int quarter = 2 * (y >= SIDE / 2) + (x >= SIDE / 2);
                images[n][0][y][x] = (uint8_t)(rand() % 128 + (quarter == labels[n] ? 64 : 0));
            }
    }
}

static plim_status train(plim_trainer *trainer, plim_data *data, plim_error *error) {
    plim_feed feed; /* which array is which input of the model */
    plim_status status = plim_trainer_match(trainer, data, &feed, error);
    while (status == PLIM_OK) {
        plim_data_batch rows;
        plim_step_result step;
        status = plim_data_next(data, &rows, error);
        if (status != PLIM_OK || rows.count == 0) break; /* 0: all epochs are over */
        plim_batch batch = plim_feed_batch(trainer, &feed, &rows);
        status = plim_trainer_step(trainer, &batch, &step, error);
        if (status == PLIM_OK && rows.last)
            printf("epoch %lld  loss %.4f  right %.0f of %.0f\n", (long long)rows.epoch, step.loss, step.correct,
                   step.targets);
    }
    return status;
}

int main(void) {
    plim_error error;
    plim_graph *model = NULL;
    plim_trainer *trainer = NULL;
    plim_data *data = NULL;
    plim_zoo_options sizes = {.image = SIDE, .channels = 1, .width = 32, .classes = CLASSES};
    plim_trainer_options options = {.batch = 128,
                                    .loss = plim_loss_default(PLIM_LOSS_CROSS_ENTROPY),
                                    .optimizer = plim_optimizer_default(PLIM_SGD)};
    options.optimizer.rate = 0.05;
    options.optimizer.momentum = 0.9;
    plim_data_array arrays[] = {
        {"image", PLIM_U8, 4, (int64_t[]){SAMPLES, 1, SIDE, SIDE}, images, 0},
        {"label", PLIM_I64, 1, (int64_t[]){SAMPLES}, labels, 1},
    };

    make_images();
    plim_status status = plim_zoo_create("mlp", &sizes, &model, &error);
    if (status == PLIM_OK) status = plim_trainer_create(model, &options, &trainer, &error);
    if (status == PLIM_OK)
        status = plim_data_create_arrays(arrays, 2, &(plim_data_options){.batch = options.batch, .epochs = 5}, &data,
                                         &error);
    if (status == PLIM_OK) status = train(trainer, data, &error);

    if (status != PLIM_OK) fprintf(stderr, "%s\n", error.message);
    plim_data_free(data);
    plim_trainer_free(trainer);
    plim_graph_free(model);
    return status == PLIM_OK ? 0 : 1;
}
