/* Under `plimsoll run` a terminal stays a terminal: size, keys, job control, settings. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <cmocka.h>

static int master;
static pid_t child;
static char screen[1 << 16];
static size_t used;

static void start(const char *script, bool run, const char *redirect) {
    used = 0;
    screen[0] = 0;
    struct winsize size = {.ws_row = 33, .ws_col = 99};
    child = forkpty(&master, NULL, NULL, &size);
    assert_true(child >= 0);
    if (child != 0) return;
    setenv("TERM", "xterm", 1);
    if (redirect) {
        int fd = open("/dev/null", O_RDWR);
        dup2(fd, redirect[0] - '0');
    }
    if (run) execl(PLIM_PROGRAM, "plimsoll", "run", "--", "sh", "-c", script, (char *)NULL);
    execl("/bin/sh", "sh", "-c", script, (char *)NULL);
    _exit(99);
}

/* Reads until the text appears; fails when nothing comes for half a minute. */
static void expect(const char *text) {
    while (!strstr(screen, text)) {
        struct pollfd wait = {.fd = master, .events = POLLIN};
        if (poll(&wait, 1, 30000) != 1) fail_msg("'%s' did not come; the screen is: %s", text, screen);
        ssize_t count = read(master, screen + used, sizeof screen - 1 - used);
        if (count <= 0) fail_msg("the end came before '%s'; the screen is: %s", text, screen);
        used += (size_t)count;
        screen[used] = 0;
    }
}

