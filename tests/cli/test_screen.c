/* What a person sees: at 40, 80 and 200 columns, on dumb terminals and coloured ones, nothing is garbled, no word is broken,
 * and what is happening is said. */
#include "screen.h"

#define PROGRAM PLIM_PROGRAM

static char work[] = "/tmp/plimsoll-screen-XXXXXX";
static const char model[] = "tabular.onnx", table[] = "table.csv", checkpoint[] = "run.ckpt", lenet[] = "lenet.onnx";
static screen seen, other;

static const struct view {
    int columns;
    const char *kind;
} views[] = {{40, "colour"}, {80, "colour"}, {200, "colour"}, {40, "dumb"},
             {80, "dumb"},   {80, "plain"},  {200, "plain"}};
#define VIEWS (sizeof views / sizeof *views)

static int make_files(void **state) {
    (void)state;
    char command[512];
    if (!mkdtemp(work) || chdir(work) != 0) return 1; /* short names: a path has no place to break */
    snprintf(command, sizeof command, "'%s' zoo tabular --features 3 --classes 2 -o '%s' > /dev/null", PROGRAM, model);
    FILE *file = fopen(table, "w");
    if (!file) return 1;
    fprintf(file, "a,b,c,kind\n");
    for (int i = 0; i < 200; i++) fprintf(file, "%d,%d,%d,%s\n", i % 7, i % 11, i % 3, i % 2 ? "odd" : "even");
    fclose(file);
    return system(command); /* NOLINT: a test's own command */
}

static int remove_files(void **state) {
    (void)state;
    unlink(model);
    unlink(table);
    unlink(checkpoint);
    unlink(lenet);
    return rmdir(work);
}

static void check_view(screen *s, const char *kind) {
    if (s->overflows) {
        screen_print(s);
        fail_msg("%d characters did not fit into %d columns", s->overflows, s->columns);
    }
    if (strcmp(kind, "dumb") == 0) assert_null(strchr(s->raw, '\033'));
    if (strcmp(kind, "plain") == 0) /* the cursor moves, but nothing is coloured */
        for (const char *c = s->raw; (c = strstr(c, "\033[")); c++)
            assert_int_not_equal(c[2 + strspn(c + 2, "0123456789;")], 'm');
}

static void show(screen *s, const struct view *view, const char *const *argv, int code) {
    screen_start(s, view->columns, view->kind, argv);
    screen_end(s);
    if (s->code != code) fail_msg("exit %d: %.2000s", s->code, s->raw);
    check_view(s, view->kind);
}

static void a_training_run_is_never_garbled(void **state) {
    (void)state;
    for (size_t i = 0; i < VIEWS; i++) {
        unlink(checkpoint);
        show(&seen, &views[i],
             (const char *const[]){PROGRAM, "train", model, "--data", table, "--target", "kind", "--epochs", "4",
                                   "--batch", "10", "--validation", "0.2", "--checkpoint", checkpoint, "--threads", "1",
                                   NULL},
             0);
        /* what is happening is said, before there is a first step */
        const char *reading = strstr(seen.raw, "reading "), *planning = strstr(seen.raw, "planning"),
                   *first = strstr(seen.raw, "epoch 1");
        assert_non_null(reading);
        assert_true(reading < planning && planning < first);
        /* of bars and activities nothing is left; every epoch has its line */
        if (strcmp(views[i].kind, "dumb") != 0) {
            assert_false(screen_has(&seen, " ..."));
            assert_int_equal(screen_find(&seen, "epoch 1/"), -1);
        }
        for (char epoch[] = "epoch 1, step"; epoch[6] <= '4'; epoch[6]++) assert_true(screen_find(&seen, epoch) >= 0);
        assert_true(screen_find(&seen, "best: epoch ") >= 0);
        assert_true(screen_find(&seen, "  training loss ") >= 0);
        assert_true(screen_find(&seen, "  accuracy ") >= 0);
        assert_true(screen_find(&seen, "wrote ") >= 0);
        assert_int_equal(strstr(seen.raw, "\033[32m") != NULL, strcmp(views[i].kind, "colour") == 0);
    }
}

