/* cmocka with the headers it needs before it, in one include. */
#ifndef PLIM_TEST_H
#define PLIM_TEST_H

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#endif
