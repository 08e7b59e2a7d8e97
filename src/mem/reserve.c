/* The reserve, and the import tables of libraries that depend on it. */
#include "mem/reserve.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <link.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "core/error.h"
#include "core/host.h"
#include "plimsoll/bytes.h"

/* What creating one primitive, or the first run of a matrix product, takes at most: code pages for each of its kernels, and
 * tables; products make 16 kernels of up to 0.5 MiB at once. Addresses only: nothing of it is resident. */
#define RESERVE_BYTES ((size_t)24 << 20)

/* --- the reserve ------------------------------------------------------------------------------------------------- */

static _Atomic(void *) reserve;

/* False: it was spent already, and trying again is useless. */
static bool give_back(void) {
    void *block = atomic_exchange(&reserve, NULL);
    if (!block) return false;
    munmap(block, RESERVE_BYTES);
    return true;
}

bool plim__reserve_is_spent(void) { return !atomic_load_explicit(&reserve, memory_order_relaxed); }

/* --- what the libraries call instead ----------------------------------------------------------------------------- */

static void *malloc_again(size_t bytes) {
    void *block = malloc(bytes);
    return block || !bytes || !give_back() ? block : malloc(bytes);
}

static void *calloc_again(size_t count, size_t size) {
    void *block = calloc(count, size);
    return block || !count || !size || !give_back() ? block : calloc(count, size);
}

static void *realloc_again(void *old, size_t bytes) {
    void *block = realloc(old, bytes);
    return block || !bytes || !give_back() ? block : realloc(old, bytes);
}

static void *memalign_again(size_t alignment, size_t bytes) {
    void *block = memalign(alignment, bytes);
    return block || !bytes || !give_back() ? block : memalign(alignment, bytes);
}

static int posix_memalign_again(void **block, size_t alignment, size_t bytes) {
    int result = posix_memalign(block, alignment, bytes);
    return result != ENOMEM || !give_back() ? result : posix_memalign(block, alignment, bytes);
}

static void *mmap_again(void *address, size_t bytes, int protection, int flags, int file, off_t offset) {
    void *block = mmap(address, bytes, protection, flags, file, offset);
    return block != MAP_FAILED || !give_back() ? block : mmap(address, bytes, protection, flags, file, offset);
}

/* Others' threads may end meanwhile. */
static int pthread_create_again(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
                                void *argument) {
    static const long wait[] = {0, 1000000, 10000000, 100000000};
    int result = pthread_create(thread, attributes, start, argument);
    for (size_t i = 0; result == EAGAIN && i < sizeof wait / sizeof *wait; i++) {
        give_back();
        nanosleep(&(struct timespec){0, wait[i]}, NULL);
        result = pthread_create(thread, attributes, start, argument);
    }
    return result;
}

/* --- import tables ----------------------------------------------------------------------------------------------- */

#if defined(__x86_64__)
#define JUMP_SLOT R_X86_64_JUMP_SLOT
#define GLOB_DAT  R_X86_64_GLOB_DAT
#elif defined(__aarch64__)
#define JUMP_SLOT R_AARCH64_JUMP_SLOT
#define GLOB_DAT  R_AARCH64_GLOB_DAT
#endif

#ifdef JUMP_SLOT
typedef void (*function)(void);

static const struct call {
    const char *name;
    function instead;
} calls[] = {
    {"malloc", (function)malloc_again},
    {"calloc", (function)calloc_again},
    {"realloc", (function)realloc_again},
    {"memalign", (function)memalign_again},
    {"aligned_alloc", (function)memalign_again},
    {"posix_memalign", (function)posix_memalign_again},
    {"mmap", (function)mmap_again},
    {"pthread_create", (function)pthread_create_again},
};

static const char *const libraries[] = {"libdnnl.so", "libgomp.so", "libomp.so", "libstdc++.so"};

/* Entries that were changed: restored when this library is unloaded before them. */
static struct change {
    function *slot, before;
    size_t protected_page; /* address; 0: writable as it is */
} changes[64];
static size_t change_count;

static void set_slot(const struct change *change, function to) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *start = (void *)change->protected_page;
    if (start && mprotect(start, page, PROT_READ | PROT_WRITE) != 0) return;
    __atomic_store_n(change->slot, to, __ATOMIC_RELEASE);
    if (start) mprotect(start, page, PROT_READ);
}

struct tables {
    const ElfW(Sym) * symbols;
    const char *names;
    const ElfW(Rela) * rows[2];
    size_t bytes[2];
};

