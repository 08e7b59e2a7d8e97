/* Dates in cells of tables, and the numbers that a network is given of them. */
#ifndef PLIM_DATA_DATE_H
#define PLIM_DATA_DATE_H

#include <stdbool.h>

enum { PLIM__DATE_NUMBERS = 6 };

/* 2024-05-31, 2024/05/31 or 31.05.2024, and a time if there is one: 12:30, 12:30:15.5, with Z or +02:00. Days since 2000-01-01. */
bool plim__date_parse(const char *text, double *days);
/* The position in the year, the week and the day: sine and cosine of the day of the year and of the weekday (Monday is 0), and
 * the share of the day that has passed. */
void plim__date_numbers(double days, float numbers[PLIM__DATE_NUMBERS - 1]);

#endif
