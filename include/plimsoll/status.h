/* What a call answers: one status for every public function, and a message for people. */
#ifndef PLIMSOLL_STATUS_H
#define PLIMSOLL_STATUS_H

#if defined(__GNUC__) || defined(__clang__)
#define PLIM_API                 __attribute__((visibility("default")))
#define PLIM_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define PLIM_API
#define PLIM_PRINTF(text, first)
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* One list makes the enum, the names and the sentences. */
#define PLIM_STATUS_LIST(X)                                                                                            \
    X(OK, "success")                                                                                                   \
    X(NO_MEMORY, "an allocation failed")                                                                               \
    X(BUDGET, "the work does not fit the memory budget")                                                               \
    X(INVALID, "an argument is not valid")                                                                             \
    X(NOT_FOUND, "the named thing does not exist")                                                                     \
    X(IO, "reading or writing failed")                                                                                 \
    X(NO_SPACE, "the disk is full")                                                                                    \
    X(CORRUPT, "the data is malformed")                                                                                \
    X(UNSUPPORTED, "this is valid but not supported")                                                                  \
    X(SHAPE, "shapes do not fit together")                                                                             \
    X(DTYPE, "element types do not fit together")                                                                      \
    X(OVERFLOW, "a size is too large to represent")                                                                    \
    X(NUMERIC, "a computation gave NaN or infinity")                                                                   \
    X(INTERRUPTED, "the work was interrupted")                                                                         \
    X(INTERNAL, "an invariant of the library does not hold; please report it")

typedef enum plim_status {
#define PLIM_STATUS_ENUM(name, sentence) PLIM_##name,
    PLIM_STATUS_LIST(PLIM_STATUS_ENUM)
#undef PLIM_STATUS_ENUM
        PLIM_STATUS_COUNT
} plim_status;

/* "NO_MEMORY", never NULL. */
PLIM_API const char *plim_status_name(plim_status status);
/* "an allocation failed", never NULL. */
PLIM_API const char *plim_status_sentence(plim_status status);

/* Filled by a call that fails, owned by the caller; pass NULL when no message is wanted.
 * The message is one line: what happened, with which object, and what to do. */
typedef struct plim_error {
    plim_status status;
    char message[1024];
} plim_error;

/* Frees text that a call gave to the caller (plim_graph_print and others); NULL is fine. */
PLIM_API void plim_text_free(char *text);

#ifdef __cplusplus
}
#endif
#endif