static const void *at(const struct dl_phdr_info *library, ElfW(Addr) address) {
    return (const void *)(address < library->dlpi_addr ? library->dlpi_addr + address : address);
}

static struct tables tables_of(const struct dl_phdr_info *library) {
    struct tables t = {0};
    const ElfW(Dyn) *entry = NULL;
    for (int i = 0; i < library->dlpi_phnum; i++)
        if (library->dlpi_phdr[i].p_type == PT_DYNAMIC)
            entry = (const void *)(library->dlpi_addr + library->dlpi_phdr[i].p_vaddr);
    for (; entry && entry->d_tag != DT_NULL; entry++) switch (entry->d_tag) {
        case DT_SYMTAB: t.symbols = at(library, entry->d_un.d_ptr); break;
        case DT_STRTAB: t.names = at(library, entry->d_un.d_ptr); break;
        case DT_JMPREL: t.rows[0] = at(library, entry->d_un.d_ptr); break;
        case DT_PLTRELSZ: t.bytes[0] = entry->d_un.d_val; break;
        case DT_RELA: t.rows[1] = at(library, entry->d_un.d_ptr); break;
        case DT_RELASZ: t.bytes[1] = entry->d_un.d_val; break;
        default: break;
        }
    return t;
}

/* The page of an entry that the loader made read-only; 0 for none. */
static size_t protected_page(const struct dl_phdr_info *library, size_t slot) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE), start = slot / page * page;
    for (int i = 0; i < library->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &library->dlpi_phdr[i];
        size_t from = library->dlpi_addr + part->p_vaddr, to = (from + part->p_memsz) / page * page;
        if (part->p_type == PT_GNU_RELRO && slot >= from / page * page && slot < to) return start;
    }
    return 0;
}

static void lead_row(const struct dl_phdr_info *library, const struct tables *t, const ElfW(Rela) * row) {
    size_t type = ELF64_R_TYPE(row->r_info);
    if (type != JUMP_SLOT && type != GLOB_DAT) return;
    const char *name = t->names + t->symbols[ELF64_R_SYM(row->r_info)].st_name;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        if (strcmp(name, calls[i].name) != 0 || change_count == sizeof changes / sizeof *changes) continue;
        size_t slot = library->dlpi_addr + row->r_offset;
        struct change change = {(function *)slot, *(function *)slot, protected_page(library, slot)};
        changes[change_count++] = change;
        set_slot(&change, calls[i].instead);
    }
}

static int lead_library(struct dl_phdr_info *library, size_t size, void *context) {
    (void)size, (void)context;
    const char *slash = strrchr(library->dlpi_name, '/'), *name = slash ? slash + 1 : library->dlpi_name;
    bool ours = false;
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
        ours |= strncmp(name, libraries[i], strlen(libraries[i])) == 0;
    if (!ours) return 0;
    struct tables t = tables_of(library);
    if (!t.symbols || !t.names) return 0;
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; t.rows[k] && i < t.bytes[k] / sizeof *t.rows[k]; i++) lead_row(library, &t, &t.rows[k][i]);
    return 0;
}

static void lead_calls(void) { dl_iterate_phdr(lead_library, NULL); }

__attribute__((destructor)) static void restore(void) {
    while (change_count > 0) {
        const struct change *change = &changes[--change_count];
        set_slot(change, change->before);
    }
}
#else
static void lead_calls(void) {}
#endif

/* ----------------------------------------------------------------------------------------------------------------- */

static void prepare_calls(void) {
    void *none[1];
    (void)backtrace(none, 0); /* the C library loads what unwinds now: where it cannot, an exception ends the process */
    lead_calls();
}

plim_status plim__reserve_fill(plim_error *error) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    char text[PLIM_BYTES_TEXT];
    if (!plim__host_keeps_libraries()) pthread_once(&once, prepare_calls);
    if (!plim__reserve_is_spent()) return PLIM_OK;
    void *block = mmap(NULL, RESERVE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *none = NULL;
    if (block == MAP_FAILED)
        return plim__fail(error, PLIM_NO_MEMORY,
                          "out of memory: making kernels needs %s of address space (see ulimit -v, ulimit -d)",
                          plim_bytes_format(RESERVE_BYTES, text));
    if (!atomic_compare_exchange_strong(&reserve, &none, block)) munmap(block, RESERVE_BYTES); /* somebody else did */
    return PLIM_OK;
}