static void other_commands_fit_too(void **state) {
    (void)state;
    static const char *const commands[][10] = {
        {PROGRAM, "help", NULL},
        {PROGRAM, "inspect", model, NULL},
        {PROGRAM, "predict", model, table, "--target", "kind", "--top", "2", NULL},
        {PROGRAM, "top", "--once", NULL},
        {PROGRAM, "zoo", NULL},
        {PROGRAM, "ops", NULL},
        {PROGRAM, "data", table, NULL},
        {PROGRAM, "inspect", model, "--weights", NULL},
        {PROGRAM, "infer", model, "--zeros", NULL},
        {PROGRAM, "find-lr", model, "--data", table, "--target", "kind", "--steps", "10", NULL},
        {PROGRAM, "evaluate", model, "--data", table, "--target", "kind", NULL}};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        for (size_t v = 0; v < VIEWS; v += 4) show(&seen, &views[v], commands[i], 0);
}

static void what_takes_time_is_said_before_it_is_done(void **state) {
    (void)state;
    const struct said {
        const char *words[3], *const argv[10];
    } commands[] = {
        {{"reading tabular.onnx", "planning", "the first update"},
         {PROGRAM, "find-lr", model, "--data", table, "--target", "kind", "--steps", "10"}},
        {{"watching processes for 0.5 s", "watching", "to see which grow"}, {PROGRAM, "top", "--once"}},
        {{"reading table.csv", "opening table.csv", "measuring"}, {PROGRAM, "data", table, "--target", "kind"}},
    };
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        show(&seen, &views[1], commands[i].argv, 0);
        for (int k = 0; k < 3; k++)
            if (!strstr(seen.raw, commands[i].words[k]))
                fail_msg("%s does not say '%s'", commands[i].argv[1], commands[i].words[k]);
        assert_false(screen_has(&seen, " ...")); /* and nothing of it is left */
    }
}

static int is_word_of(screen *s, const char *word, size_t length) {
    for (int r = 0; r < s->rows; r++)
        for (const char *at = screen_row(s, r); *at; at += strcspn(at, " ")) {
            at += strspn(at, " ");
            if (strcspn(at, " ") == length && memcmp(at, word, length) == 0) return 1;
        }
    return 0;
}

/* Each word of a narrow screen is a word of a wide one, but for names that were elided and for drawn lines. */
static void check_words(screen *narrow, screen *wide) {
    for (int r = 0; r < narrow->rows; r++)
        for (const char *at = screen_row(narrow, r); *at; at += strcspn(at, " ")) {
            at += strspn(at, " ");
            size_t length = strcspn(at, " ");
            char word[SCREEN_COLUMNS + 1];
            snprintf(word, sizeof word, "%.*s", (int)length, at);
            int drawn = strchr(word, '~') != NULL || strspn(word, "wgoasdpr.") == length;
            if (length && !drawn && !strstr(word, "...") && !is_word_of(wide, word, length))
                fail_msg("'%s' is no word of the wide screen", word);
        }
}

static void words_of_help_and_messages_are_not_broken(void **state) {
    (void)state;
    const char *const help[] = {PROGRAM, "help", "train", NULL};
    const char *const mistake[] = {PROGRAM, "train", model, "--data", table, "--optimizer", "adamww", NULL};
    const char *const without_effect[] = {PROGRAM, "train", model, "--data", table, "--huber-delta", "2", NULL};
    const struct view wide = {200, "plain"};
    show(&other, &wide, mistake, 2);
    assert_true(screen_has(&other, "is adamw meant?"));
    for (size_t i = 0; i < VIEWS; i++) {
        show(&other, &wide, mistake, 2);
        show(&seen, &views[i], mistake, 2);
        check_words(&seen, &other);
        show(&other, &wide, without_effect, 2);
        show(&seen, &views[i], without_effect, 2);
        check_words(&seen, &other);
        screen_start(&seen, views[i].columns, views[i].kind, help);
        screen_end(&seen);
        assert_true(screen_find(&seen, "Examples:") > 20);
        assert_int_equal(seen.overflows, 0); /* commands go on behind a backslash */
        assert_int_equal(strstr(seen.raw, " \\\r\n    ") != NULL, views[i].columns < 200);
    }
}

/* The number before a word, "53.0 MiB": in MiB. */
static double mebibytes(const char *text) {
    double number = atof(text);
    const char *unit = text + strspn(text, " 0123456789.");
    return *unit == 'G' ? 1024 * number : *unit == 'K' ? number / 1024 : number;
}

/* From the largest budget to the least; the arena falls, time does not; the chosen row is marked, and needs no more than the
 * budget that was given. */
