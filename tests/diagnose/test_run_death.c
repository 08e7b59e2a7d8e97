/* How a process died, from made-up facts; the kernel's lines; the steps that programs print. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "diagnose/death.h"
#include "diagnose/watch_steps.h"
#include "mem/procfs.h"

#define MIB (1024ULL * 1024)

static const plim__death_facts quiet = {.log_read = true,
                                        .pid = 42,
                                        .limit = 512 * MIB,
                                        .peak = 100 * MIB,
                                        .shm_total = 64 * MIB,
                                        .available_least = 9000 * MIB,
                                        .machine_total = 16000 * MIB};

static plim__death explain(plim__death_facts facts) {
    plim__death death;
    plim__death_explain(&facts, &death);
    return death;
}

static void kernel_and_hand_are_told_apart(void **state) {
    (void)state;
    plim__death_facts facts = quiet;
    facts.exit_code = -1;
    facts.signal = SIGKILL;
    plim__death death = explain(facts);
    assert_int_equal(death.kind, PLIM_DEATH_KILLED);
    assert_false(death.memory);
    facts.group_counted = true;
    facts.group_kills = 1; /* the machine was short: the group has no limit */
    assert_int_equal(explain(facts).kind, PLIM_DEATH_OOM_MACHINE);
    facts.group_limited = true;
    death = explain(facts);
    assert_int_equal(death.kind, PLIM_DEATH_OOM_CGROUP);
    assert_true(death.memory && death.certain);
    facts.group_kills = 0;
    facts.ours = true;
    facts.kill = (plim__kernel_kill){.pid = 42, .name = "python", .rss = 500 * MIB};
    death = explain(facts);
    assert_int_equal(death.kind, PLIM_DEATH_OOM_MACHINE);
    facts.ours_in_group = true;
    assert_int_equal(explain(facts).kind, PLIM_DEATH_OOM_CGROUP);
}

static void without_the_log_the_machines_count_is_a_likely_cause(void **state) {
    (void)state;
    plim__death_facts facts = quiet;
    facts.exit_code = -1;
    facts.signal = SIGKILL;
    facts.machine_kills = 1;
    assert_int_equal(explain(facts).kind, PLIM_DEATH_KILLED); /* the log was read and names someone else */
    facts.log_read = false;
    plim__death death = explain(facts);
    assert_int_equal(death.kind, PLIM_DEATH_OOM_MACHINE);
    assert_false(death.certain);
    assert_non_null(strstr(death.sentence, "most likely"));
    facts.group_counted = true; /* but its own group counted none */
    assert_int_equal(explain(facts).kind, PLIM_DEATH_KILLED);
}

static void a_shell_tells_of_its_commands_signal(void **state) {
    (void)state;
    plim__death_facts facts = quiet;
    facts.exit_code = 137;
    assert_int_equal(explain(facts).kind, PLIM_DEATH_KILLED);
    facts.group_kills = 1;
    facts.group_limited = true;
    assert_int_equal(explain(facts).kind, PLIM_DEATH_OOM_CGROUP);
    facts.exit_code = 1; /* a worker was killed, and the program gave up */
    assert_int_equal(explain(facts).kind, PLIM_DEATH_OOM_CHILD);
    facts.exit_code = 0;
    assert_int_equal(explain(facts).kind, PLIM_DEATH_NONE);
}

static void bus_error_with_full_shm_is_lack_of_shared_memory(void **state) {
    (void)state;
    plim__death_facts facts = quiet;
    facts.exit_code = -1;
    facts.signal = SIGBUS;
    facts.shm_most = 63 * MIB;
    assert_int_equal(explain(facts).kind, PLIM_DEATH_SHM);
    facts.shm_most = 10 * MIB;
    assert_int_equal(explain(facts).kind, PLIM_DEATH_SIGNAL);
    facts.shm_total = 0;
    assert_int_equal(explain(facts).kind, PLIM_DEATH_SIGNAL);
}

static void a_killer_in_user_space_is_suspected_when_memory_was_short(void **state) {
    (void)state;
    plim__death_facts facts = quiet;
    facts.exit_code = -1;
    facts.signal = SIGKILL;
    facts.available_least = 100 * MIB;
    plim__death death = explain(facts);
    assert_int_equal(death.kind, PLIM_DEATH_KILLED);
    assert_non_null(strstr(death.sentence, "systemd-oomd"));
    assert_false(death.certain);
}

