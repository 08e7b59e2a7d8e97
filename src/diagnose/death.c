/* How a process died. */
#include "diagnose/death.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "mem/procfs.h"
#include "plimsoll/bytes.h"

void plim__signal_name(int number, char *buffer, size_t size) {
    const char *name = sigabbrev_np(number);
    if (name)
        snprintf(buffer, size, "SIG%s", name);
    else
        snprintf(buffer, size, "signal %d", number);
}

const char *plim__death_word(plim__death_kind kind) {
    static const char *const words[] = {"none",      "exit",   "oom_cgroup", "oom_machine",
                                        "oom_child", "killed", "shm_full",   "signal"};
    return (unsigned)kind < sizeof words / sizeof *words ? words[kind] : "none";
}

static PLIM_PRINTF(2, 3) void add(plim__death *death, const char *format, ...) {
    if (death->evidence_count == PLIM_DEATH_EVIDENCE) return;
    va_list args;
    va_start(args, format);
    vsnprintf(death->evidence[death->evidence_count++], sizeof death->evidence[0], format, args);
    va_end(args);
}

static bool shm_is_full(const plim__death_facts *facts) {
    return facts->shm_total > 0 && (double)facts->shm_most >= 0.95 * (double)facts->shm_total;
}

/* --- evidence ------------------------------------------------------------------------------------------------- */

static void add_kernel_evidence(const plim__death_facts *facts, plim__death *death) {
    char size[PLIM_BYTES_TEXT];
    if (facts->ours)
        add(death, "the kernel's log: it killed process %ld (%s), which held %s", (long)facts->kill.pid,
            facts->kill.name, plim_bytes_format(facts->kill.rss, size));
    if (facts->group_kills)
        add(death, "the cgroup's count of processes killed for memory rose by %llu",
            (unsigned long long)facts->group_kills);
    else if (facts->machine_kills)
        add(death, "the machine's count of processes killed for memory (/proc/vmstat) rose by %llu",
            (unsigned long long)facts->machine_kills);
}

static void add_peak_evidence(const plim__death_facts *facts, plim__death *death) {
    char peak[PLIM_BYTES_TEXT], limit[PLIM_BYTES_TEXT];
    plim_bytes_format(facts->peak, peak);
    if (facts->limit != PLIM_NO_LIMIT && facts->limit > 0)
        add(death, "the peak seen was %s of %s allowed (%.0f %%)", peak, plim_bytes_format(facts->limit, limit),
            (double)facts->peak / (double)facts->limit * 100);
    else
        add(death, "the peak seen was %s", peak);
}

/* --- verdicts ------------------------------------------------------------------------------------------------- */

static void explain_oom(const plim__death_facts *facts, bool itself, plim__death *death) {
    bool group = facts->ours ? facts->ours_in_group : facts->group_limited;
    char limit[PLIM_BYTES_TEXT] = "";
    if (facts->limit != PLIM_NO_LIMIT) plim_bytes_format(facts->limit, limit);
    const char *whom = itself ? "the command" : "one of the command's processes";
    death->memory = true;
    death->certain = facts->ours || (facts->group_kills > 0 && itself);
    death->kind = !itself ? PLIM_DEATH_OOM_CHILD : group ? PLIM_DEATH_OOM_CGROUP : PLIM_DEATH_OOM_MACHINE;
    if (group)
        snprintf(death->sentence, sizeof death->sentence,
                 "The kernel killed %s because its cgroup ran out of memory%s%s%s.", whom, *limit ? " (limit " : "",
                 limit, *limit ? ")" : "");
    else
        snprintf(death->sentence, sizeof death->sentence,
                 "The kernel%s killed %s because the machine ran out of memory.", death->certain ? "" : " most likely",
                 whom);
    add_kernel_evidence(facts, death);
    add_peak_evidence(facts, death);
}

