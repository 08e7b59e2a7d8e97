/* The chart of the text report. */
#ifndef PLIM_REPORT_TEXT_CHART_H
#define PLIM_REPORT_TEXT_CHART_H

#include "report/report.h"

/* Appends the chart, its axis and its legend; false when memory is short. The timeline has a peak above 0. */
bool plim__text_chart(const plim__timeline *timeline, const plim__summary *summary, plim__text_options options,
                      plim__str *out);

#endif
