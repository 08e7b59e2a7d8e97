/* How names, shapes and large numbers are written in tables. */
#ifndef PLIM_CLI_FORMAT_H
#define PLIM_CLI_FORMAT_H

#include "plimsoll/plimsoll.h"

/* Text from outside (names in a file, paths) as a terminal may get it: what is a control character becomes '?'. The text
 * itself where it has none, else one of a few buffers that are used in turn. NULL is "". */
const char *plim__shown(const char *text);

/* "16x3x224x224", "N" for symbols; "scalar" for rank 0. */
#define PLIM_SHAPE_WORDS 160
const char *plim__format_shape(const plim_graph *graph, int rank, const int64_t *dims, char text[PLIM_SHAPE_WORDS]);
/* "4.1 G", "25.6 M", "312". */
const char *plim__format_count(double number, char text[PLIM_BYTES_TEXT]);

#endif
