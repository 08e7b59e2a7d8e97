/* What a log tells beyond its message: what the program was doing, where in the user's code, how far it had come,
 * which versions and settings it names. Fixes depend on it; causes do not. */
#ifndef PLIM_DIAGNOSE_CONTEXT_H
#define PLIM_DIAGNOSE_CONTEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "diagnose/scan.h"
#include "diagnose/text.h"
#include "plimsoll/diagnose.h"

/* Words in the log, each a bit. */
#define PLIM_CONTEXT_LIST(X)                                                                                           \
    X(WINDOWS)                                                                                                         \
    X(MAC)                                                                                                             \
    X(AMD)                                                                                                             \
    X(JETSON)                                                                                                          \
    X(WSL)                                                                                                             \
    X(COLAB)                                                                                                           \
    X(KAGGLE)                                                                                                          \
    X(NOTEBOOK)                                                                                                        \
    X(TRAINING)                                                                                                        \
    X(TRAINER)                                                                                                         \
    X(LIGHTNING)                                                                                                       \
    X(DEEPSPEED)                                                                                                       \
    X(LORA)                                                                                                            \
    X(KERAS)                                                                                                           \
    X(DETECTION)                                                                                                       \
    X(SEQUENCES)                                                                                                       \
    X(IMAGES)                                                                                                          \
    X(DIFFUSION)                                                                                                       \
    X(DIFFUSERS)                                                                                                       \
    X(COMFY)                                                                                                           \
    X(WEBUI)                                                                                                           \
    X(KOHYA)                                                                                                           \
    X(LLM)                                                                                                             \
    X(VLLM)                                                                                                            \
    X(SGLANG)                                                                                                          \
    X(OLLAMA)                                                                                                          \
    X(LLAMA)                                                                                                           \
    X(WHISPER)                                                                                                         \
    X(TRANSFORMERS)                                                                                                    \
    X(PRETRAINED)                                                                                                      \
    X(TORCH_LOAD)                                                                                                      \
    X(GRAPHS)                                                                                                          \
    X(MULTIGPU)                                                                                                        \
    X(EXPANDABLE)                                                                                                      \
    X(SPLIT_SIZE)                                                                                                      \
    X(CHECKPOINTING)                                                                                                   \
    X(HALF)                                                                                                            \
    X(QUANTIZED)                                                                                                       \
    X(NO_GRAD)                                                                                                         \
    X(OFFLOAD)                                                                                                         \
    X(GROWTH)                                                                                                          \
    X(LOWVRAM)                                                                                                         \
    X(WATERMARK)                                                                                                       \
    X(DATALOADER)                                                                                                      \
    X(WORKERS_ZERO)                                                                                                    \
    X(CNTK)                                                                                                            \
    X(LUA)                                                                                                             \
    X(XLA_TORCH)                                                                                                       \
    X(BESIDE_GRADIENT)                                                                                                 \
    X(TENSORRT)                                                                                                        \
    X(PYTORCH)                                                                                                         \
    X(TENSORFLOW)                                                                                                      \
    X(JAX)                                                                                                             \
    X(ONNXRUNTIME)                                                                                                     \
    X(SPARK)                                                                                                           \
    X(NEXTFLOW)                                                                                                        \
    X(PYTHON)                                                                                                          \
    X(MLX)                                                                                                             \
    X(OPTIMIZER8)                                                                                                      \
    X(INFERENCE)                                                                                                       \
    X(TRTLLM)                                                                                                          \
    X(MXNET)                                                                                                           \
    X(PADDLE)                                                                                                          \
    X(CUPY)                                                                                                            \
    X(EVALUATION)                                                                                                      \
    X(SAVING)                                                                                                          \
    X(LINUX)                                                                                                           \
    X(JULIA)                                                                                                           \
    X(LIGHTGBM)                                                                                                        \
    X(DARKNET)                                                                                                         \
    X(WEIGHTS)                                                                                                         \
    X(SUBDIVIDED)                                                                                                      \
    X(WAS_KILLED)                                                                                                      \
    X(LOADING)                                                                                                         \
    X(GROWS)                                                                                                           \
    X(PROTEIN)                                                                                                         \
    X(BATCH_ONE)                                                                                                       \
    X(BATCH_TRIED)                                                                                                     \
    X(LOOP)                                                                                                            \
    X(VISIBLE)                                                                                                         \
    X(EAGER)                                                                                                           \
    X(SHORT_CONTEXT)                                                                                                   \
    X(FLOAT32)                                                                                                         \
    X(NO_HALF)                                                                                                         \
    X(SIMULATION)                                                                                                      \
    X(TEXTGEN)                                                                                                         \
    X(JVM)                                                                                                             \
    X(OTHER_ERROR)                                                                                                     \
    X(GPU)                                                                                                             \
    X(ALONE)                                                                                                           \
    X(INPUT_TRIED)                                                                                                     \
    X(BATCHED)                                                                                                         \
    X(TILES)                                                                                                           \
    X(PARALLEL)                                                                                                        \
    X(SAVE_TRACE)                                                                                                      \
    X(LATER)                                                                                                           \
    X(LOADS)                                                                                                           \
    X(INFERS)                                                                                                          \
    X(NO_GPU)                                                                                                          \
    X(GRADIO)                                                                                                          \
    X(TRIAL)                                                                                                           \
    X(ON_MPS)                                                                                                          \
    X(VISION)                                                                                                          \
    X(DOCKER)                                                                                                          \
    X(COMPUTE_BUFFER)                                                                                                  \
    X(ALL_WEIGHTS)                                                                                                     \
    X(SNAKEMAKE)                                                                                                       \
    X(DECODES)                                                                                                         \
    X(FIRST_TOUCH)                                                                                                     \
    X(RESUMES)                                                                                                         \
    X(DEVICE_MAP)                                                                                                      \
    X(ONE_CARD)                                                                                                        \
    X(STATE)                                                                                                           \
    X(KUBERNETES)                                                                                                      \
    X(PLENTY)                                                                                                          \
    X(MERGES)                                                                                                          \
    X(XGBOOST)                                                                                                         \
    X(CAPTURES)                                                                                                        \
    X(PLAIN_LOAD)                                                                                                      \
    X(SAID_USED)                                                                                                       \
    X(SAID_EVALUATED)                                                                                                  \
    X(NVME)                                                                                                            \
    X(SLURM)                                                                                                           \
    X(SAID_SAVED)                                                                                                      \
    X(MANY_TRAINED)                                                                                                    \
    X(VOLTA)                                                                                                           \
    X(ORT_CPU)                                                                                                         \
    X(ASYNC_ADVICE)                                                                                                    \
    X(TYPED)                                                                                                           \
    X(POOL)                                                                                                            \
    X(R_WORKERS)                                                                                                       \
    X(UNIFIED)

