/* plimsoll zoo: makes well-known networks. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/activity.h"
#include "cli/args.h"
#include "cli/format.h"
#include "cli/model.h"
#include "cli/terminal.h"
#include "core/str.h"
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
        plim__terminal_line(stdout, "%-13s %s", entries[i].name, entries[i].summary),
            plim__terminal_line(stdout, "    %s", entries[i].sizes);
    return PLIM_EXIT_OK;
}

/* What a model has no place for is a mistake, as is a model that is not there. */
static int check_name(plim__args *args, const char *name) {
    static const char *const sizes[] = {"classes", "image",  "channels", "seq",   "width",   "layers",
                                        "heads",   "hidden", "kv-heads", "vocab", "features"};
    size_t count, k = 0;
    const char *best = NULL;
    const plim_zoo_entry *entries = plim_zoo_list(&count);
    for (; k < count && strcmp(entries[k].name, name) != 0; k++) best = plim__str_nearest(name, best, entries[k].name);
    if (k == count)
        return plim__say_failure(args, "the zoo has no model '%s'%s%s%s 'plimsoll zoo' lists them", name,
                                 best ? "; is '" : "", best ? best : "", best ? "' meant?" : ";");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char word[32];
        snprintf(word, sizeof word, "--%s ", sizes[i]);
        if (plim__args_has(args, sizes[i]) && !strstr(entries[k].sizes, word))
            return plim__say_usage(args, "%shas no effect on %s, which takes %s", word, name, entries[k].sizes);
    }
    if (strcmp(name, "tabular") == 0 && plim__args_has(args, "seq") != plim__args_has(args, "vocab"))
        return plim__say_usage(args,
                               "--seq and --vocab need each other: how many columns are embedded, with how many rows");
    return PLIM_EXIT_OK;
}

static int run(plim__args *args) {
    const char *name = plim__args_at(args, 0);
    if (!name) return list(args);
    int code = check_name(args, name);
    if (code != PLIM_EXIT_OK) return code;
    plim_zoo_options o = {0};
    int64_t seed = 0;
    bool ok = plim__args_int(args, "classes", 1, 1 << 24, &o.classes) &&
              plim__args_int(args, "image", 4, 1 << 14, &o.image) &&
              plim__args_int(args, "channels", 1, 4096, &o.channels) &&
              plim__args_int(args, "seq", 1, 1 << 16, &o.seq) && plim__args_int(args, "width", 1, 1 << 16, &o.width) &&
              plim__args_int(args, "layers", 1, 1000, &o.layers) && plim__args_int(args, "heads", 1, 1000, &o.heads) &&
              plim__args_int(args, "features", 1, 1 << 20, &o.features) &&
              plim__args_int(args, "kv-heads", 1, 1000, &o.kv_heads) &&
              plim__args_int(args, "hidden", 1, 1 << 18, &o.hidden) &&
              plim__args_int(args, "vocab", 1, 1 << 24, &o.vocab) && plim__args_int(args, "seed", 0, INT64_MAX, &seed);
    if (!ok) return PLIM_EXIT_USAGE;
    o.seed = (uint64_t)seed;
    const char *out = plim__args_get(args, "output");
    if (!out) return plim__say_usage(args, "where to? give -o FILE.onnx");
    const char *weights = plim__args_get(args, "weights");
    if (weights && access(weights, R_OK) != 0) /* before a model of gigabytes is made */
        return plim__say_failure(args, "cannot read the weights '%s': %s", weights, strerror(errno));
    plim_error error;
    plim_graph *graph;
    plim__activity_say(args, "making %s", name);
    if (plim_zoo_create(name, &o, &graph, &error) != PLIM_OK) return plim__say_error(args, &error);
    plim_status status = plim__weights_read(args, graph, &error);
    if (status == PLIM_OK) status = plim_graph_save(graph, out, &error);
    size_t nodes = plim_graph_node_count(graph);
    plim_graph_free(graph);
    if (status != PLIM_OK) return plim__say_error(args, &error);
    if (plim__args_json(args))
        return plim__say_json(args,
                              json_pack("{s:s, s:s, s:I}", "model", name, "file", out, "nodes", (json_int_t)nodes));
    plim__activity_end();
    printf("wrote %s: %s, %zu nodes. Next: plimsoll inspect %s\n", plim__shown(out), name, nodes, plim__shown(out));
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
    {"kv-heads", 0, "N", "heads of keys and values, which heads of queries share (llama)"},
    {"hidden", 0, "N", "width inside the feed-forward part of a block (llama, bert)"},
    {"vocab", 0, "N", "tokens that the model knows (bert)"},
    {"features", 0, "N", "numbers in a row of a table"},
    {"weights", 0, "FILE", "with these weights, by name: .safetensors, its .index.json, .pt, .onnx or a checkpoint"},
    {"seed", 0, "N", "seed of the weights; the default is 0"},
    {0},
};

const plim__command plim__command_zoo = {
    .name = "zoo",
    .usage = "[MODEL -o FILE.onnx]",
    .summary = "Make a well-known network as an ONNX file",
    .description =
        "Without a model it lists them. Weights are random, seeded, and initialised as PyTorch would; "
        "resnets\n"
        "and mobilenet_v2 have torchvision's names, llama and bert those of the public checkpoints, so that\n"
        "--weights takes those.",
    .options = options,
    .examples = "  plimsoll zoo resnet50 -o resnet50.onnx\n  plimsoll zoo gpt2 --seq 512 -o gpt2.onnx\n  plimsoll zoo "
                "bert --seq 64 --classes 4 -o bert.onnx\n  plimsoll zoo resnet18 --classes 5 --weights resnet18.pt -o "
                "mine.onnx",
    .run = run,
};