static void check_table(screen *s, double given) {
    int head = screen_find(s, "Other budgets"), rows = 0, chosen = 0;
    assert_true(head > 0);
    double last = 1e30, slowest = 0, arena = 1e30;
    for (int r = head + 2; r < s->rows; r++) {
        const char *row = screen_row(s, r);
        if (!strstr(row, "iB ") || (row[0] != '>' && strncmp(row, "   ", 3) != 0)) break;
        double budget = mebibytes(row + 2), seconds;
        const char *columns = strstr(row, "iB ") + 3;
        if (s->columns >= 80) {
            if (mebibytes(columns) >= arena) fail_msg("two rows of one arena: %s", row);
            arena = mebibytes(columns);
            columns = strstr(columns, "iB ") + 3;
        }
        seconds = atof(columns);
        if (budget >= last || seconds < slowest) fail_msg("more memory is slower: %s", row);
        last = budget;
        slowest = seconds;
        chosen += row[0] == '>';
        if (row[0] == '>' && budget > given) fail_msg("more than was given: %s", row);
        rows++;
    }
    assert_true(rows >= 2);
    assert_int_equal(chosen, 1);
    int smallest = screen_find(s, "Smallest budget: ");
    assert_true(smallest > head);
    assert_true(mebibytes(screen_row(s, smallest) + strlen("Smallest budget: ")) == last);
    assert_true(screen_has(s, "the least --budget") || s->columns < 60);
}

/* Names in the list of the largest tensors. */
static void check_peak(screen *s) {
    int from = screen_find(s, "Largest at the peak:");
    assert_true(from > 0);
    for (int a = from + 1; *screen_row(s, a); a++)
        for (int b = from + 1; b < a; b++)
            if (strcmp(screen_row(s, a), screen_row(s, b)) == 0) fail_msg("twice: %s", screen_row(s, a));
}

static void a_plan_fits_its_screen_and_does_not_contradict_itself(void **state) {
    (void)state;
#ifdef __SANITIZE_ADDRESS__
    skip(); /* a sanitizer has memory of its own, which the budget would have to hold */
#endif
    char command[256];
    const struct view wide = {200, "plain"};
    snprintf(command, sizeof command, "'%s' zoo lenet -o '%s' > /dev/null", PROGRAM, lenet);
    assert_int_equal(system(command), 0); /* NOLINT: a test's own command */
    const char *const argv[] = {PROGRAM, "plan", lenet, "--batch", "128", "--budget", "45MiB", "--threads", "1", NULL};
    show(&other, &wide, argv, 0);
    for (size_t i = 1; i < VIEWS; i += 2) {
        show(&seen, &views[i], argv, 0);
        assert_non_null(strstr(seen.raw, "planning"));
        check_table(&seen, 45);
        check_peak(&seen);
        for (int r = 0; r < seen.rows && views[i].columns == 80; r++) assert_true(strlen(screen_row(&seen, r)) <= 80);
    }
}

static void the_first_interrupt_is_acknowledged(void **state) {
    (void)state;
    for (size_t i = 0; i < VIEWS; i += 4) {
        unlink(checkpoint);
        const char *const argv[] = {PROGRAM,    "train",     model, "--data",   table,     "--target",
                                    "kind",     "--batch",   "10",  "--epochs", "1000000", "--checkpoint",
                                    checkpoint, "--threads", "1",   NULL};
        screen_start(&seen, views[i].columns, views[i].kind, argv);
        while (!strstr(seen.raw, "epoch 1"))
            if (!screen_read(&seen)) fail_msg("it ended: %s", seen.raw);
        kill(seen.child, SIGINT);
        screen_end(&seen);
        assert_int_equal(seen.code, 130);
        check_view(&seen, views[i].kind);
        int heard = screen_find(&seen, "plimsoll train: stopping"),
            stopped = screen_find(&seen, "plimsoll train: stopped");
        if (heard < 0 || stopped < heard)
            fail_msg("not acknowledged: %.2000s", seen.raw + (seen.used > 2000 ? seen.used - 2000 : 0));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_training_run_is_never_garbled),
                                       cmocka_unit_test(other_commands_fit_too),
                                       cmocka_unit_test(what_takes_time_is_said_before_it_is_done),
                                       cmocka_unit_test(words_of_help_and_messages_are_not_broken),
                                       cmocka_unit_test(a_plan_fits_its_screen_and_does_not_contradict_itself),
                                       cmocka_unit_test(the_first_interrupt_is_acknowledged)};
    return cmocka_run_group_tests(tests, make_files, remove_files);
}
