/* An allocation that fails inside oneDNN, libgomp or the C++ library ends in a status, in a process that is not ours: the
 * library's calls are made in one where every request of the whole process is counted and one of them fails
 * (failing_process.c, preloaded). PLIM_FAULT_POINTS says how many of them are tried. */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plim_test.h"
#include "plimsoll/plimsoll.h"

#define BATCH  4
#define PIXELS 784

static size_t (*count)(void);
static void (*fail_at)(size_t n);
static char path[] = "/tmp/plim-library-XXXXXX";

/* All a program does with a model; whatever fails, every object is freed. */
static plim_status use(int threads, plim_error *error) {
    static float image[BATCH * PIXELS];
    static int64_t labels[BATCH] = {1, 2, 3, 4};
    plim_graph *model = NULL;
    plim_session *session = NULL;
    plim_trainer *trainer = NULL;
    plim_trainer_options o = {.batch = BATCH,
                              .threads = threads,
                              .loss = plim_loss_default(PLIM_LOSS_CROSS_ENTROPY),
                              .optimizer = plim_optimizer_default(PLIM_ADAMW)};
    plim_status status = plim_graph_load(path, &model, error);
    if (status == PLIM_OK)
        status =
            plim_session_create(model, &(plim_session_options){.batch = BATCH, .threads = threads}, &session, error);
    if (status == PLIM_OK) status = plim_session_run(session, error);
    if (status == PLIM_OK) status = plim_trainer_create(model, &o, &trainer, error);
    for (int i = 0; status == PLIM_OK && i < 2; i++)
        status = plim_trainer_step(trainer, &(plim_batch){BATCH, {image}, labels}, NULL, error);
    plim_trainer_free(trainer);
    plim_session_free(session);
    plim_graph_free(model);
    return status;
}

static size_t points(size_t otherwise) {
    const char *text = getenv("PLIM_FAULT_POINTS");
    return text ? strtoull(text, NULL, 10) : otherwise;
}

static void every_failure_is_a_status(void **state) {
    (void)state;
    plim_error error = {0};
    for (int threads = 1; threads <= 2; threads++) {
        size_t before = count();
        if (use(threads, &error) != PLIM_OK) fail_msg("%s", error.message);
        size_t total = count() - before, most = points(60), told = 0;
        for (size_t i = 1; i <= most; i++) {
            error = (plim_error){0};
            fail_at((i * total + most - 1) / most);
            plim_status status = use(threads, &error);
            fail_at(0);
            if (status != PLIM_OK && status != PLIM_NO_MEMORY)
                fail_msg("point %zu of %zu: status %d, %s", i, most, (int)status, error.message);
            if (status != PLIM_OK && !*error.message) fail_msg("point %zu of %zu: no message", i, most);
            told += status != PLIM_OK;
        }
        assert_true(told > 0); /* else nothing failed */
        if (use(threads, &error) != PLIM_OK) fail_msg("afterwards: %s", error.message);
    }
}

/* The same without what leads the libraries' calls: then some failures do end the process, or the test above saw none. */
static void without_the_reserve_the_process_ends(void **state) {
    (void)state;
    int ended = 0;
    for (size_t i = 1; i <= 12; i++) {
        pid_t child = fork();
        if (child == 0) {
            static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
            plim_error error = {0};
            for (size_t k = 0; k < sizeof signals / sizeof *signals; k++)
                signal(signals[k], SIG_DFL); /* not cmocka's */
            setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
            if (!freopen("/dev/null", "w", stderr)) _exit(3);
            plim_host_configure(&(plim_host_options){.keep_libraries = 1}, NULL);
            fail_at(400 * i);
            use(1, &error);
            _exit(0);
        }
        int status = 0;
        assert_int_equal(waitpid(child, &status, 0), child);
        ended += WIFSIGNALED(status);
    }
    assert_true(ended > 0);
}

int main(int argc, char **argv) {
    (void)argc;
#ifdef __SANITIZE_ADDRESS__
    puts("skipped: sanitizers have an allocator of their own");
    return argv[0] == NULL;
#endif
    *(void **)&count = dlsym(RTLD_DEFAULT, "plim_failing_count");
    *(void **)&fail_at = dlsym(RTLD_DEFAULT, "plim_failing_at");
    if (!count || !fail_at) {
        if (getenv("LD_PRELOAD")) return 1; /* once is enough */
        setenv("LD_PRELOAD", PLIM_FAILING_PROCESS, 1);
        execv("/proc/self/exe", argv);
        return 1;
    }
    unsetenv("LD_PRELOAD");
    plim_graph *model = NULL;
    int file = mkstemp(path);
    if (file < 0 || plim_zoo_create("lenet", &(plim_zoo_options){.width = 4}, &model, NULL) != PLIM_OK ||
        plim_graph_save(model, path, NULL) != PLIM_OK)
        return 1;
    close(file);
    plim_graph_free(model);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_the_reserve_the_process_ends), /* before the calls are led */
        cmocka_unit_test(every_failure_is_a_status),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    return failed;
}
