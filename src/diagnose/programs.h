/* The table of programs: how each is recognised in a log, and the flag or call that each lever on memory has there.
 *
 *   a log ──→ marks (context.c) ──→ the program ──→ what it was doing (phase, or what it is usually for)
 *                                                        └──→ that activity's order of levers ──→ the program's settings
 *
 * Adding a program is adding a row; docs/causes.md is printed from it. Which levers exist, what speaks against each and in
 * which order they are tried stands in programs.c. A setting has the slots of fixes.h.
 */
#ifndef PLIM_DIAGNOSE_PROGRAMS_H
#define PLIM_DIAGNOSE_PROGRAMS_H

#include <stdbool.h>
#include <stddef.h>

#include "diagnose/conditions.h"
#include "diagnose/fixes.h"
#include "diagnose/levers.h"

/* What a program was doing; the first three are also what one is usually for. */
typedef enum plim__activity {
    PLIM_ACTIVITY_TRAIN,
    PLIM_ACTIVITY_INFER,
    PLIM_ACTIVITY_SERVE,
    PLIM_ACTIVITY_START,   /* a server loads its weights */
    PLIM_ACTIVITY_TRIAL,   /* a server tries its largest batch */
    PLIM_ACTIVITY_CAPTURE, /* a server captures graphs of its calls */
    PLIM_ACTIVITY_LOAD,
    PLIM_ACTIVITY_UPDATE,
    PLIM_ACTIVITY_EVAL,
    PLIM_ACTIVITY_HOST,
    PLIM_ACTIVITY_BIG, /* one request beyond all reason: what shrinks it comes first */
    PLIM_ACTIVITY_COUNT
} plim__activity;

enum { PLIM_PROGRAM_LEVERS = 12 };

typedef struct plim__program {
    const char *name;
    const char *marks; /* what it prints: its paths, commands and options; "/" stands for "\" too */
    const char *names; /* how people call it; weaker than any mark */
    plim__activity usual;
    const char *framework; /* what it is built on; NULL: PyTorch */
    bool images;           /* its setting for the input is that of images, where it has them */
    int batch;             /* its default batch; 0: not known */
    const char *order;     /* of its usual activity, in the levers' words; NULL: as for all */
    struct {
        plim__lever lever;
        const char *setting; /* NULL behind the last */
    } levers[PLIM_PROGRAM_LEVERS];
} plim__program;

/* The program's setting for a lever, NULL where it has none. */
const char *plim__program_setting(const plim__program *program, plim__lever lever);

/* The tables, the particular before the general: programs_train.c, programs_use.c, programs_more.c, programs_field.c. */
extern const plim__program plim__programs_train[], plim__programs_use[], plim__programs_more[], plim__programs_field[],
    plim__programs_general[];
extern const size_t plim__programs_train_count, plim__programs_use_count, plim__programs_more_count,
    plim__programs_field_count, plim__programs_general_count;
size_t plim__program_count(void);
const plim__program *plim__program_at(size_t index);

/* Takes note that the program of that name printed something. */
void plim__program_note(plim__program_set *set, const char *name);

/* The program that the log is of: one that printed something in it, else one that it names; NULL for none. */
const plim__program *plim__program_find(const plim__case *c);

/* The n-th lever to try in this case with the program's setting for it; false behind the last. */
typedef struct plim__lever_row {
    plim__saving saving;
    int cost;
    const char *title, *setting;
    plim__lever lever;
} plim__lever_row;
bool plim__program_lever(const plim__program *program, const plim__case *c, size_t n, plim__lever_row *row);

/* A lever as it is for all programs, without a setting. */
void plim__lever_default(plim__lever lever, plim__lever_row *row);
/* What must hold for it beside an order's place. */
const char *plim__lever_when(plim__lever lever);

/* Whether other programs and scripts stand on it. */
bool plim__program_is_library(const plim__program *program);

/* For the page of causes. */
const char *plim__lever_title(plim__lever lever);
/* Whether every word of every order is a lever that the program has; for the test of the table. */
bool plim__program_is_valid(const plim__program *program);

#endif