typedef enum plim__context_word {
#define PLIM_CONTEXT_ENUM(name) PLIM_CONTEXT_##name,
    PLIM_CONTEXT_LIST(PLIM_CONTEXT_ENUM)
#undef PLIM_CONTEXT_ENUM
        PLIM_CONTEXT_COUNT
} plim__context_word;
enum { PLIM_CONTEXT_WORDS = (PLIM_CONTEXT_COUNT + 63) / 64 };

/* Which programs of the table (programs.h) the text speaks of, each a bit. */
enum { PLIM_PROGRAMS = 256, PLIM_PROGRAM_WORDS = PLIM_PROGRAMS / 64 };
typedef struct plim__program_set {
    uint64_t printed[PLIM_PROGRAM_WORDS]; /* by what the program prints */
    uint64_t named[PLIM_PROGRAM_WORDS];   /* by its name */
    uint64_t listed[PLIM_PROGRAM_WORDS];  /* by its name among versions of packages */
    uint8_t mentions[PLIM_PROGRAMS];      /* how often its name stands there */
} plim__program_set;

typedef struct plim__context {
    bool is_read;
    plim__program_set programs;
    uint64_t words[PLIM_CONTEXT_WORDS]; /* bits of plim__context_word */
    uint64_t tried;                     /* bits of plim__lever (context_tried.h) */
    uint64_t spots;                     /* bits of rows of spots.h */
    plim_phase phase;
    plim_place place;
    int64_t batch, batch_most;  /* the smallest batch size named beside 1, and the largest; -1 for none */
    int64_t workers;            /* num_workers named; -1 for none */
    plim_amount weights;        /* of the model, as a server prints them when it has read them */
    int64_t served;             /* the context in tokens that a server prints; 0 for none */
    int64_t nodes;              /* of a graph, the largest number named; 0 for none */
    int torch, tensorflow;      /* 201 for 2.1, the version that the log names; 0 for none */
    plim_amount memory_setting; /* --mem, shm-size, a heap's limit as set in the log */
    double utilization;         /* gpu_memory_utilization or mem-fraction as set; 0 for none */
    double share;               /* of the card that the framework may take, as set; 0 for none */
    int teaching;               /* points of an article or the description of a change (article.h) */
    bool traced, person;        /* a traceback; somebody who tells what happened */
} plim__context;

bool plim__context_has(const plim__context *context, plim__context_word word);

/* The automata of the words and of the programs' marks; built once. */
typedef struct plim__context_scan {
    plim__scan words, programs;
    struct plim__marks *marks;
} plim__context_scan;
plim_status plim__context_scan_build(plim__context_scan *scan, plim_error *error);
void plim__context_scan_free(plim__context_scan *scan);

/* Reads the window; `at` and `end` are the message in it. */
void plim__context_read(plim__context *context, const plim__context_scan *scan, plim__text window, const char *at,
                        const char *end);

#endif
