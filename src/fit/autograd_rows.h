/* What PyTorch does with memory for an operator: one row each, in torch_ops.def. */
#ifndef PLIM_FIT_AUTOGRAD_ROWS_H
#define PLIM_FIT_AUTOGRAD_ROWS_H

typedef enum plim__torch_saves {
    PLIM__SAVES_NOTHING,
    PLIM__SAVES_X,
    PLIM__SAVES_X0,
    PLIM__SAVES_Y,
    PLIM__SAVES_MASK,
    PLIM__SAVES_INDEX,
    PLIM__SAVES_STATS,
    PLIM__SAVES_ATTENTION,
    PLIM__SAVES_XY,
    PLIM__SAVES_EQUAL,
    PLIM__SAVES_GELU,
    PLIM__SAVES_NORM
} plim__torch_saves;

typedef enum plim__torch_memory {
    PLIM__MEMORY_NEW,
    PLIM__MEMORY_VIEW,
    PLIM__MEMORY_VIEWED, /* a view whose gradient is a new tensor */
    PLIM__MEMORY_OVER,
    PLIM__MEMORY_PASS
} plim__torch_memory;

typedef enum plim__torch_cast { PLIM__CAST_SAME, PLIM__CAST_HALF, PLIM__CAST_FULL } plim__torch_cast;

/* Operators that are treated apart from what the other columns say. */
typedef enum plim__torch_kind {
    PLIM__TORCH_OTHER,
    PLIM__TORCH_CONV,
    PLIM__TORCH_CONV_TRANSPOSE,
    PLIM__TORCH_MATMUL,
    PLIM__TORCH_GEMM,
    PLIM__TORCH_BATCH_NORM,
    PLIM__TORCH_ADD,
    PLIM__TORCH_ATTENTION,
    PLIM__TORCH_TRANSPOSE,
    PLIM__TORCH_EXPAND,
    PLIM__TORCH_SLICE,
    PLIM__TORCH_SCALE, /* these are told apart in graph mode only */
    PLIM__TORCH_SOFTMAX,
    PLIM__TORCH_LOG_SOFTMAX,
    PLIM__TORCH_LSTM,
    PLIM__TORCH_GRU,
    PLIM__TORCH_RNN
} plim__torch_kind;

typedef struct plim__torch_row {
    const char *name;
    plim__torch_saves saves;
    plim__torch_memory memory;
    plim__torch_cast cast;
    plim__torch_kind kind;
} plim__torch_row;

/* NULL when there is none. */
const plim__torch_row *plim__torch_row_find(const char *name);
/* OTHER when there is no row. */
plim__torch_kind plim__torch_kind_of(const char *name);

#endif
