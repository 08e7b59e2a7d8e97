/* The bar of a training run fits the terminal, also when that changes its size while it runs. */
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plim_test.h"

#define BEGINS "\r\033[J" /* of each picture of the bar: the old one is taken away */

static int master;
static pid_t child;
static char model[] = "/tmp/plimsoll-bar-XXXXXX.onnx";
static char screen[1 << 20];
static size_t used, seen; /* seen: where the next picture is looked for */

static int make_model(void **state) {
    (void)state;
    char command[256];
    close(mkstemps(model, 5));
    snprintf(command, sizeof command, "'%s' zoo lenet -o '%s' > /dev/null", PLIM_PROGRAM, model);
    return system(command); /* NOLINT: a test's own command */
}

static int remove_model(void **state) {
    (void)state;
    return unlink(model);
}

static void start(unsigned short columns) {
    struct winsize size = {.ws_row = 24, .ws_col = columns};
    used = seen = 0;
    child = forkpty(&master, NULL, NULL, &size);
    assert_true(child >= 0);
    if (child != 0) return;
    setenv("TERM", "xterm", 1);
    setenv("LANG", "C.UTF-8", 1);
    unsetenv("COLUMNS");
    execl(PLIM_PROGRAM, "plimsoll", "train", model, "--data", "synthetic", "--batch", "4", "--steps", "10000000",
          "--threads", "1", (char *)NULL);
    _exit(99);
}

static void resize(unsigned short columns) {
    struct winsize size = {.ws_row = 24, .ws_col = columns};
    assert_int_equal(ioctl(master, TIOCSWINSZ, &size), 0);
}

static void read_more(void) {
    struct pollfd wait = {.fd = master, .events = POLLIN};
    if (poll(&wait, 1, 60000) != 1) fail_msg("nothing came; the screen is: %.2000s", screen);
    assert_true(used < sizeof screen - 1);
    ssize_t count = read(master, screen + used, sizeof screen - 1 - used);
    if (count <= 0) fail_msg("the end came; the screen is: %.2000s", screen);
    used += (size_t)count;
    screen[used] = 0;
}

/* The next whole picture; it ends where the one after it begins. */
static const char *next_bar(void) {
    static char bar[4096];
    for (;;) {
        char *from = strstr(screen + seen, BEGINS), *to = from ? strstr(from + 1, BEGINS) : NULL;
        if (to) {
            size_t length = (size_t)(to - from) - strlen(BEGINS);
            assert_true(length < sizeof bar);
            memcpy(bar, from + strlen(BEGINS), length);
            bar[length] = 0;
            seen = (size_t)(to - screen);
            return bar;
        }
        read_more();
    }
}

/* Without colours and movements; a letter is a column. */
static int columns_of(const char *text) {
    int columns = 0;
    for (const char *c = text; *c; c++) {
        if (*c == '\033' && c[1] == '[') {
            while (*c && !((*c >= 'A' && *c <= 'Z') || (*c >= 'a' && *c <= 'z'))) c++;
            if (!*c) break;
        } else if (*c != '\r' && ((unsigned char)*c & 0xc0) != 0x80) {
            columns++;
        }
    }
    return columns;
}

static void stop(void) {
    int status;
    kill(child, SIGINT);
    char rest[4096];
    while (read(master, rest, sizeof rest) > 0) continue;
    assert_int_equal(waitpid(child, &status, 0), child);
    close(master);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 130);
}

static void the_bar_follows_the_width_of_the_terminal(void **state) {
    (void)state;
    start(150);
    next_bar();
    const char *wide = next_bar();
    assert_non_null(strstr(wide, "peak"));
    assert_true(columns_of(wide) > 80 && columns_of(wide) < 150);
    static const unsigned short widths[] = {60, 34, 12, 150};
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        resize(widths[i]);
        for (int k = 0; k < 2; k++) next_bar(); /* may have been drawn before */
        for (int k = 0; k < 3; k++) {
            const char *bar = next_bar();
            if (columns_of(bar) >= widths[i]) fail_msg("%d columns in %d: %s", columns_of(bar), widths[i], bar);
            if (widths[i] > 30) assert_non_null(strstr(bar, "loss"));
            assert_true((strstr(bar, "peak") != NULL) == (widths[i] == 150));
        }
    }
    stop();
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_bar_follows_the_width_of_the_terminal)};
    return cmocka_run_group_tests(tests, make_model, remove_model);
}
