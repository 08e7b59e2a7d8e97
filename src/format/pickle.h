/* Reads Python pickles of every protocol (0 to 5) without executing anything: globals stay names, calls stay
 * (callable, arguments, state) records. Works on a stream, within a memory limit, so that a hostile or a
 * gigabyte-sized pickle is either read or refused, never obeyed.
 *
 * Two uses:
 *   - as a tree: read, then walk from plim__pickle_root with the accessors below, then plim__pickle_free;
 *   - as a stream: give a visitor. It sees each finished container (dict, list, tuple, set, call) once, at the
 *     moment it is placed in its parent, and may fold it into a 64-bit token of its own. The container's memory
 *     is freed at once, and later references to it (pickles share objects by number) give the token. So a
 *     reader of a long list of events keeps its own compact record of each and the tree never grows:
 *
 *       a PyTorch snapshot      fold each frame dict into a frame number, each `frames` list into a stack
 *                               number, drop each event dict after recording it; what remains is a few keys.
 *
 * When the source can be rewound, the pickle is scanned once before it is read, to learn which memo entries are
 * ever used again and when for the last time; all others are dropped at once. A pipe cannot, and costs more.
 *
 * Values may share parts and may contain themselves: a recursive walk must bound its own depth. */
#ifndef PLIM_FORMAT_PICKLE_H
#define PLIM_FORMAT_PICKLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plimsoll/status.h"

typedef struct plim__pickle plim__pickle; /* owns every value it gave */

/* A value: eight bytes, passed by copy. Zero ({0}) is "no value", type PLIM__PICKLE_ABSENT. */
typedef struct plim__pickle_value {
    uintptr_t word;
} plim__pickle_value;

typedef enum plim__pickle_type {
    PLIM__PICKLE_ABSENT,
    PLIM__PICKLE_NONE,
    PLIM__PICKLE_BOOL,
    PLIM__PICKLE_INT,
    PLIM__PICKLE_BIG, /* an integer beyond int64_t */
    PLIM__PICKLE_FLOAT,
    PLIM__PICKLE_STRING, /* UTF-8 text; Python 2's str too */
    PLIM__PICKLE_BYTES,  /* bytes, bytearray */
    PLIM__PICKLE_LIST,
    PLIM__PICKLE_TUPLE,
    PLIM__PICKLE_SET, /* frozenset too */
    PLIM__PICKLE_DICT,
    PLIM__PICKLE_GLOBAL,     /* a name: module and attribute, never looked up */
    PLIM__PICKLE_CALL,       /* what would have been executed: callable, arguments, state, items added later */
    PLIM__PICKLE_PERSISTENT, /* a persistent id: one item, what the id is (PyTorch: a tuple that names a storage) */
    PLIM__PICKLE_OPAQUE,     /* an extension code or an out-of-band buffer */
    PLIM__PICKLE_FOLDED,     /* a visitor's token */
} plim__pickle_type;

/* --- accessors: all of them accept any value, and answer "no" for the wrong type ------------------------------ */

plim__pickle_type plim__pickle_type_of(plim__pickle_value value);
/* INT and BOOL. */
bool plim__pickle_int(plim__pickle_value value, int64_t *number);
/* INT, BOOL and BIG where it fits: device addresses may use the 64th bit. Negative numbers do not fit. */
bool plim__pickle_uint(plim__pickle_value value, uint64_t *number);
/* FLOAT, INT, BOOL and BIG (rounded). */
bool plim__pickle_double(plim__pickle_value value, double *number);
/* STRING and BYTES: terminated by a zero byte, and may contain others; NULL for other types. */
const char *plim__pickle_text(plim__pickle_value value, size_t *length);
bool plim__pickle_text_is(plim__pickle_value value, const char *text); /* a STRING equal to `text` */
/* LIST, TUPLE, SET: how many items, and the index-th (ABSENT past the end). A CALL gives the items that were
 * appended to it after the call. A DICT counts its pairs here and gives none. */
size_t plim__pickle_count(plim__pickle_value value);
plim__pickle_value plim__pickle_at(plim__pickle_value value, size_t index);
/* DICT, and a CALL that was filled like one (OrderedDict, defaultdict): the index-th pair in file order; false
 * past the end. A key that was set twice is there twice, the last one counts. */