static void every_code_and_signal_has_a_sentence(void **state) {
    (void)state;
    for (int i = 0; i < 256; i++) {
        plim__death_facts facts = quiet;
        facts.exit_code = i;
        assert_true(explain(facts).sentence[0]);
        facts.exit_code = -1;
        facts.signal = 1 + i % 64;
        assert_true(explain(facts).sentence[0]);
    }
}

static void kernel_lines_are_read(void **state) {
    (void)state;
    plim__kernel_kill kill;
    assert_true(plim__kernel_kill_parse(
        "Memory cgroup out of memory: Killed process 28911 (python3) total-vm:120000kB, anon-rss:100kB, "
        "file-rss:20kB, shmem-rss:3kB, UID:0 pgtables:1kB oom_score_adj:0",
        &kill));
    assert_true(kill.pid == 28911 && kill.rss == 123 * 1024 && kill.in_group);
    assert_string_equal(kill.name, "python3");
    assert_true(plim__kernel_kill_parse("Out of memory: Killed process 7 (a) b (c) total-vm:1kB, anon-rss:1kB", &kill));
    assert_false(kill.in_group);
    assert_string_equal(kill.name, "a) b (c");
    assert_true(plim__kernel_kill_parse("Killed process 9 (old) total-vm:1kB, anon-rss:18446744073709551615kB", &kill));
    assert_true(kill.rss == 0);
    const char *others[] = {"", "Killed process", "Killed process x", "Killed process -3 (x)",
                            "oom_reaper: reaped process 5 (x)"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) assert_false(plim__kernel_kill_parse(others[i], &kill));
}

static int64_t step_after(const char *text) {
    plim__steps steps;
    plim__steps_start(&steps);
    plim__steps_feed(&steps, text, strlen(text));
    return plim__steps_now(&steps);
}

static void steps_are_found_as_programs_print_them(void **state) {
    (void)state;
    const struct {
        const char *text;
        int64_t step;
    } cases[] = {{"step 12 loss 0.5\n", 12},
                 {"Step: 7\n", 7},
                 {"[iter 120/500] loss=1\n", 120},
                 {"global_step=99, lr=0.1\n", 99},
                 {"Iteration #3 done\n", 3},
                 {"{'loss': 0.1, 'step': 40}\n", 40},
                 {"epoch 1 batch 5/100 loss 2\n", 5},
                 {"  3%|#    | 31/1000 [00:03<01:40,  9.6it/s]\r", 31},
                 {"Train Epoch: 1 [640/60000 (1%)]\tLoss: 2\n", 640},
                 {"45/1875 [>.....] - ETA: 5s\r", 45},
                 {"loss 0.5\n", -1},
                 {"", -1},
                 {"500 steps in all\n", -1},
                 {"step 12 loss\nsaved checkpoint\n", 12},
                 {"step 12 loss\nstep 1", 12},
                 {"2024/05/01 message\n", -1},
                 {"step 0.5\n", -1},
                 {"mistep 4\n", -1},
                 {"step 99999999999999999999\n", -1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (step_after(cases[i].text) != cases[i].step)
            fail_msg("'%s': %lld, expected %lld", cases[i].text, (long long)step_after(cases[i].text),
                     (long long)cases[i].step);
}

static void steps_go_on_over_epochs(void **state) {
    (void)state;
    plim__steps steps;
    plim__steps_start(&steps);
    const char *lines[] = {"batch 1/3\n", "batch 3/3\n", "batch 1/3\n", "batch 2/3\n"};
    const int64_t expected[] = {1, 3, 4, 5};
    for (int i = 0; i < 4; i++) {
        plim__steps_feed(&steps, lines[i], strlen(lines[i]));
        assert_int_equal(plim__steps_now(&steps), expected[i]);
    }
    char flood[5000];
    memset(flood, 'x', sizeof flood);
    plim__steps_feed(&steps, flood, sizeof flood);
    assert_int_equal(plim__steps_now(&steps), 5); /* what was found stays */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernel_and_hand_are_told_apart),
        cmocka_unit_test(without_the_log_the_machines_count_is_a_likely_cause),
        cmocka_unit_test(a_shell_tells_of_its_commands_signal),
        cmocka_unit_test(bus_error_with_full_shm_is_lack_of_shared_memory),
        cmocka_unit_test(a_killer_in_user_space_is_suspected_when_memory_was_short),
        cmocka_unit_test(every_code_and_signal_has_a_sentence),
        cmocka_unit_test(kernel_lines_are_read),
        cmocka_unit_test(steps_are_found_as_programs_print_them),
        cmocka_unit_test(steps_go_on_over_epochs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
