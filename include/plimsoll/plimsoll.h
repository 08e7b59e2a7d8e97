/** @file
 * Plimsoll: trains neural networks inside a memory budget. Include this one.
 *
 * Names. plim_NOUN_create makes an object, plim_NOUN_load makes one from a file, plim_NOUN_free frees either and takes
 * NULL. plim_NOUN_get_THING fills a struct of the caller; what returns a value is named by the value
 * (plim_graph_input_count). plim_NOUN_name is the word for a member of an enum, plim_NOUN_find finds the member by its word.
 *
 * Failures. A function that can fail returns a plim_status and takes a plim_error for the message, which may be NULL.
 * Arguments that make no sense (NULL where something is needed, negative or huge numbers, lists that do not match) are
 * PLIM_INVALID, and the message names them; nothing aborts, exits or prints. Results that the caller passes a place for are
 * set to NULL or zero on failure. After a failure every object is as it was or can still be freed. Functions that return no
 * status do nothing, or give 0, NULL or "", where an object is NULL or an index is past the end.
 *
 * Options. A struct plim_..._options may be NULL: all defaults. Zero is the default in every field, so {0} and designated
 * initializers work. The first field is the struct's size: 0, or sizeof of it. Fields are only ever added at the end. Those
 * of version 0.1 are always read; one that was added later (its comment says since when) is read when .size says that the
 * struct has it. So programs that were compiled against older headers go on working with a newer library; a newer program
 * with an older library gets PLIM_UNSUPPORTED if it sets a field that the library does not know. Structs inside options
 * (plim_loss, plim_optimizer, plim_schedule) have reserved room instead. Structs that the library fills (results,
 * statistics, reports) grow with a new major version only.
 *
 * Threads. Objects are independent of each other: several threads may use different objects at the same time. One object
 * is for one thread at a time; functions that take it as const may run beside each other. Functions without an object may
 * be called from any thread, but plim_host_configure comes before all others. Exceptions: planning under a budget and
 * budgets themselves are about the whole process, so let one trainer with a budget live at a time. Callbacks run on the
 * thread that made the call (plim_watch_options.output: on threads of the watch) and must not use the object they were
 * called for, but plim_budget_watch_poll and plim_trainer_set_budget from plim_fit_options.on_event.
 *
 * Effects on the process. These, and no others:
 *   heap      training under a budget sets malloc for the whole process (one arena for all threads, blocks of 64 KiB and
 *             more are mappings of their own, memory is trimmed) and fills holes of the heap while it plans.
 *             Declined by plim_host_options.keep_heap.
 *   OpenMP    the number of threads of the calling thread (omp_set_num_threads) becomes that of the options. Declined by
 *             .keep_openmp. Threads of OpenMP stay when objects are freed. A child that is forked after that has none of
 *             them: there .threads must be 1, and objects that were created with more answer PLIM_UNSUPPORTED. libgomp's
 *             threads spin for some milliseconds before they sleep, which is slow where others need the processors:
 *             GOMP_SPINCOUNT=2000 in the environment that the program is started with, as the command line has it.
 *   oneDNN    its cache of kernels is emptied where a budget needs the memory; its capacity stays. Declined by
 *             .keep_kernels.
 *   libraries oneDNN, libgomp and the C++ library end the process where memory is short. What they call for memory, mappings
 *             and threads (malloc, posix_memalign, mmap, pthread_create) is led to functions that call the same and, where
 *             that fails, give back a reserve of 24 MiB of address space and try again. Declined by .keep_libraries.
 *   files     measured rates are kept in $XDG_CACHE_HOME/plimsoll or ~/.cache/plimsoll: read by planning, written by
 *             plim_machine_measure. Declined by .no_cache_files. Under a budget optimizer state may go to a file without a
 *             name in $TMPDIR or /var/tmp: declined by plim_trainer_options.no_spill. Compressed arrays are unpacked to
 *             such a file. A file in $XDG_RUNTIME_DIR or /tmp takes requests while a plim_budget_watch with .requests
 *             lives. Files that are saved are written beside their place and renamed.
 *   threads   a plim_data has worker threads between its first batch and plim_data_free, a plim_watch its own. They block
 *             all signals.
 *   affinity  while plim_fit runs beside busy programs, the calling thread and those of OpenMP may be kept to half of the
 *             processors, if that is faster; threads that are started meanwhile inherit it. Restored when it returns.
 *             Declined by .keep_affinity, and where OpenMP binds threads (OMP_PROC_BIND).
 *   signals   none are caught, but for plim_watch_create, which says what it changes until plim_watch_finish. oneDNN's
 *             matrix product for AVX2 keeps values below its stack, where a handler's frame overwrites them. So threads of
 *             OpenMP block all signals that are not raised by an instruction, and where oneDNN uses AVX2 the calling
 *             thread does while a kernel runs: a handler runs when that kernel is done. Declined by .keep_signals.
 *   others    no environment variable, locale, resource limit or working directory is changed. Environment variables that
 *             are read: TMPDIR, XDG_CACHE_HOME, XDG_RUNTIME_DIR, HOME, PLIMSOLL_COSTS. */
#ifndef PLIMSOLL_PLIMSOLL_H
#define PLIMSOLL_PLIMSOLL_H

#include "plimsoll/alloc.h"
#include "plimsoll/array.h"
#include "plimsoll/budget.h"
#include "plimsoll/bytes.h"
#include "plimsoll/data.h"
#include "plimsoll/diagnose.h"
#include "plimsoll/dtype.h"
#include "plimsoll/evaluate.h"
#include "plimsoll/fit.h"
#include "plimsoll/generate.h"
#include "plimsoll/gradient.h"
#include "plimsoll/graph.h"
#include "plimsoll/host.h"
#include "plimsoll/job.h"
#include "plimsoll/lora.h"
#include "plimsoll/loss.h"
#include "plimsoll/machine.h"
#include "plimsoll/measures.h"
#include "plimsoll/onnx.h"
#include "plimsoll/operators.h"
#include "plimsoll/pack.h"
#include "plimsoll/plan.h"
#include "plimsoll/predict.h"
#include "plimsoll/report.h"
#include "plimsoll/session.h"
#include "plimsoll/size.h"
#include "plimsoll/status.h"
#include "plimsoll/table.h"
#include "plimsoll/tokenizer.h"
#include "plimsoll/train.h"
#include "plimsoll/version.h"
#include "plimsoll/watch.h"
#include "plimsoll/zoo.h"

#endif