bool plim__pickle_pair(plim__pickle_value value, size_t index, plim__pickle_value *key, plim__pickle_value *item);
/* The item under a string key, ABSENT when there is none. Searches all pairs: for small dicts. */
plim__pickle_value plim__pickle_get(plim__pickle_value value, const char *key);
/* GLOBAL: "torch" and "FloatStorage". */
bool plim__pickle_global(plim__pickle_value value, const char **module, const char **name);
bool plim__pickle_global_is(plim__pickle_value value, const char *module, const char *name);
/* CALL: what is called, the tuple of its arguments, the state set by BUILD; ABSENT when there is none. */
plim__pickle_value plim__pickle_callable(plim__pickle_value value);
plim__pickle_value plim__pickle_arguments(plim__pickle_value value);
plim__pickle_value plim__pickle_state(plim__pickle_value value);
/* PERSISTENT: the id. */
plim__pickle_value plim__pickle_persistent(plim__pickle_value value);
/* FOLDED. */
bool plim__pickle_token(plim__pickle_value value, int64_t *token);

/* --- reading -------------------------------------------------------------------------------------------------- */

typedef enum plim__pickle_verdict {
    PLIM__PICKLE_KEEP, /* leave it as it is */
    PLIM__PICKLE_FOLD, /* replace it by *token, here and wherever it is referred to */
    PLIM__PICKLE_DROP, /* fold it, and do not even list it in its parent (in a dict its pair goes) */
    PLIM__PICKLE_FAIL, /* stop; the visitor has filled *error */
} plim__pickle_verdict;

typedef struct plim__pickle_visitor {
    void *context;
    /* `key` is the dict key under which the container is placed, ABSENT in other parents. The value and
     * everything in it may be read only during the call. The root is never visited. */
    plim__pickle_verdict (*visit)(void *context, plim__pickle_value key, plim__pickle_value container, int64_t *token,
                                  plim_error *error);
    /* Before each call is written down, wherever it is (also where its result is thrown away): what Python would call.
     * `instance` is true for a plain new object of a class, false where Python would run a function with arguments
     * from the file. Anything but PLIM_OK stops the reading. May be NULL: then every call is written down. */
    plim_status (*call)(void *context, plim__pickle_value callable, bool instance, plim_error *error);
} plim__pickle_visitor;

typedef struct plim__pickle_options {
    const char *name;             /* for messages: the file */
    size_t memory_limit;          /* bytes of everything held at once; 0 is 256 MiB */
    unsigned depth_limit;         /* containers inside containers; 0 is 1000 */
    plim__pickle_visitor visitor; /* both functions may be NULL */
} plim__pickle_options;

/* Where bytes come from. `read` puts up to `capacity` bytes into `buffer`; *got is 0 only at the end. */
typedef struct plim__pickle_source {
    void *context;
    plim_status (*read)(void *context, void *buffer, size_t capacity, size_t *got, plim_error *error);
    plim_status (*rewind)(void *context, plim_error *error); /* back to where the pickle starts; NULL when it cannot */
} plim__pickle_source;

/* Reads one pickle. Options may be NULL. On failure *pickle is NULL; PLIM_CORRUPT for what is malformed or cut
 * off, PLIM_BUDGET when a limit is reached. What a visitor has recorded until then is its own. */
plim_status plim__pickle_read(const plim__pickle_source *source, const plim__pickle_options *options,
                              plim__pickle **pickle, plim_error *error);
/* The same from memory, and from an open file at an offset (regular files are rewound for the scan). */
plim_status plim__pickle_read_memory(const void *data, size_t size, const plim__pickle_options *options,
                                     plim__pickle **pickle, plim_error *error);
plim_status plim__pickle_read_fd(int fd, uint64_t offset, const plim__pickle_options *options, plim__pickle **pickle,
                                 plim_error *error);

plim__pickle_value plim__pickle_root(const plim__pickle *pickle);
uint64_t
plim__pickle_length(const plim__pickle *pickle);       /* bytes of the pickle, its STOP included: the next may follow */
int plim__pickle_protocol(const plim__pickle *pickle); /* as it says itself; 0 when it does not (0 and 1 do not) */
size_t plim__pickle_peak(const plim__pickle *pickle);  /* the most memory held at once */
void plim__pickle_free(plim__pickle *pickle);

#endif
