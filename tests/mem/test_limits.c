/* What the machine allows, read from made-up machines: cgroup versions 1, 2 and both, containers, no limit, rlimits,
 * overcommit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "mem/cgroup.h"
#include "mem/limits.h"
#include "mem/threads.h"

#define MIB (1024ULL * 1024)

static char root[64];

static void put(const char *path, const char *format, ...) {
    char name[4096], text[4096];
    snprintf(name, sizeof name, "%s%s", root, path);
    for (char *slash = strchr(name + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        mkdir(name, 0755);
        *slash = '/';
    }
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

/* A machine with 64 GiB, half of it available, and no limits. */
static int make_machine(void **state) {
    (void)state;
    strcpy(root, "/tmp/plim-limits-XXXXXX");
    if (!mkdtemp(root)) return -1;
    put("/proc/meminfo", "MemTotal:       67108864 kB\nMemFree:        1048576 kB\nMemAvailable:   33554432 kB\n"
                         "SwapTotal:       2097152 kB\nSwapFree:        1048576 kB\nCommitLimit:    12582912 "
                         "kB\nCommitted_AS:    8388608 kB\n");
    put("/proc/sys/vm/overcommit_memory", "0\n");
    put("/proc/self/status", "Name:\tx\nVmSize:\t  102400 kB\nVmData:\t   51200 kB\n");
    put("/proc/self/limits", "Limit                     Soft Limit           Hard Limit           Units     \n"
                             "Max data size             unlimited            unlimited            bytes     \n"
                             "Max resident set          unlimited            unlimited            bytes     \n"
                             "Max address space         unlimited            unlimited            bytes     \n");
    put("/dev/shm/x", "x");
    return 0;
}

static int remove_machine(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", root);
    return system(command) == 0 ? 0 : -1;
}

static plim__limits read_limits(void) {
    plim__limits limits;
    plim_error error;
    assert_int_equal(plim__limits_read(root, 0, &limits, &error), PLIM_OK);
    return limits;
}

static void mount_v1(const char *mount_root) {
    put("/proc/self/mountinfo",
        "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
        "35 31 0:32 %s /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory\n",
        mount_root);
}

static void group_v1(const char *path, const char *limit, unsigned long long usage) {
    char name[512];
#define IN(file) (snprintf(name, sizeof name, "/sys/fs/cgroup/memory%s/%s", path, file), name)
    put(IN("memory.limit_in_bytes"), "%s\n", limit);
    put(IN("memory.usage_in_bytes"), "%llu\n", usage);
    put(IN("memory.max_usage_in_bytes"), "%llu\n", usage + 1);
    put(IN("memory.oom_control"), "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n");
    put(IN("memory.stat"), "cache 0\ntotal_inactive_file %llu\n", 10 * MIB);
#undef IN
}

static void mount_v2(const char *mount_root, const char *where) {
    put("/proc/self/mountinfo", "29 23 0:26 %s %s rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n", mount_root, where);
}

static void group_v2(const char *path, const char *max, const char *high, unsigned long long usage) {
    char name[512];
#define IN(file) (snprintf(name, sizeof name, "/sys/fs/cgroup%s/%s", path, file), name)
    put(IN("memory.max"), "%s\n", max);
    put(IN("memory.high"), "%s\n", high);
    put(IN("memory.current"), "%llu\n", usage);
    put(IN("memory.peak"), "%llu\n", usage + 1);
    put(IN("memory.swap.max"), "%llu\n", 100 * MIB);
    put(IN("memory.swap.current"), "%llu\n", 7 * MIB);
    put(IN("memory.events"), "low 0\nhigh 0\nmax 12\noom 2\noom_kill 2\noom_group_kill 0\n");
    put(IN("memory.stat"), "anon 5\nfile 6\ninactive_file %llu\n", 10 * MIB);
#undef IN
}

