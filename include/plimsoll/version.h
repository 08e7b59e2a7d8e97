/* The version of the library: of these headers, and of the one that is linked. CMake reads it from here. */
#ifndef PLIMSOLL_VERSION_H
#define PLIMSOLL_VERSION_H

#include "plimsoll/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PLIM_VERSION_MAJOR 0
#define PLIM_VERSION_MINOR 1
#define PLIM_VERSION_PATCH 0

#define PLIM_VERSION_TEXT_(number) #number
#define PLIM_VERSION_TEXT(number)  PLIM_VERSION_TEXT_(number)
/* "0.1.0" */
#define PLIM_VERSION_STRING                                                                                            \
    PLIM_VERSION_TEXT(PLIM_VERSION_MAJOR)                                                                              \
    "." PLIM_VERSION_TEXT(PLIM_VERSION_MINOR) "." PLIM_VERSION_TEXT(PLIM_VERSION_PATCH)
/* For comparisons: #if PLIM_VERSION >= PLIM_VERSION_NUMBER(0, 2, 0) */
#define PLIM_VERSION_NUMBER(major, minor, patch) ((major)*10000 + (minor)*100 + (patch))
#define PLIM_VERSION                             PLIM_VERSION_NUMBER(PLIM_VERSION_MAJOR, PLIM_VERSION_MINOR, PLIM_VERSION_PATCH)

/* The version of the library that runs, which may be newer than these headers: "0.1.0". */
PLIM_API const char *plim_version(void);

#ifdef __cplusplus
}
#endif
#endif
