/* Numbers as printf writes them, for lists of many: the same characters in a fraction of its time. */
#ifndef PLIM_CORE_NUMBER_H
#define PLIM_CORE_NUMBER_H

#include <stddef.h>
#include <stdint.h>

enum { PLIM__NUMBER_TEXT = 352 }; /* bytes of the longest number: "%.9f" of the largest double */

/* As "%.*g" with 1 to 9 digits, "%.*f" with 0 to 9 places, "%lld"; returns the length. */
size_t plim__number_general(double value, int digits, char text[PLIM__NUMBER_TEXT]);
size_t plim__number_fixed(double value, int places, char text[PLIM__NUMBER_TEXT]);
size_t plim__number_whole(int64_t value, char text[PLIM__NUMBER_TEXT]);
/* As snprintf(text, size, "%s%lld", word, value): "row 17". */
void plim__number_name(const char *word, int64_t value, char *text, size_t size);

#endif
