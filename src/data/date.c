/* Dates of the Gregorian calendar, by counting days. */
#include "data/date.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#define EPOCH 730425 /* 2000-01-01, in days since 0000-03-01 */

/* Years that begin in March end with the day that may be missing. */
static int64_t days_of(int64_t year, int month, int day) {
    int64_t y = month <= 2 ? year - 1 : year, m = month <= 2 ? month + 9 : month - 3;
    return 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 1 - EPOCH;
}

static int days_of_month(int year, int month) {
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return days[month - 1] + (month == 2 && leap);
}

/* Exactly `digits` of them. */
static bool take_number(const char **text, int digits, int *number) {
    *number = 0;
    for (int i = 0; i < digits; i++, (*text)++) {
        if (**text < '0' || **text > '9') return false;
        *number = *number * 10 + **text - '0';
    }
    return true;
}

static bool take(const char **text, char c) { return **text == c && (*text)++; }

static bool take_day(const char **text, double *days) {
    int year, month, day;
    const char *at = *text;
    if (take_number(&at, 4, &year) && (*at == '-' || *at == '/')) {
        char separator = *at++;
        if (!take_number(&at, 2, &month) || !take(&at, separator) || !take_number(&at, 2, &day)) return false;
    } else {
        at = *text;
        if (!take_number(&at, 2, &day) || !take(&at, '.') || !take_number(&at, 2, &month) || !take(&at, '.') ||
            !take_number(&at, 4, &year))
            return false;
    }
    if (year < 1 || month < 1 || month > 12 || day < 1 || day > days_of_month(year, month)) return false;
    *days = (double)days_of(year, month, day);
    *text = at;
    return true;
}

/* In days. */
static bool take_clock(const char **text, double *time) {
    int hour, minute, second = 0;
    double part = 0;
    if (!take_number(text, 2, &hour) || !take(text, ':') || !take_number(text, 2, &minute)) return false;
    if (take(text, ':')) {
        if (!take_number(text, 2, &second)) return false;
        if (take(text, '.'))
            for (double unit = 0.1; **text >= '0' && **text <= '9'; unit /= 10) part += unit * (*(*text)++ - '0');
    }
    if (hour > 23 || minute > 59 || second > 60) return false;
    *time = (hour * 3600 + minute * 60 + second + part) / 86400;
    return true;
}

static bool take_zone(const char **text, double *offset) {
    int hours, minutes;
    *offset = 0;
    if (take(text, 'Z') || !**text) return true;
    double sign = **text == '-' ? -1 : 1;
    if (!take(text, '+') && !take(text, '-')) return false;
    if (!take_number(text, 2, &hours)) return false;
    (void)take(text, ':');
    if (!take_number(text, 2, &minutes) || hours > 14 || minutes > 59) return false;
    *offset = sign * (hours * 60 + minutes) / 1440;
    return true;
}

bool plim__date_parse(const char *text, double *days) {
    double time = 0, offset = 0;
    if (!take_day(&text, days)) return false;
    if (*text && !take(&text, 'T') && !take(&text, ' ')) return false;
    if (*text && (!take_clock(&text, &time) || !take_zone(&text, &offset))) return false;
    *days += time - offset;
    return !*text;
}

/* The day of the year, from 0. */
static int64_t day_of_year(int64_t day) {
    int64_t year = 2000 + (int64_t)floor((double)day / 365.2425);
    while (days_of(year, 1, 1) > day) year--;
    while (days_of(year + 1, 1, 1) <= day) year++;
    return day - days_of(year, 1, 1);
}

void plim__date_numbers(double days, float numbers[PLIM__DATE_NUMBERS - 1]) {
    const double turn = 6.283185307179586;
    int64_t day = (int64_t)floor(days), week = ((day + 5) % 7 + 7) % 7; /* 2000-01-01 was a Saturday */
    double year = turn * (double)day_of_year(day) / 365.25, weekday = turn * (double)week / 7;
    numbers[0] = (float)sin(year);
    numbers[1] = (float)cos(year);
    numbers[2] = (float)sin(weekday);
    numbers[3] = (float)cos(weekday);
    numbers[4] = (float)(days - (double)day);
}
