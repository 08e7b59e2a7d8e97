/* What the epochs of a run came to: the mean training loss of each, the measures of its validation, their curves. */
#ifndef PLIM_CLI_TRAIN_EPOCHS_H
#define PLIM_CLI_TRAIN_EPOCHS_H

#include "cli/command.h"
#include "cli/terminal.h"

enum { PLIM__EPOCHS_SHOWN = 256, PLIM__EPOCH_CURVES = 3 };

typedef struct plim__train_epochs {
    plim_measures *measures;                               /* of validation; NULL: there are none */
    bool text;                                             /* the loss is that of tokens: perplexity is told */
    double loss;                                           /* the mean of the last epoch, as far as it went */
    const char *measure;                                   /* what the third curve is of; NULL: there is none */
    double curves[PLIM__EPOCH_CURVES][PLIM__EPOCHS_SHOWN]; /* training loss, validation loss, a measure; NaN: none. When
                                                              they are full, every second epoch goes */
    size_t count, stride, seen;
} plim__train_epochs;

/* Before progress and log see the event. */
void plim__train_epochs_seen(plim__train_epochs *epochs, const plim_fit_event *event, bool validates);
/* Whether this step ended its epoch. */
bool plim__train_epochs_ends(const plim_fit_event *event);
/* The curves, a line each with the first and the last value (on a narrow terminal the last); nothing for fewer than three epochs. */
void plim__train_epochs_draw(const plim__train_epochs *epochs, const plim__terminal *terminal, plim__str *out);

#endif