static void without_a_cgroup_available_memory_binds(void **state) {
    (void)state;
    plim__limits limits = read_limits();
    assert_int_equal(limits.cgroup.version, 0);
    assert_int_equal(limits.limiter, PLIM_LIMITER_PHYSICAL);
    assert_true(limits.available == 32768 * MIB && limits.memory_total == 65536 * MIB);
    assert_true(limits.swap_total == 2048 * MIB && limits.swap_free == 1024 * MIB);
    assert_true(limits.shm_present && limits.shm_total > 0);
    assert_true(limits.rlimit_as == PLIM_NO_LIMIT && limits.cgroup_state.limit == PLIM_NO_LIMIT);
}

static void v1_group_binds(void **state) {
    (void)state;
    mount_v1("/");
    put("/proc/self/cgroup", "4:memory:/jobs/one\n3:cpuset:/\n0::/\n");
    group_v1("", "9223372036854771712", 9000 * MIB);
    group_v1("/jobs", "9223372036854771712", 900 * MIB);
    group_v1("/jobs/one", "1073741824", 500 * MIB);
    plim__limits limits = read_limits();
    assert_int_equal(limits.cgroup.version, 1);
    assert_int_equal(limits.limiter, PLIM_LIMITER_CGROUP);
    assert_true(limits.cgroup_state.limit == 1024 * MIB && limits.available == (1024 - 490) * MIB);
    assert_true(limits.cgroup_state.usage == 500 * MIB && limits.cgroup_state.peak == 500 * MIB + 1);
    assert_true(limits.cgroup_state.oom_kills == 3);
    assert_string_equal(plim__limiter_name(&limits), "the cgroup's memory.limit_in_bytes");
}

static void v1_soft_limit_is_a_wish(void **state) {
    (void)state;
    const char *name;
    mount_v1("/");
    put("/proc/self/cgroup", "4:memory:/jobs/one\n");
    group_v1("", "9223372036854771712", 9000 * MIB);
    group_v1("/jobs/one", "1073741824", 500 * MIB);
    put("/sys/fs/cgroup/memory/jobs/one/memory.soft_limit_in_bytes", "9223372036854771712\n");
    plim__limits limits = read_limits();
    assert_true(plim__limits_allowance(&limits, 400 * MIB, &name) == (1024 - 90) * MIB);
    assert_string_equal(name, "the cgroup's memory.limit_in_bytes");
    put("/sys/fs/cgroup/memory/jobs/one/memory.soft_limit_in_bytes", "%llu\n", 600 * MIB);
    limits = read_limits();
    assert_true(limits.cgroup_state.soft == 600 * MIB && limits.available == (1024 - 490) * MIB); /* none is enforced */
    assert_true(plim__limits_allowance(&limits, 400 * MIB, &name) == (600 - 90) * MIB);
    assert_string_equal(name, "the cgroup's memory.soft_limit_in_bytes");
    /* below what is used: the difference has to go */
    put("/sys/fs/cgroup/memory/jobs/one/memory.soft_limit_in_bytes", "%llu\n", 200 * MIB);
    limits = read_limits();
    assert_true(plim__limits_allowance(&limits, 400 * MIB, NULL) == (200 - 90) * MIB);
    put("/sys/fs/cgroup/memory/jobs/one/memory.soft_limit_in_bytes", "%llu\n", 50 * MIB); /* others use more */
    limits = read_limits();
    assert_true(plim__limits_allowance(&limits, 400 * MIB, NULL) == 0);
}

static void a_limit_that_fell_below_what_is_used_leaves_less(void **state) {
    (void)state;
    mount_v2("/", "/sys/fs/cgroup");
    put("/proc/self/cgroup", "0::/jobs\n");
    group_v2("/jobs", "max", "1073741824", 1200 * MIB);
    plim__limits limits = read_limits();
    assert_true(limits.available == 0);
    assert_true(plim__limits_allowance(&limits, 1100 * MIB, NULL) == (1100 - 166) * MIB);
}

/* What another group has read first is charged to that one, and resident here all the same. */
static void pages_that_others_pay_for_do_not_raise_a_limit(void **state) {
    (void)state;
    mount_v2("/", "/sys/fs/cgroup");
    put("/proc/self/cgroup", "0::/jobs\n");
    group_v2("/jobs", "max", "209715200", 2 * MIB);
    plim__limits limits = read_limits();
    assert_true(limits.available > 190 * MIB);
    assert_true(plim__limits_allowance(&limits, 30 * MIB, NULL) == 200 * MIB);
    group_v2("/jobs", "125829120", "209715200", 2 * MIB);
    limits = read_limits();
    assert_true(plim__limits_allowance(&limits, 30 * MIB, NULL) == 120 * MIB);
}

