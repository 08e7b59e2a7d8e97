/* Measuring matrix products: oneDNN's blocks are mappings of their own (mem/heap.h), so each page of them that is used is
 * one page fault, and factors and result, which were touched before, add none. */
#include "kernel/product_heap.h"

#include <omp.h>
#include <oneapi/dnnl/dnnl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/error.h"
#include "kernel/onednn.h"
#include "kernel/quiet.h"

/* The first run also meets pages of code, and others of the process may meet some at any time: what two runs agree on is
 * the product's. */
#define MOST_RUNS 5
/* Beyond some blocks, for each thread, more depth and more rows are packed where others were before. */
#define BLOCKS      512
#define LEAST_DEPTH 1024
#define LEAST_ROWS  8192
#define TILE        64 /* rows and columns of the result that a thread works on at the least */
/* A larger result is not tried: it has fewer rows then. */
#define MOST_RESULT ((int64_t)256 << 20)

/* --- what was measured ---------------------------------------------------------------------------------------- */

/* Planning asks for the same products again and again. */
#define MOST_KNOWN 256
static struct known {
    plim__product product;
    int threads;
    size_t bytes;
} known[MOST_KNOWN];
static size_t known_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool recall(const plim__product *product, int threads, size_t *bytes) {
    bool found = false;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; !found && i < MOST_KNOWN && i < known_count; i++) {
        found = known[i].threads == threads && plim__product_equal(&known[i].product, product);
        if (found) *bytes = known[i].bytes;
    }
    pthread_mutex_unlock(&lock);
    return found;
}

static void remember(const plim__product *product, int threads, size_t bytes) {
    pthread_mutex_lock(&lock);
    known[known_count++ % MOST_KNOWN] = (struct known){*product, threads, bytes};
    pthread_mutex_unlock(&lock);
}

/* A smaller product that packs as much. Columns count all of them; where the result has few tiles oneDNN splits the depth
 * over the threads, and that counts too. */
static plim__product representative(const plim__product *product, int threads) {
    plim__product p = *product;
    int64_t blocks = BLOCKS * (int64_t)threads, depth = blocks > LEAST_DEPTH ? blocks : LEAST_DEPTH;
    int64_t rows = blocks > LEAST_ROWS ? blocks : LEAST_ROWS;
    if (p.m > rows) p.m = rows;
    int64_t most = MOST_RESULT / (int64_t)sizeof(float) / p.ldc;
    if (p.m > most) p.m = most > LEAST_DEPTH ? most : p.m > LEAST_DEPTH ? LEAST_DEPTH : p.m;
    if (p.k > depth && (p.m / TILE) * (p.n / TILE) >= 4 * (int64_t)threads) p.k = depth;
    return p;
}

/* --- running one ---------------------------------------------------------------------------------------------- */

/* Factors and result. Pages that are only read are all the same zeros, which count nowhere. */
struct matrices {
    float *at[3];
    size_t bytes[3];
};

static size_t matrix_bytes(int64_t rows, int64_t columns, int64_t step) {
    int64_t wide = step > columns ? step : columns;
    return ((size_t)(rows - 1) * (size_t)wide + (size_t)columns) * sizeof(float);
}

static void unmap(struct matrices *m) {
    for (int i = 0; i < 3; i++)
        if (m->at[i]) munmap(m->at[i], m->bytes[i]);
}

static plim_status map(const plim__product *p, struct matrices *m, plim_error *error) {
    bool ta = p->ta == 'T', tb = p->tb == 'T';
    *m = (struct matrices){.bytes = {matrix_bytes(ta ? p->k : p->m, ta ? p->m : p->k, p->lda),
                                     matrix_bytes(tb ? p->n : p->k, tb ? p->k : p->n, p->ldb),
                                     matrix_bytes(p->m, p->n, p->ldc)}};
    for (int i = 0; i < 3; i++) {
        void *memory =
            mmap(NULL, m->bytes[i], PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) {
            unmap(m);
            return plim__fail_memory(error, "trying a matrix product", m->bytes[i]);
        }
        m->at[i] = memory;
    }
    return PLIM_OK;
}

static void touch(const struct matrices *m, size_t page) {
    for (int i = 0; i < 3; i++)
        for (size_t at = 0; at < m->bytes[i]; at += page) {
            volatile char *byte = (volatile char *)m->at[i] + at;
            if (i < 2)
                (void)*byte;
            else
                *byte = 0;
        }
}

static long page_faults(void) {
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_minflt : 0;
}

static bool run(const plim__product *p, const struct matrices *m, size_t page, size_t *bytes) {
    long least = -1;
    for (int i = 0; i < MOST_RUNS; i++) {
        long before = page_faults();
        if (dnnl_sgemm(p->ta, p->tb, p->m, p->n, p->k, 1, m->at[0], p->lda, m->at[1], p->ldb, 0, m->at[2], p->ldc) !=
            dnnl_success)
            return false;
        long faults = page_faults() - before;
        if (faults == least) break;
        if (least < 0 || faults < least) least = faults;
    }
    *bytes = (size_t)least * page;
    return true;
}

plim_status plim__product_packed(const plim__product *product, int threads, size_t *bytes, plim_error *error) {
    struct matrices m;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (threads < 1) threads = 1;
    *bytes = 0;
    if (product->m < 1 || product->n < 1 || product->k < 1 || recall(product, threads, bytes)) return PLIM_OK;
    plim__product smaller = representative(product, threads);
    PLIM_TRY(map(&smaller, &m, error));
    touch(&m, page);
    omp_set_num_threads(product->alone ? 1 : threads);
    plim__quiet quiet = plim__quiet_begin();
    bool fine = run(&smaller, &m, page, bytes);
    plim__quiet_end(&quiet);
    omp_set_num_threads(threads);
    unmap(&m);
    if (!fine) return plim__fail_memory(error, "trying a matrix product", m.bytes[2]);
    if (product->alone) *bytes *= (size_t)threads;
    remember(product, threads, *bytes);
    return PLIM_OK;
}
