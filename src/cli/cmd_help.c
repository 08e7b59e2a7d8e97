/* plimsoll help: the list of commands, one command's help, the man page and the bash completion, all
 * from the table of commands. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "cli/args.h"
#include "cli/terminal.h"
#include "core/str.h"
#include "plimsoll/version.h"

static void print_option(const plim__option *option) {
    char left[64];
    int used =
        option->letter ? snprintf(left, sizeof left, "-%c, ", option->letter) : snprintf(left, sizeof left, "    ");
    snprintf(left + used, sizeof left - (size_t)used, "--%s%s%s", option->name, option->value ? " " : "",
             option->value ? option->value : "");
    plim__terminal terminal = plim__terminal_of(1);
    plim__str text = {0}, out = {0};
    plim__str_addf(&text, "  %-26s %s", left, option->help);
    plim__terminal_wrap(&out, plim__str_text(&text), terminal.is_terminal ? terminal.width : INT_MAX,
                        terminal.width >= 60 ? 29 : 6);
    puts(plim__str_text(&out));
    plim__str_free(&text);
    plim__str_free(&out);
}

/* Paragraphs, whose lines are broken by the width of the terminal. */
static void print_description(const char *text) {
    plim__terminal terminal = plim__terminal_of(1);
    plim__str joined = {0}, out = {0};
    for (const char *c = text; *c; c++)
        plim__str_addc(&joined, *c == '\n' && c[1] && c[1] != '\n' && c > text && c[-1] != '\n' ? ' ' : *c);
    plim__terminal_wrap(&out, plim__str_text(&joined), terminal.width, 0);
    printf("\n%s\n", plim__str_text(&out));
    plim__str_free(&joined);
    plim__str_free(&out);
}

void plim__help_command(const plim__command *command) {
    plim__terminal_line(stdout, "plimsoll %s %s\n\n%s.", command->name, command->usage, command->summary);
    if (command->description) print_description(command->description);
    puts("\nOptions:");
    const plim__option *option;
    for (size_t i = 0; (option = plim__option_at(command, i)); i++) print_option(option);
    if (!command->examples) return;
    puts("\nExamples:");
    plim__terminal_commands(stdout, command->examples);
}

static void print_all(void) {
    plim__terminal_line(
        stdout,
        "plimsoll: trains neural networks inside a memory budget, and explains out-of-memory errors\n\nCommands:");
    for (size_t i = 0; i < plim__command_count; i++)
        plim__terminal_line(stdout, "  %-10s %s", plim__commands[i]->name, plim__commands[i]->summary);
    plim__terminal_line(stdout,
                        "\n'plimsoll help COMMAND' tells more, with examples. 'plimsoll --version' tells the version.");
}

/* --- man page: roff ------------------------------------------------------------------------------------------- */

/* Backslashes and leading dots mean something to roff; hyphens should stay hyphens. */
static void roff(const char *text) {
    bool start = true;
    for (; *text; text++) {
        if (start && (*text == '.' || *text == '\'')) fputs("\\&", stdout);
        if (*text == '\\')
            fputs("\\e", stdout);
        else if (*text == '-')
            fputs("\\-", stdout);
        else
            putchar(*text);
        start = *text == '\n';
    }
}

static void print_man_command(const plim__command *command) {
    fputs(".SS plimsoll ", stdout);
    roff(command->name);
    putchar(' ');
    roff(command->usage);
    putchar('\n');
    roff(command->summary);
    puts(".");
    if (command->description) {
        puts(".PP\n.nf");
        roff(command->description);
        puts("\n.fi");
    }
    for (const plim__option *option = command->options; option && option->name; option++) {
        puts(".TP");
        fputs("\\fB", stdout);
        if (option->letter) printf("\\-%c\\fR, \\fB", option->letter);
        fputs("\\-\\-", stdout);
        roff(option->name);
        fputs("\\fR", stdout);
        if (option->value) printf(" \\fI%s\\fR", option->value);
        putchar('\n');
        roff(option->help);
        puts(".");
    }
    if (command->examples) {
        puts(".PP\nExamples:\n.PP\n.nf");
        roff(command->examples);
        puts("\n.fi");
    }
}

