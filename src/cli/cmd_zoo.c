/* plimsoll zoo: makes well-known networks. */
#include <stdio.h>

#include "cli/command.h"
#include "plimsoll/onnx.h"
#include "plimsoll/zoo.h"

static int list(plim__args *args) {
    size_t count;
    const plim_zoo_entry *entries = plim_zoo_list(&count);
    if (plim__args_json(args)) {
        json_t *models = json_array();
        for (size_t i = 0; i < count; i++)
            json_array_append_new(models, json_pack("{s:s, s:s, s:s}", "name", entries[i].name, "summary",
                                                    entries[i].summary, "sizes", entries[i].sizes));
        return plim__say_json(args, json_pack("{s:o}", "models", models));
    }
    for (size_t i = 0; i < count; i++)
        printf("%-13s %s\n%-13s   %s\n", entries[i].name, entries[i].summary, "", entries[i].sizes);
    return PLIM_EXIT_OK;
}

static int run(plim__args *args) {
    const char *name = plim__args_at(args, 0);
    if (!name) return list(args);
    plim_zoo_options o = {0};
    int64_t seed = 0;
    bool ok = plim__args_int(args, "classes", 1, 1 << 24, &o.classes) &&
              plim__args_int(args, "image", 4, 1 << 14, &o.image) &&
              plim__args_int(args, "channels", 1, 4096, &o.channels) &&
              plim__args_int(args, "seq", 1, 1 << 16, &o.seq) && plim__args_int(args, "width", 1, 1 << 16, &o.width) &&
              plim__args_int(args, "layers", 1, 1000, &o.layers) && plim__args_int(args, "heads", 1, 1000, &o.heads) &&
              plim__args_int(args, "seed", 0, INT64_MAX, &seed);
    if (!ok) return PLIM_EXIT_USAGE;
    o.seed = (uint64_t)seed;
    const char *out = plim__args_get(args, "output");
    if (!out) return plim__say_usage(args, "where to? give -o FILE.onnx");
    plim_error error;
    plim_graph *graph;
    if (plim_zoo_create(name, &o, &graph, &error) != PLIM_OK) return plim__say_error(args, &error);
    plim_status status = plim_graph_save(graph, out, &error);
    size_t nodes = plim_graph_node_count(graph);
    plim_graph_free(graph);
    if (status != PLIM_OK) return plim__say_error(args, &error);
    if (plim__args_json(args))
        return plim__say_json(args,
                              json_pack("{s:s, s:s, s:I}", "model", name, "file", out, "nodes", (json_int_t)nodes));
    printf("wrote %s: %s, %zu nodes. Next: plimsoll inspect %s\n", out, name, nodes, out);
    return PLIM_EXIT_OK;
}

static const plim__option options[] = {
    {"output", 'o', "FILE", "the ONNX file to write"},
    {"classes", 0, "N", "outputs of a classifier, or the vocabulary"},
    {"image", 0, "PIXELS", "height and width of the image"},
    {"channels", 0, "N", "channels of the image"},
    {"seq", 0, "TOKENS", "length of the sequence"},
    {"width", 0, "N", "channels of the first stage, or the hidden size"},
    {"layers", 0, "N", "blocks or layers"},
    {"heads", 0, "N", "heads of attention"},
    {"seed", 0, "N", "seed of the weights; the default is 0"},
    {0},
};

const plim__command plim__command_zoo = {
    .name = "zoo",
    .usage = "[MODEL -o FILE.onnx]",
    .summary = "Make a well-known network as an ONNX file",
    .description = "Without a model it lists them. Weights are random, seeded, and initialised as PyTorch would.",
    .options = options,
    .examples = "  plimsoll zoo resnet50 -o resnet50.onnx\n  plimsoll zoo gpt2 --seq 512 -o gpt2.onnx",
    .run = run,
};
