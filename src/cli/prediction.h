/* What a model's output says about a sample: classes with probabilities, or numbers; and how that is printed. */
#ifndef PLIM_CLI_PREDICTION_H
#define PLIM_CLI_PREDICTION_H

#include <stdio.h>

#include "cli/command.h"
#include "core/str.h"

typedef enum plim__prediction_format {
    PLIM__FORMAT_TABLE,
    PLIM__FORMAT_CSV,
    PLIM__FORMAT_LINES
} plim__prediction_format;

typedef struct plim__prediction {
    const plim_job *job; /* names of classes, the target's name; may be NULL */
    enum { PLIM__ONE_CLASS, PLIM__MANY_CLASSES, PLIM__PIXEL_CLASSES, PLIM__NUMBERS } kind;
    int64_t classes; /* scores of a place, or numbers of a sample */
    int64_t places;  /* of a sample: pixels; else 1 */
    bool begun;      /* the header is printed */
    int64_t top;     /* classes that are shown */
    plim__prediction_format format;
    FILE *stream;
    json_t *list; /* takes the place of the stream, with --json */
    double *shares;
    int64_t *order;
    plim__str rows;              /* as they are printed, of the samples that were added and not shown yet */
    int screen;                  /* columns of the terminal that is printed to; 0: none */
    const char *longest;         /* name that is known to come; NULL: none */
    int name_width, class_width; /* columns of a table; 0: not known yet */
} plim__prediction;

/* Reads what the output of this shape means; `loss` is what the model was trained with, NULL: not known. The caller has set
 * job, top, format, and stream or list. */
plim_status plim__prediction_begin(plim__prediction *p, int rank, const int64_t *dims, const plim_loss *loss,
                                   plim_error *error);
/* A sample that comes: a table has room for its name. Before those of a batch are added. */
void plim__prediction_room(plim__prediction *p, const char *sample);
/* One sample: its name, and classes x places scores. */
void plim__prediction_add(plim__prediction *p, const char *sample, const float *scores);
/* Writes what was added: after each batch, so that its rows are one write. */
plim_status plim__prediction_show(plim__prediction *p, plim_error *error);
void plim__prediction_end(plim__prediction *p);

#endif
