/* How many bytes a lever gives, by the size of the model that is named. */
#ifndef PLIM_DIAGNOSE_WEIGH_H
#define PLIM_DIAGNOSE_WEIGH_H

#include "diagnose/conditions.h"
#include "diagnose/programs.h"

/* How many parameters the model has by its name in the log ("llama-7b": 7e9), or by a figure of its own ("a 7B model")
 * unless only names count; 0 where there is none. */
double plim__parameters_read(plim__text log, bool names_only);

/* What the lever gives for a model of that size. */
typedef struct plim__weight {
    plim_amount saving;
    int reaches;    /* 1 and 0: the weights fit the device afterwards or do not; -1: not known */
    char note[120]; /* how it was calculated */
} plim__weight;
bool plim__weigh(plim__lever lever, const plim__case *c, plim__weight *made);

/* "70 B parameters take 130.39 GiB in 16 bits": what a model needs, where the device has less; false where it has not. */
bool plim__weights_sentence(const plim__case *c, char *to, size_t size);

/* Whether the weights alone, in 16 bits, are more than the device has. */
bool plim__weights_exceed(const plim__case *c);

/* Whether weights, gradients and Adam's state of the model that is named are more than the device has. */
bool plim__state_exceeds(const plim__case *c);

#endif