static int finish(void) {
    int status;
    for (ssize_t count;
         used < sizeof screen - 1 && (count = read(master, screen + used, sizeof screen - 1 - used)) > 0;)
        used += (size_t)count;
    screen[used] = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    close(master);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void type(const char *keys) { assert_int_equal(write(master, keys, strlen(keys)), strlen(keys)); }

static void all_three_are_terminals_of_the_same_size(void **state) {
    (void)state;
    start("[ -t 0 ] && [ -t 1 ] && [ -t 2 ] && [ \"$(tty)\" != 'not a tty' ] && stty size && echo on tty > /dev/tty; "
          "exit 6",
          true, NULL);
    expect("33 99\r\n");
    expect("on tty\r\n");
    assert_int_equal(finish(), 6);
}

static void bytes_on_the_terminal_are_the_same_as_without(void **state) {
    (void)state;
    const char *script = "printf 'a\\tb\\n\\033[31mred\\033[0m\\r%%\\n\\377\\001'; i=0; while [ $i -lt 3000 ]; do echo "
                         "line $i; i=$((i+1)); done";
    static char without[sizeof screen];
    start(script, false, NULL);
    assert_int_equal(finish(), 0);
    memcpy(without, screen, sizeof screen);
    start(script, true, NULL);
    assert_int_equal(finish(), 0);
    assert_string_equal(screen, without);
}

static void what_is_no_terminal_stays_none(void **state) {
    (void)state;
    start("[ -t 0 ] && [ ! -t 1 ] && [ -t 2 ]", true, "1");
    assert_int_equal(finish(), 0);
    start("[ -t 0 ] && [ -t 1 ] && [ ! -t 2 ]", true, "2");
    assert_int_equal(finish(), 0);
    start("[ ! -t 0 ] && [ -t 1 ] && [ -t 2 ] && stty size <&1", true, "0");
    expect("33 99");
    assert_int_equal(finish(), 0);
}

static void keys_arrive_and_echo_once(void **state) {
    (void)state;
    start("echo ready; read word; echo \"got $word\"; stty -echo; echo quiet; read secret; stty echo; echo \"knows "
          "$secret\"",
          true, NULL);
    expect("ready");
    type("hello\n");
    expect("got hello");
    expect("quiet");
    type("hidden\n");
    expect("knows hidden");
    assert_int_equal(finish(), 0);
    char *first = strstr(screen, "hello\r\n");
    assert_non_null(first);
    assert_ptr_equal(strstr(first, "got hello"), first + strlen("hello\r\n")); /* the echo, then the answer */
    assert_null(strstr(screen, "hidden\r\nknows"));
}

static void end_of_input_is_ctrl_d(void **state) {
    (void)state;
    start("echo ready; cat > /dev/null; echo over", true, NULL);
    expect("ready");
    type("text\n\004");
    expect("over");
    assert_int_equal(finish(), 0);
}

static void ctrl_c_interrupts_the_command_only(void **state) {
    (void)state;
    start("trap 'echo interrupted; exit 5' INT; echo ready; while :; do sleep 0.05; done", true, NULL);
    expect("ready");
    type("\003");
    expect("interrupted");
    assert_int_equal(finish(), 5);
    start("echo ready; exec sleep 60", true, NULL);
    expect("ready");
    type("\003");
    assert_int_equal(finish(), 130);
    assert_non_null(strstr(screen, "SIGINT"));
}

static void a_new_window_size_arrives(void **state) {
    (void)state;
    start("trap 'stty size; exit 0' WINCH; echo ready; while :; do sleep 0.05; done", true, NULL);
    expect("ready");
    struct winsize size = {.ws_row = 44, .ws_col = 111};
    assert_int_equal(ioctl(master, TIOCSWINSZ, &size), 0);
    expect("44 111");
    assert_int_equal(finish(), 0);
}

static void ctrl_z_gives_the_terminal_back_until_continued(void **state) {
    (void)state;
    start("echo ready; read word; echo \"got $word\"", true, NULL);
    expect("ready");
    type("\032");
    int status;
    assert_int_equal(waitpid(child, &status, WUNTRACED), child);
    assert_true(WIFSTOPPED(status));
    struct termios settings;
    assert_int_equal(tcgetattr(master, &settings), 0);
    assert_true((settings.c_lflag & ICANON) && (settings.c_lflag & ECHO));
    assert_int_equal(kill(child, SIGCONT), 0);
    type("again\n");
    expect("got again");
    assert_int_equal(finish(), 0);
}

static void the_terminals_settings_are_given_back(void **state) {
    (void)state;
    char script[4096];
    snprintf(script, sizeof script,
             "before=$(stty -g); '%s' run -- sh -c 'stty raw -echo; kill -9 $$'; [ \"$before\" = \"$(stty -g)\" ]",
             PLIM_PROGRAM);
    start(script, false, NULL);
    assert_int_equal(finish(), 0);
}

static void the_report_is_coloured_unless_told_otherwise(void **state) {
    (void)state;
    start("exit 1", true, NULL);
    assert_int_equal(finish(), 1);
    assert_non_null(strstr(screen, "\033[1mplimsoll:"));
    setenv("NO_COLOR", "1", 1);
    start("exit 1", true, NULL);
    unsetenv("NO_COLOR");
    assert_int_equal(finish(), 1);
    assert_null(strchr(screen, '\033'));
}

static void top_is_live_and_gives_the_screen_back(void **state) {
    (void)state;
    char script[4096];
    snprintf(script, sizeof script,
             "trap : INT; before=$(stty -g); '%s' top --interval 0.2; echo left $?; [ \"$before\" = \"$(stty -g)\" ]",
             PLIM_PROGRAM);
    const char *ways[] = {"q", "\003"};
    for (int i = 0; i < 2; i++) {
        start(script, false, NULL);
        expect("\033[?1049h");
        expect("*RSS");
        type("n");
        expect("*PROCESS");
        type(ways[i]);
        expect("\033[?1049l");
        expect("left 0");
        assert_int_equal(finish(), 0);
    }
}

static void the_meter_never_cuts_a_line(void **state) {
    (void)state;
    char script[4096];
    snprintf(script, sizeof script,
             "exec '%s' run --meter -- sh -c 'echo begin; sleep 0.7; printf half; sleep 1.2; echo whole'",
             PLIM_PROGRAM);
    start(script, false, NULL);
    assert_int_equal(finish(), 0);
    assert_non_null(strstr(screen, "begin\r\n\r\033[K")); /* drawn on a line of its own */
    assert_non_null(
        strstr(screen, "\r\033[Khalfwhole\r\n")); /* erased before the next byte, not drawn within the line */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_three_are_terminals_of_the_same_size),
        cmocka_unit_test(bytes_on_the_terminal_are_the_same_as_without),
        cmocka_unit_test(what_is_no_terminal_stays_none),
        cmocka_unit_test(keys_arrive_and_echo_once),
        cmocka_unit_test(end_of_input_is_ctrl_d),
        cmocka_unit_test(ctrl_c_interrupts_the_command_only),
        cmocka_unit_test(a_new_window_size_arrives),
        cmocka_unit_test(ctrl_z_gives_the_terminal_back_until_continued),
        cmocka_unit_test(the_terminals_settings_are_given_back),
        cmocka_unit_test(the_report_is_coloured_unless_told_otherwise),
        cmocka_unit_test(top_is_live_and_gives_the_screen_back),
        cmocka_unit_test(the_meter_never_cuts_a_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