static void print_man(void) {
    puts(
        ".TH PLIMSOLL 1 \"\" \"plimsoll " PLIM_VERSION_STRING "\" \"User commands\"\n.SH NAME\n"
        "plimsoll \\- train neural networks inside a memory budget, and explain out\\-of\\-memory errors\n"
        ".SH SYNOPSIS\n.B plimsoll\n.I COMMAND\n[\\fIARGUMENT\\fR...]\n.SH DESCRIPTION\n"
        "Plimsoll loads ONNX models, plans every byte of their memory before it runs them, and reads other\n"
        "frameworks' out\\-of\\-memory errors. Every command takes \\fB\\-\\-json\\fR, \\fB\\-\\-threads\\fR \\fIN\\fR "
        "and \\fB\\-\\-help\\fR.\n.SH COMMANDS");
    for (size_t i = 0; i < plim__command_count; i++) print_man_command(plim__commands[i]);
    puts(".SH EXIT STATUS\n0 on success, 1 when something failed (one line on standard error says what), 2 for a\n"
         "wrong command line. \\fBplimsoll run\\fR leaves with the exit status of the command it ran.");
}

/* --- bash completion ------------------------------------------------------------------------------------------ */

static void print_completion(void) {
    puts("# bash completion for plimsoll\n_plimsoll() {\n  local cur=${COMP_WORDS[COMP_CWORD]} words=\n"
         "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n    words='");
    for (size_t i = 0; i < plim__command_count; i++) printf("%s ", plim__commands[i]->name);
    puts("'\n  else\n    case ${COMP_WORDS[1]} in");
    for (size_t i = 0; i < plim__command_count; i++) {
        printf("      %s) words='", plim__commands[i]->name);
        const plim__option *option;
        for (size_t k = 0; (option = plim__option_at(plim__commands[i], k)); k++) printf("--%s ", option->name);
        puts("' ;;");
    }
    puts("    esac\n    [ \"${cur#-}\" = \"$cur\" ] && words=\n  fi\n"
         "  COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
         "  [ \"${#COMPREPLY[@]}\" -gt 0 ] || COMPREPLY=($(compgen -f -- \"$cur\"))\n}\n"
         "complete -o filenames -F _plimsoll plimsoll");
}

static json_t *list_json(void) {
    json_t *commands = json_array();
    for (size_t i = 0; i < plim__command_count; i++)
        json_array_append_new(commands, json_pack("{s:s, s:s, s:s}", "name", plim__commands[i]->name, "usage",
                                                  plim__commands[i]->usage, "summary", plim__commands[i]->summary));
    return json_pack("{s:o}", "commands", commands);
}

static int run(plim__args *args) {
    if (plim__args_has(args, "man")) return print_man(), PLIM_EXIT_OK;
    if (plim__args_has(args, "completion")) return print_completion(), PLIM_EXIT_OK;
    if (plim__args_json(args)) return plim__say_json(args, list_json());
    const char *name = plim__args_at(args, 0);
    if (!name) return print_all(), PLIM_EXIT_OK;
    for (size_t i = 0; i < plim__command_count; i++)
        if (strcmp(plim__commands[i]->name, name) == 0) return plim__help_command(plim__commands[i]), PLIM_EXIT_OK;
    const char *best = NULL;
    for (size_t i = 0; i < plim__command_count; i++) best = plim__str_nearest(name, best, plim__commands[i]->name);
    return plim__say_usage(args, "'%s' is not a command%s%s%s 'plimsoll help' lists them", name, best ? "; is '" : "",
                           best ? best : "", best ? "' meant?" : ";");
}

static const plim__option options[] = {
    {"man", 0, NULL, "print the man page"},
    {"completion", 0, NULL, "print the bash completion"},
    {0},
};

const plim__command plim__command_help = {
    .name = "help",
    .usage = "[COMMAND]",
    .summary = "Show what the commands are and how each is used",
    .options = options,
    .examples = "  plimsoll help size\n  plimsoll help --man | man -l -",
    .run = run,
    .quick = true,
};
