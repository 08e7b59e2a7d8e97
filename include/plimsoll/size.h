/* How many bytes: a tensor from its shape and type, a file of weights from its header, and what training adds. */
#ifndef PLIMSOLL_SIZE_H
#define PLIMSOLL_SIZE_H

#include <stddef.h>
#include <stdint.h>

#include "plimsoll/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PLIM_SIZE_MAX_RANK 64
#define PLIM_SIZE_NAME     32

typedef struct plim_tensor_size {
    int rank; /* 0 for a scalar */
    int64_t dims[PLIM_SIZE_MAX_RANK];
    char dtype[PLIM_SIZE_NAME]; /* its plain name, whatever alias was given */
    int bits;                   /* of one element */
    const char *note;           /* what surprises people about this type's size; NULL for most; static */
    uint64_t elements, bytes;   /* both fit int64_t, or the call fails */
} plim_tensor_size;

/* Shapes as people and programs write them: "17x23x31", "[8, 3, 224, 224]", "(5,)", "[]", "torch.Size([2, 3])",
 * "f32[2,3]" (then `dtype` may be NULL), "N,3,224,224": letters, "?", "None" and "-1" stand for the batch, which
 * must then be given (`batch` > 0; 0 is "not given"). `dtype` is any name of ONNX or PyTorch, NULL is float32.
 * Elements of less than a byte are packed, as in ONNX; "torch.int4" is PyTorch's, one to a byte. */
PLIM_API plim_status plim_tensor_size_parse(const char *shape, const char *dtype, int64_t batch, plim_tensor_size *size,
                                            plim_error *error);

/* name, how it is written. State is kept in float32:
 * momentum 1 value per parameter; Adam and AdamW 2; Adafactor one per row and one per column of the last two
 * dimensions (one per parameter below two dimensions); 8-bit Adam 2 bytes per parameter and two float32 scales for
 * each block of 2048, tensors of fewer than 4096 elements as Adam's. */
#define PLIM_SIZE_OPTIMIZER_LIST(X)                                                                                    \
    X(SGD, "sgd")                                                                                                      \
    X(MOMENTUM, "momentum")                                                                                            \
    X(ADAM, "adam")                                                                                                    \
    X(ADAMW, "adamw")                                                                                                  \
    X(ADAFACTOR, "adafactor")                                                                                          \
    X(ADAM8BIT, "adam8bit")

typedef enum plim_size_optimizer {
#define PLIM_SIZE_OPTIMIZER_ENUM(name, word) PLIM_SIZE_##name,
    PLIM_SIZE_OPTIMIZER_LIST(PLIM_SIZE_OPTIMIZER_ENUM)
#undef PLIM_SIZE_OPTIMIZER_ENUM
        PLIM_SIZE_OPTIMIZERS
} plim_size_optimizer;

/* fp32: weights and gradients in float32. bf16, fp16: weights and gradients in 16 bits, masters in float32. */
#define PLIM_SIZE_PRECISION_LIST(X)                                                                                    \
    X(FP32, "fp32")                                                                                                    \
    X(BF16, "bf16")                                                                                                    \
    X(FP16, "fp16")

typedef enum plim_size_precision {
#define PLIM_SIZE_PRECISION_ENUM(name, word) PLIM_SIZE_##name,
    PLIM_SIZE_PRECISION_LIST(PLIM_SIZE_PRECISION_ENUM)
#undef PLIM_SIZE_PRECISION_ENUM
        PLIM_SIZE_PRECISIONS
} plim_size_precision;

PLIM_API const char *plim_size_optimizer_name(plim_size_optimizer optimizer);
PLIM_API const char *plim_size_precision_name(plim_size_precision precision);

/* Bytes before any activation. */
typedef struct plim_size_training {
    uint64_t weights;                   /* as trained, in this precision; what is not trained as it is in the file */
    uint64_t gradients, masters, state; /* what training adds */
    uint64_t added;                     /* their sum */
} plim_size_training;

typedef struct plim_size_dtype {
    char name[PLIM_SIZE_NAME];
    uint64_t tensors, elements, bytes;
} plim_size_dtype;

typedef struct plim_size_file {
    const char *format;        /* "safetensors", "sharded safetensors", "PyTorch", "npy", "npz", "ONNX"; static */
    uint64_t files;            /* 1, or the number of shards */
    uint64_t tensors, bytes;   /* data that several tensors share counts once */
    uint64_t elements;         /* of distinct tensors */
    uint64_t trained;          /* elements that have gradients: floating-point, no running statistics */
    plim_size_dtype *by_dtype; /* the most bytes first */
    size_t dtype_count;
    plim_size_training training[PLIM_SIZE_OPTIMIZERS][PLIM_SIZE_PRECISIONS];
} plim_size_file;

/* Reads headers only; .safetensors and its index, .npy, .npz, .pt and .pth, .onnx, told apart by content. Nothing in
 * the file is executed. plim_size_file_free also after a failure. */
PLIM_API plim_status plim_size_file_load(const char *path, plim_size_file *file, plim_error *error);
PLIM_API void plim_size_file_free(plim_size_file *file);

#ifdef __cplusplus
}
#endif
#endif
