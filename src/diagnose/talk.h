/* A log, or a text about one? Articles, change descriptions and diffs quote messages that no program printed there. */
#ifndef PLIM_DIAGNOSE_TALK_H
#define PLIM_DIAGNOSE_TALK_H

#include <stdbool.h>

#include "diagnose/text.h"

/* Whether any of the words stands in the line, as written: here a blank is a blank. */
bool plim__has_any(plim__text line, const char *const *words, size_t count);

/* Words about memory rather than a failure: advice, questions, descriptions of changes. */
bool plim__is_talk(plim__text line);

/* "# Fix ...", "feat: ...": the title of a change. */
bool plim__is_change_title(plim__text line);

/* A sentence about a change, advice or a condition around `at`: "fix", "avoid", "if you". */
bool plim__is_change(plim__text line, const char *at);

/* What follows a message in a sentence about it: "... occurs when", "... errors are". */
bool plim__is_described(plim__text after);

/* A condition, a wish or a denial in front of `at` in the line. */
bool plim__is_supposed(plim__text line, const char *at);

/* A line that a diff adds or removes, among others: `line` inside `window`. */
bool plim__in_diff(plim__text window, plim__text line);

/* Somebody tells what happened to them: "I got", "my machine". Log levels ("I tensorflow/...") are not. */
bool plim__has_person(plim__text window);

#endif