static void explain_killed(const plim__death_facts *facts, plim__death *death) {
    death->kind = PLIM_DEATH_KILLED;
    death->certain = facts->log_read || facts->group_kills == 0;
    snprintf(death->sentence, sizeof death->sentence,
             "Someone killed the command (SIGKILL), not the kernel for lack of memory: by hand, a scheduler or a time "
             "limit.");
    if (!facts->machine_kills)
        add(death, "no process was killed for memory while it ran: neither the cgroup's nor the machine's count rose");
    else
        add(death, "the count of processes killed for memory did not rise in its cgroup");
    if (facts->log_read) add(death, "the kernel's log names none of its processes");
    add_peak_evidence(facts, death);
    if (facts->available_least != PLIM_NO_LIMIT && facts->machine_total &&
        facts->available_least < facts->machine_total / 20) {
        char least[PLIM_BYTES_TEXT];
        snprintf(death->sentence, sizeof death->sentence,
                 "Someone other than the kernel killed the command (SIGKILL) while the machine was nearly out of "
                 "memory: perhaps earlyoom or "
                 "systemd-oomd.");
        add(death, "only %s of memory was available at one time", plim_bytes_format(facts->available_least, least));
        death->certain = false;
    }
}

static void explain_bus_error(const plim__death_facts *facts, plim__death *death) {
    char most[PLIM_BYTES_TEXT], total[PLIM_BYTES_TEXT];
    death->kind = PLIM_DEATH_SHM;
    death->memory = death->certain = true;
    snprintf(death->sentence, sizeof death->sentence,
             "The command died of a bus error (SIGBUS) because /dev/shm is full: shared memory, as data loader workers "
             "use it.");
    add(death, "%s of %s in /dev/shm were in use", plim_bytes_format(facts->shm_most, most),
        plim_bytes_format(facts->shm_total, total));
}

static void explain_signal(const plim__death_facts *facts, int number, plim__death *death) {
    char name[32];
    plim__signal_name(number, name, sizeof name);
    death->kind = PLIM_DEATH_SIGNAL;
    death->certain = true;
    const char *meaning = number == SIGABRT   ? ": it gave up by itself"
                          : number == SIGSEGV ? ": it touched memory that is not its own; rarely a lack of it"
                          : number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT
                              ? ": it was asked to stop"
                              : "";
    snprintf(death->sentence, sizeof death->sentence, "The command was ended by %s%s.", name, meaning);
    add_peak_evidence(facts, death);
    if (number == SIGBUS && facts->shm_total) {
        char most[PLIM_BYTES_TEXT], total[PLIM_BYTES_TEXT];
        add(death, "/dev/shm was not full: at most %s of %s", plim_bytes_format(facts->shm_most, most),
            plim_bytes_format(facts->shm_total, total));
    }
}

void plim__death_explain(const plim__death_facts *facts, plim__death *death) {
    memset(death, 0, sizeof *death);
    /* a shell tells the signal that ended its command as 128 + number */
    bool by_shell = facts->signal == 0 && facts->exit_code > 128 && facts->exit_code < 128 + 32;
    int number = facts->signal ? facts->signal : by_shell ? facts->exit_code - 128 : 0;
    bool kernel = facts->ours || facts->group_kills > 0 ||
                  (!facts->log_read && !facts->group_counted && facts->machine_kills > 0);
    if (number == SIGKILL && kernel)
        explain_oom(facts, true, death);
    else if (facts->exit_code != 0 && (facts->ours || facts->group_kills > 0))
        explain_oom(facts, false, death);
    else if (number == SIGKILL)
        explain_killed(facts, death);
    else if (number == SIGBUS && shm_is_full(facts))
        explain_bus_error(facts, death);
    else if (number)
        explain_signal(facts, number, death);
    else {
        death->kind = facts->exit_code ? PLIM_DEATH_EXIT : PLIM_DEATH_NONE;
        death->certain = true;
        snprintf(death->sentence, sizeof death->sentence, "The command left with exit code %d.", facts->exit_code);
        if (facts->exit_code) add_peak_evidence(facts, death);
    }
    if (!death->memory && death->kind != PLIM_DEATH_NONE && facts->other)
        add(death, "the kernel killed process %ld (%s) for memory meanwhile; it was not seen among the command's",
            (long)facts->other_kill.pid, facts->other_kill.name);
    if (by_shell) add(death, "exit code %d is how a shell tells of a signal", facts->exit_code);
}
