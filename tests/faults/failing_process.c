/* Preloaded into a program (LD_PRELOAD), this makes one allocation of the whole process fail, whoever asks for it: the
 * program, oneDNN, libgomp, the C++ library. Memory, mappings and threads are counted together, from the end of loading.
 *
 *   PLIM_FAIL_AT=N      the N-th request fails, once; 0 or nothing: none
 *   PLIM_FAIL_COUNT=F   at its end the program's number of requests is written to F
 *
 * A program that knows of it calls plim_failing_at(n), for the n-th request from now, and plim_failing_count(). */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <dlfcn.h>

/* What glibc calls its own functions. */
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);

size_t plim_failing_count(void);
void plim_failing_at(size_t n);

static atomic_size_t requests, fail_at;
static atomic_bool active;

size_t plim_failing_count(void) { return atomic_load(&requests); }
void plim_failing_at(size_t n) { atomic_store(&fail_at, n ? atomic_load(&requests) + n : 0); }

__attribute__((constructor)) static void start(void) {
    const char *text = getenv("PLIM_FAIL_AT");
    atomic_store(&fail_at, text ? strtoull(text, NULL, 10) : 0);
    atomic_store(&active, true);
}

__attribute__((destructor)) static void report(void) {
    const char *path = getenv("PLIM_FAIL_COUNT");
    FILE *file = path ? fopen(path, "w") : NULL;
    if (!file) return;
    fprintf(file, "%zu\n", atomic_load(&requests));
    fclose(file);
}

static bool must_fail(void) {
    return atomic_load_explicit(&active, memory_order_relaxed) &&
           atomic_fetch_add(&requests, 1) + 1 == atomic_load(&fail_at);
}

static void *refuse(void) {
    errno = ENOMEM;
    return NULL;
}

void *malloc(size_t bytes) { return must_fail() ? refuse() : __libc_malloc(bytes); }
void *calloc(size_t count, size_t size) { return must_fail() ? refuse() : __libc_calloc(count, size); }
void *realloc(void *block, size_t bytes) { return must_fail() ? refuse() : __libc_realloc(block, bytes); }
void *memalign(size_t alignment, size_t bytes) { return must_fail() ? refuse() : __libc_memalign(alignment, bytes); }
void *aligned_alloc(size_t alignment, size_t bytes) { return memalign(alignment, bytes); }

int posix_memalign(void **block, size_t alignment, size_t bytes) {
    void *result = memalign(alignment, bytes);
    if (!result) return ENOMEM;
    *block = result;
    return 0;
}

void *mmap(void *address, size_t bytes, int protection, int flags, int file, off_t offset) {
    if (must_fail()) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    return (void *)(uintptr_t)syscall(SYS_mmap, address, bytes, protection, flags, file, offset);
}

void *mmap64(void *address, size_t bytes, int protection, int flags, int file, off_t offset) {
    return mmap(address, bytes, protection, flags, file, offset);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start_routine)(void *),
                   void *argument) {
    static int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    if (!create) *(void **)&create = dlsym(RTLD_NEXT, "pthread_create");
    if (must_fail()) return EAGAIN;
    return create(thread, attributes, start_routine, argument);
}
