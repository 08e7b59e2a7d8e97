/* The zoo's list. */
#include "plimsoll/zoo.h"

#include <string.h>

#include "core/alloc.h"
#include "core/arguments.h"
#include "graph/graph.h"
#include "kernel/processor.h"
#include "ops/op.h"
#include "plimsoll/version.h"
#include "zoo/models.h"

static const plim_zoo_entry entries[] = {
    {"mlp", "fully connected layers on small images", "--image 28 --channels 1 --width 512 --layers 2 --classes 10"},
    {"lenet", "two convolutions and two fully connected layers", "--image 28 --channels 1 --width 32 --classes 10"},
    {"resnet18", "residual network, 18 layers", "--image 224 --channels 3 --width 64 --classes 1000"},
    {"resnet34", "residual network, 34 layers", "--image 224 --channels 3 --width 64 --classes 1000"},
    {"resnet50", "residual network, 50 layers with bottlenecks", "--image 224 --channels 3 --width 64 --classes 1000"},
    {"mobilenet_v2", "inverted residuals with depthwise convolutions",
     "--image 224 --channels 3 --width 32 --classes 1000"},
    {"unet", "encoder and decoder for segmentation", "--image 256 --channels 3 --width 64 --classes 2"},
    {"gpt2", "transformer language model, 124 million parameters",
     "--seq 256 --width 768 --layers 12 --heads 12 --classes 50257"},
    {"gpt2-tiny", "the same on bytes, small enough for a test",
     "--seq 128 --width 128 --layers 4 --heads 4 --classes 256"},
    {"vit-tiny", "vision transformer on 32x32 images",
     "--image 32 --channels 3 --width 192 --layers 6 --heads 3 --classes 10"},
    {"vit-b16", "vision transformer, base, patches of 16",
     "--image 224 --channels 3 --width 768 --layers 12 --heads 12 --classes 1000"},
    {"lstm", "recurrent language model", "--seq 64 --width 256 --layers 2 --classes 256"},
    {"gru", "recurrent language model with gated units", "--seq 64 --width 256 --layers 2 --classes 256"},
    {"tabular", "fully connected layers on a table's columns; --seq of them embedded, with --vocab rows",
     "--features 8 --width 64 --layers 2 --classes 2 --seq 0 --vocab 0 --hidden 8"},
    {"llama", "LLaMA language model, 1.1 billion parameters",
     "--seq 256 --width 2048 --layers 22 --heads 32 --kv-heads 4 --hidden 5632 --classes 32000"},
    {"bert", "BERT that classifies text, 109 million parameters",
     "--seq 128 --width 768 --layers 12 --heads 12 --hidden 3072 --vocab 30522 --classes 2"},
};

static void (*const makers[])(plim__maker *) = {
    plim__zoo_mlp,       plim__zoo_lenet,        plim__zoo_resnet18, plim__zoo_resnet34,
    plim__zoo_resnet50,  plim__zoo_mobilenet_v2, plim__zoo_unet,     plim__zoo_gpt2,
    plim__zoo_gpt2_tiny, plim__zoo_vit_tiny,     plim__zoo_vit_b16,  plim__zoo_lstm,
    plim__zoo_gru,       plim__zoo_tabular,      plim__zoo_llama,    plim__zoo_bert,
};

const plim_zoo_entry *plim_zoo_list(size_t *count) {
    if (count) *count = sizeof entries / sizeof *entries;
    return entries;
}

static plim_status check_options(const plim_zoo_options *o, plim_error *error) {
    const struct {
        const char *name;
        int64_t value, most; /* more than any network has, and far from overflow */
    } sizes[] = {
        {"classes", o->classes, 1 << 30}, {"image", o->image, 1 << 20},       {"channels", o->channels, 1 << 20},
        {"seq", o->seq, 1 << 30},         {"width", o->width, 1 << 24},       {"layers", o->layers, 1 << 16},
        {"heads", o->heads, 1 << 16},     {"features", o->features, 1 << 24}, {"kv_heads", o->kv_heads, 1 << 16},
        {"hidden", o->hidden, 1 << 24},   {"vocab", o->vocab, 1 << 30}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (sizes[i].value < 0 || sizes[i].value > sizes[i].most)
            return plim__fail(error, PLIM_INVALID, "%s is %lld, expected from 1 to %lld, or 0 for the default",
                              sizes[i].name, (long long)sizes[i].value, (long long)sizes[i].most);
    return PLIM_OK;
}

plim_status plim_zoo_create(const char *name, const plim_zoo_options *options, plim_graph **graph, plim_error *error) {
    plim_zoo_options o;
    PLIM__NEED(graph, error);
    *graph = NULL;
    PLIM__NEED(name, error);
    PLIM__OPTIONS(plim_zoo_options, o, options, error);
    PLIM_TRY(check_options(&o, error));
    size_t i = 0, count = sizeof entries / sizeof *entries;
    while (i < count && strcmp(entries[i].name, name) != 0) i++;
    if (i == count)
        return plim__fail(error, PLIM_NOT_FOUND, "the zoo has no model '%s'; 'plimsoll zoo' lists them", name);
    plim__maker m = {.g = plim_graph_create(), .o = o};
    m.seed = m.o.seed;
    if (!m.g) return plim__fail_memory(error, "a graph", sizeof(void *));
    m.g->info.producer_name = plim__strdup("plimsoll");
    m.g->info.producer_version = plim__strdup(PLIM_VERSION_STRING);
    m.g->info.graph_name = plim__strdup(name);
    if (!m.g->info.producer_name || !m.g->info.producer_version || !m.g->info.graph_name)
        plim__graph_fail(m.g, PLIM_NO_MEMORY, "out of memory: the names of a graph");
    makers[i](&m);
    plim_status status = plim_graph_status(m.g, error);
    if (status == PLIM_OK) status = plim__infer_outputs(m.g, plim__processor_fold, error);
    if (status != PLIM_OK) {
        plim_graph_free(m.g);
        return status;
    }
    *graph = m.g;
    return PLIM_OK;
}
