/* The timeline's data as the page holds it: columns of variable-length integers, compressed, in base64. */
#ifndef PLIM_REPORT_PAGE_DATA_H
#define PLIM_REPORT_PAGE_DATA_H

#include "core/file.h"
#include "mem/timeline.h"

/* Writes the columns in the order that page/data.js reads them. */
plim_status plim__page_data_write(const plim__timeline *timeline, plim__file_writer *writer, plim_error *error);

#endif