static void v1_parent_binds_before_its_child(void **state) {
    (void)state;
    mount_v1("/");
    put("/proc/self/cgroup", "4:cpu,memory:/jobs/one\n");
    group_v1("/jobs", "1073741824", 1000 * MIB);
    group_v1("/jobs/one", "2147483648", 100 * MIB);
    put("/sys/fs/cgroup/memory/jobs/one/memory.stat",
        "hierarchical_memory_limit 1073741824\n"); /* as the kernel has it */
    plim__limits limits = read_limits();
    assert_true(limits.cgroup_state.limit == 1024 * MIB && limits.available == 34 * MIB);
    assert_non_null(strstr(limits.cgroup_state.limit_folder, "/memory/jobs"));
    assert_null(strstr(limits.cgroup_state.limit_folder, "/one"));
}

static void v1_no_limit_is_none(void **state) {
    (void)state;
    mount_v1("/");
    put("/proc/self/cgroup", "4:memory:/jobs\n");
    group_v1("", "9223372036854771712", 1);
    group_v1("/jobs", "9223372036854710272", 1); /* 64 KiB pages */
    plim__limits limits = read_limits();
    assert_int_equal(limits.cgroup.version, 1);
    assert_true(limits.cgroup_state.limit == PLIM_NO_LIMIT && limits.cgroup_state.available == PLIM_NO_LIMIT);
    assert_int_equal(limits.limiter, PLIM_LIMITER_PHYSICAL);
}

static void v1_container_sees_its_own_group_at_the_mount(void **state) {
    (void)state;
    mount_v1("/docker/abc");
    put("/proc/self/cgroup", "4:memory:/docker/abc\n");
    group_v1("", "536870912", 100 * MIB);
    assert_true(read_limits().cgroup_state.limit == 512 * MIB);
}

static void v1_limit_of_a_hidden_parent_counts(void **state) {
    (void)state;
    mount_v1("/kubepods/pod1/c1");
    put("/proc/self/cgroup", "4:memory:/kubepods/pod1/c1\n");
    group_v1("", "9223372036854771712", 100 * MIB);
    put("/sys/fs/cgroup/memory/memory.stat", "hierarchical_memory_limit 268435456\ntotal_inactive_file 0\n");
    plim__limits limits = read_limits();
    assert_true(limits.cgroup_state.limit == 256 * MIB && limits.available == 156 * MIB);
}

static void v2_group_and_parents_bind(void **state) {
    (void)state;
    mount_v2("/", "/sys/fs/cgroup");
    put("/proc/self/cgroup", "0::/user.slice/run.scope\n");
    group_v2("/user.slice", "2147483648", "max", 1000 * MIB);
    group_v2("/user.slice/run.scope", "max", "max", 600 * MIB);
    plim__limits limits = read_limits();
    assert_int_equal(limits.cgroup.version, 2);
    assert_true(limits.cgroup_state.limit == 2048 * MIB && limits.available == (2048 - 990) * MIB);
    assert_true(limits.cgroup_state.usage == 600 * MIB && limits.cgroup_state.oom_kills == 2);
    assert_true(limits.cgroup_state.swap_limit == 100 * MIB && limits.cgroup_state.swap_usage == 7 * MIB);
    assert_string_equal(plim__limiter_name(&limits), "the cgroup's memory.max");
}

static void v2_high_binds_before_max(void **state) {
    (void)state;
    mount_v2("/", "/sys/fs/cgroup");
    put("/proc/self/cgroup", "0::/a\n");
    group_v2("/a", "2147483648", "1073741824", 1000 * MIB);
    plim__limits limits = read_limits();
    assert_int_equal(limits.limiter, PLIM_LIMITER_CGROUP_HIGH);
    assert_true(limits.available == 34 * MIB && limits.cgroup_state.high == 1024 * MIB);
}

