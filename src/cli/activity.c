/* The line of activity; a terminal that cannot move its cursor gets a line each. */
#include "cli/activity.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/format.h"
#include "cli/terminal.h"

static bool is_shown;

void plim__activity_say(const plim__args *args, const char *format, ...) {
    char text[512];
    plim__terminal terminal = plim__terminal_of(STDERR_FILENO);
    if (!terminal.is_terminal || plim__args_has(args, "quiet")) return;
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    plim__activity_end();
    fflush(stdout);
    if (!terminal.moves) {
        plim__terminal_line(stderr, "plimsoll %s: %s ...", plim__args_command(args)->name, plim__shown(text));
        return;
    }
    plim__str line = {0};
    plim__str_add(&line, plim__shown(text));
    plim__terminal_cut_middle(&line, terminal.width - 5);
    plim__terminal_cut(&line, terminal.width - 5);
    fprintf(stderr, "%s ...", plim__str_text(&line));
    plim__str_free(&line);
    is_shown = true;
}

void plim__activity_end(void) {
    if (is_shown) fputs("\r\033[K", stderr);
    is_shown = false;
}
