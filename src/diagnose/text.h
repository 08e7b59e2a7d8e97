/* Taking numbers and words out of cleaned log text: a cursor and a small pattern language.
 *
 * Messages reach us wrapped, glued and cut, so a blank in a pattern stands for any amount of white space,
 * none included, and a hyphen may be followed by some (word wraps break there). Letters match in any case.
 *
 *   ' '  white space, line ends and the two-character escapes \n \t \r of JSON, or nothing
 *   %S   a size with a unit: "14.57 GiB", "1.51G", "512 bytes", "98.000244MB"   -> plim_amount *, not exact
 *   %n   an integer, thousands commas allowed                                   -> plim_amount *, exact
 *   %N   a size with a unit, or an integer number of bytes that is not cut off  -> plim_amount *
 *   %g   a decimal number of GiB without its unit, %m of MiB                    -> plim_amount *, not exact
 *   %i   an integer                                                             -> int64_t *
 *   %f   a decimal number, ignored
 *   %w   a run of characters other than white space, ignored
 *   %%   a percent sign
 */
#ifndef PLIM_DIAGNOSE_TEXT_H
#define PLIM_DIAGNOSE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plimsoll/diagnose.h"

typedef struct plim__text {
    const char *at, *end;
} plim__text;

/* Matches at the cursor; on success the cursor stands behind the match, on failure nothing changes. */
bool plim__take(plim__text *text, const char *pattern, ...);
/* Finds the first match that begins within `reach` bytes of the cursor; the cursor then stands behind it. */
bool plim__seek(plim__text *text, size_t reach, const char *pattern, ...);
/* Whether the literal occurs within the next `reach` bytes. */
bool plim__has(plim__text text, size_t reach, const char *literal);
/* Whether the literal occurs in the `reach` bytes before `at` (not before `begin`). */
bool plim__has_before(const char *begin, const char *at, size_t reach, const char *literal);

void plim__skip_blank(plim__text *text);
void plim__step_over_wrap(plim__text *text, char wanted);

/* "[1,224, 224]" without its brackets: the dimensions up to `close`. Returns the rank, or -1. `cut` allows the text
 * to end inside. */
int plim__take_dims(plim__text *text, char close, int64_t shape[PLIM_EXPLANATION_DIMS]);
/* A word of letters, digits and underscores; "" when there is none. */
void plim__take_word(plim__text *text, char *word, size_t size);

/* NumPy's word for a framework's: "float" -> "float32", "s8" -> "int8"; false when unknown. */
bool plim__dtype_word(const char *name, char *numpy, size_t size);
/* Bytes of one element of a NumPy dtype word; 0 when unknown. */
uint64_t plim__dtype_item(const char *numpy);
/* product(shape) * item; false on overflow, on a negative dimension or an unknown item. */
bool plim__dims_bytes(const int64_t *shape, int rank, uint64_t item, uint64_t *bytes);

plim_amount plim__exact(uint64_t bytes);
plim_amount plim__rounded(double bytes);

#endif