static void v2_namespace_root_is_the_mount(void **state) {
    (void)state;
    mount_v2("/", "/sys/fs/cgroup");
    put("/proc/self/cgroup", "0::/\n");
    group_v2("", "1073741824", "max", 10 * MIB);
    assert_true(read_limits().cgroup_state.limit == 1024 * MIB);
    put("/proc/self/cgroup", "0::/../sibling\n"); /* moved outside of its namespace */
    assert_true(read_limits().cgroup_state.limit == 1024 * MIB);
}

static void v2_without_limits_is_none(void **state) {
    (void)state;
    mount_v2("/", "/sys/fs/cgroup");
    put("/proc/self/cgroup", "0::/a\n");
    group_v2("/a", "max", "max", 10 * MIB);
    plim__limits limits = read_limits();
    assert_int_equal(limits.cgroup.version, 2);
    assert_true(limits.cgroup_state.limit == PLIM_NO_LIMIT);
    assert_int_equal(limits.limiter, PLIM_LIMITER_PHYSICAL);
}

static void hybrid_takes_the_hierarchy_that_has_memory(void **state) {
    (void)state;
    put("/proc/self/mountinfo", "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
                                "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
    put("/proc/self/cgroup", "4:memory:/job\n0::/elsewhere\n");
    group_v1("/job", "1073741824", 1 * MIB);
    plim__limits limits = read_limits();
    assert_int_equal(limits.cgroup.version, 1);
    assert_true(limits.cgroup_state.limit == 1024 * MIB);
    put("/proc/self/cgroup", "3:cpu:/job\n0::/\n"); /* the controller moved to version 2 */
    assert_int_equal(read_limits().cgroup.version, 2);
}

static void mount_points_with_blanks_are_found(void **state) {
    (void)state;
    mount_v2("/", "/sys/fs/c\\040group");
    put("/proc/self/cgroup", "0::/\n");
    put("/sys/fs/c group/memory.max", "4096\n");
    assert_true(read_limits().cgroup_state.limit == 4096);
}

static void a_group_that_is_gone_leaves_its_parent(void **state) {
    (void)state;
    mount_v2("/", "/sys/fs/cgroup");
    put("/proc/self/cgroup", "0::/a/b/c (deleted)\n");
    group_v2("/a", "1073741824", "max", 10 * MIB);
    assert_true(read_limits().cgroup_state.limit == 1024 * MIB);
}

static void address_space_and_data_limits_bind(void **state) {
    (void)state;
    put("/proc/self/limits", "Max data size             104857600            unlimited            bytes     \n"
                             "Max address space         1073741824           unlimited            bytes     \n");
    plim__limits limits = read_limits();
    assert_int_equal(limits.limiter, PLIM_LIMITER_RLIMIT_DATA);
    assert_true(limits.available == 50 * MIB && limits.rlimit_as == 1024 * MIB);
    plim_limiter limiter;
    assert_true(plim__limits_ceiling(&limits, &limiter) == 100 * MIB);
    assert_int_equal(limiter, PLIM_LIMITER_RLIMIT_DATA);
}

static void commit_limit_binds_in_mode_2_only(void **state) {
    (void)state;
    assert_int_equal(read_limits().limiter, PLIM_LIMITER_PHYSICAL);
    put("/proc/sys/vm/overcommit_memory", "2\n");
    plim__limits limits = read_limits();
    assert_int_equal(limits.limiter, PLIM_LIMITER_COMMIT);
    assert_true(limits.available == 4096 * MIB);
}

static void garbage_is_no_limit(void **state) {
    (void)state;
    mount_v2("/", "/sys/fs/cgroup");
    put("/proc/self/cgroup", "\n::\nnonsense\n0::/a\n");
    group_v2("/a", "-5", "12x", 10 * MIB);
    put("/sys/fs/cgroup/a/memory.events", "oom_kill\n");
    put("/proc/self/limits", "Max address space");
    plim__limits limits = read_limits();
    assert_true(limits.cgroup_state.limit == PLIM_NO_LIMIT && limits.cgroup_state.high == PLIM_NO_LIMIT);
    assert_true(limits.cgroup_state.oom_kills == 0 && limits.rlimit_as == PLIM_NO_LIMIT);
}

static void no_proc_is_an_error(void **state) {
    (void)state;
    plim__limits limits;
    plim_error error;
    assert_int_equal(plim__limits_read("/nonexistent", 0, &limits, &error), PLIM_IO);
    assert_non_null(strstr(error.message, "/nonexistent/proc/meminfo"));
}

static void this_machine_agrees_with_setrlimit(void **state) {
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        struct rlimit limit = {1ULL << 46, 1ULL << 46};
        plim__limits limits;
        bool good = setrlimit(RLIMIT_AS, &limit) == 0 && plim__limits_read("", 0, &limits, NULL) == PLIM_OK &&
                    limits.rlimit_as == limit.rlim_cur && limits.virtual_bytes > 0 && limits.memory_total > 0;
        _exit(good ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_machine, remove_machine)

/* The tightest quota of processor time, of the own group or one above; whole threads, at least one. */
static void quotas_of_processor_time_limit_threads(void **state) {
    (void)state;
    assert_true(plim__cgroup_processors(root, 0) == 0);
    mount_v2("/", "/sys/fs/cgroup");
    put("/proc/self/cgroup", "0::/jobs/one\n");
    put("/sys/fs/cgroup/jobs/one/cpu.max", "max 100000\n");
    assert_true(plim__cgroup_processors(root, 0) == 0);
    int all = plim__threads_useful(root);
    put("/sys/fs/cgroup/jobs/cpu.max", "50000 100000\n");
    assert_true(plim__cgroup_processors(root, 0) == 0.5);
    assert_int_equal(plim__threads_useful(root), 1);
    put("/sys/fs/cgroup/jobs/cpu.max", "100000000 100000\n");
    assert_int_equal(plim__threads_useful(root), all);
    put("/sys/fs/cgroup/jobs/one/cpu.max", "140000 100000\n");
    assert_int_equal(plim__threads_useful(root), 1);
}

static void quotas_of_version_1_have_their_own_hierarchy(void **state) {
    (void)state;
    mount_v1("/");
    put("/proc/self/cgroup", "7:memory:/other\n4:cpu,cpuacct:/jobs\n");
    put("/sys/fs/cgroup/cpu/jobs/cpu.cfs_quota_us", "-1\n");
    put("/sys/fs/cgroup/cpu/jobs/cpu.cfs_period_us", "100000\n");
    assert_true(plim__cgroup_processors(root, 0) == 0);
    put("/sys/fs/cgroup/cpu/jobs/cpu.cfs_quota_us", "75000\n");
    assert_true(plim__cgroup_processors(root, 0) == 0.75);
    put("/sys/fs/cgroup/cpu/jobs/cpu.cfs_period_us", "0\n");
    assert_true(plim__cgroup_processors(root, 0) == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(without_a_cgroup_available_memory_binds),
        TEST(v1_group_binds),
        TEST(v1_parent_binds_before_its_child),
        TEST(v1_no_limit_is_none),
        TEST(v1_container_sees_its_own_group_at_the_mount),
        TEST(v1_limit_of_a_hidden_parent_counts),
        TEST(v2_group_and_parents_bind),
        TEST(v2_high_binds_before_max),
        TEST(v1_soft_limit_is_a_wish),
        TEST(a_limit_that_fell_below_what_is_used_leaves_less),
        TEST(pages_that_others_pay_for_do_not_raise_a_limit),
        TEST(v2_namespace_root_is_the_mount),
        TEST(v2_without_limits_is_none),
        TEST(hybrid_takes_the_hierarchy_that_has_memory),
        TEST(mount_points_with_blanks_are_found),
        TEST(a_group_that_is_gone_leaves_its_parent),
        TEST(address_space_and_data_limits_bind),
        TEST(commit_limit_binds_in_mode_2_only),
        TEST(garbage_is_no_limit),
        TEST(no_proc_is_an_error),
        TEST(this_machine_agrees_with_setrlimit),
        TEST(quotas_of_processor_time_limit_threads),
        TEST(quotas_of_version_1_have_their_own_hierarchy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
