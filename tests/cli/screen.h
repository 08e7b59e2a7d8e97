/* A terminal for tests: runs the program on one, and keeps what a person would see of it. */
#ifndef PLIM_TESTS_SCREEN_H
#define PLIM_TESTS_SCREEN_H

#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plim_test.h"

enum { SCREEN_ROWS = 2000, SCREEN_COLUMNS = 256, SCREEN_RAW = 1 << 20 };

typedef struct screen {
    int columns, master;
    pid_t child;
    int row, column, rows;
    char cells[SCREEN_ROWS][SCREEN_COLUMNS + 1]; /* one byte a column: what is not ASCII is '~' */
    int overflows;                               /* characters that the terminal had to put on the next line */
    char raw[SCREEN_RAW];
    size_t used, shown; /* bytes that came, and that were shown */
    int code;           /* of the exit; -1 before it, and where a signal ended it */
} screen;

/* "dumb", "plain" (no colours) or "colour". */
static inline void screen_start(screen *s, int columns, const char *kind, const char *const *argv) {
    struct winsize size = {.ws_row = 50, .ws_col = (unsigned short)columns};
    memset(s, 0, sizeof *s);
    s->columns = columns;
    s->code = -1;
    for (int r = 0; r < SCREEN_ROWS; r++) memset(s->cells[r], ' ', (size_t)columns);
    s->child = forkpty(&s->master, NULL, NULL, &size);
    assert_true(s->child >= 0);
    if (s->child != 0) return;
    setenv("TERM", strcmp(kind, "dumb") == 0 ? "dumb" : "xterm", 1);
    setenv("LANG", "C.UTF-8", 1);
    setenv("PLIMSOLL_COSTS", "default", 1);
    unsetenv("LC_ALL");
    unsetenv("COLUMNS");
    unsetenv("NO_COLOR");
    if (strcmp(kind, "plain") == 0) setenv("NO_COLOR", "1", 1);
    execv(argv[0], (char *const *)(uintptr_t)argv);
    _exit(99);
}

static inline void screen_put(screen *s, char c) {
    if (s->column >= s->columns) {
        s->overflows++;
        s->row++;
        s->column = 0;
    }
    if (s->row >= SCREEN_ROWS) fail_msg("more rows than the screen has");
    s->cells[s->row][s->column++] = c;
    if (s->row >= s->rows) s->rows = s->row + 1;
}

static inline void screen_erase(screen *s, int row, int from) {
    for (int c = from; c < s->columns; c++) s->cells[row][c] = ' ';
}

/* A whole escape sequence at `at`: its length, 0 when more must come. */
static inline size_t screen_escape(screen *s, size_t at) {
    size_t end = at + 2;
    if (end > s->used) return 0;
    assert_int_equal(s->raw[at + 1], '[');
    while (end < s->used && (s->raw[end] < '@' || s->raw[end] > '~')) end++;
    if (end >= s->used) return 0;
    int number = atoi(s->raw + at + 2);
    switch (s->raw[end]) {
    case 'm': break;
    case 'A': s->row -= number; break;
    case 'K': screen_erase(s, s->row, s->column); break;
    case 'J':
        screen_erase(s, s->row, s->column);
        for (int r = s->row + 1; r < s->rows; r++) screen_erase(s, r, 0);
        break;
    default: fail_msg("an escape that no one wrote: ESC [ ... %c", s->raw[end]);
    }
    assert_true(s->row >= 0);
    return end + 1 - at;
}

static inline void screen_show(screen *s) {
    while (s->shown < s->used) {
        char c = s->raw[s->shown];
        size_t length = 1;
        if (c == '\033') {
            length = screen_escape(s, s->shown);
            if (length == 0) return;
        } else if (c == '\r') {
            s->column = 0;
        } else if (c == '\n') {
            s->row++;
            if (s->row >= s->rows) s->rows = s->row + 1;
        } else if (((unsigned char)c & 0xC0) != 0x80) {
            screen_put(s, (unsigned char)c < 128 ? c : '~');
        }
        s->shown += length;
    }
}

/* False at the end. */
static inline int screen_read(screen *s) {
    struct pollfd wait = {.fd = s->master, .events = POLLIN};
    if (poll(&wait, 1, 120000) != 1) fail_msg("nothing came; so far: %.2000s", s->raw);
    assert_true(s->used < sizeof s->raw - 1);
    ssize_t count = read(s->master, s->raw + s->used, sizeof s->raw - 1 - s->used);
    if (count <= 0) return 0;
    s->used += (size_t)count;
    s->raw[s->used] = 0;
    screen_show(s);
    return 1;
}

static inline void screen_end(screen *s) {
    int status;
    while (screen_read(s)) continue;
    assert_int_equal(waitpid(s->child, &status, 0), s->child);
    close(s->master);
    s->code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* A row without the spaces at its end. */
static inline const char *screen_row(screen *s, int row) {
    char *text = s->cells[row];
    int end = s->columns;
    while (end > 0 && text[end - 1] == ' ') end--;
    text[end] = 0;
    return text;
}

static inline void screen_print(screen *s) {
    for (int r = 0; r < s->rows; r++) print_message("|%s\n", screen_row(s, r));
}

/* The first row that begins with this; -1 for none. */
static inline int screen_find(screen *s, const char *begins) {
    for (int r = 0; r < s->rows; r++)
        if (strncmp(screen_row(s, r), begins, strlen(begins)) == 0) return r;
    return -1;
}

static inline int screen_has(screen *s, const char *text) {
    for (int r = 0; r < s->rows; r++)
        if (strstr(screen_row(s, r), text)) return 1;
    return 0;
}

#endif
