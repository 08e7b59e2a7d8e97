/* plimsoll explain: reads a log with an out-of-memory error; says why, and what to change first. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/explain_model.h"
#include "cli/explanation.h"
#include "cli/model.h"
#include "core/alloc.h"
#include "core/error.h"
#include "plimsoll/diagnose.h"

enum { PIECE = 256 << 10 };

static plim_status feed_file(plim_explainer *explainer, int fd, const char *name, char *piece, plim_error *error) {
    for (;;) {
        ssize_t got = read(fd, piece, PIECE);
        if (got == 0) return PLIM_OK;
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return plim__fail_errno(error, errno, "cannot read '%s'", name);
        plim_status status = plim_explainer_feed(explainer, piece, (size_t)got, error);
        if (status != PLIM_OK) return status;
    }
}

static plim_status explain_file(const char *path, plim_explainer **explainer, const plim_explanation **explanation,
                                char *piece, plim_error *error) {
    bool standard = !path || strcmp(path, "-") == 0;
    int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return plim__fail_errno(error, errno, "cannot open '%s'", path);
    (void)fcntl(fd, F_SETPIPE_SZ, 1 << 20); /* fewer turns between writer and reader; refused when not a pipe */
    plim_status status = plim_explainer_create(explainer, error);
    if (status == PLIM_OK) status = feed_file(*explainer, fd, standard ? "standard input" : path, piece, error);
    if (status == PLIM_OK) status = plim_explainer_finish(*explainer, explanation, error);
    if (!standard) close(fd);
    return status;
}

static int print_causes(plim__args *args) {
    plim_error error;
    char *text;
    if (plim_explanation_causes(&text, &error) != PLIM_OK) return plim__say_error(args, &error);
    fputs(text, stdout);
    plim_text_free(text);
    return PLIM_EXIT_OK;
}

static bool show(const plim_explanation *explanation, const char *path, size_t count, bool json, json_t **object) {
    if (json) {
        json_t *one = plim__explanation_json(explanation);
        if (!one) return false;
        if (count > 1) json_object_set_new(one, "file", json_string(path));
        if (count <= 1)
            *object = one;
        else
            json_array_append_new(json_object_get(*object, "files"), one);
        return true;
    }
    plim__terminal terminal = plim__terminal_of(STDOUT_FILENO);
    plim__str out = {0};
    if (count > 1) plim__str_addf(&out, "== %s\n", path);
    plim__explanation_print(&out, &terminal, explanation);
    if (count > 1) plim__str_addc(&out, '\n');
    fputs(plim__str_text(&out), stdout);
    bool good = !out.failed;
    plim__str_free(&out);
    return good;
}

static int run(plim__args *args) {
    if (plim__args_has(args, "causes")) return print_causes(args);
    size_t count = plim__args_count(args);
    bool json = plim__args_json(args);
    json_t *object = json && count > 1 ? json_pack("{s:[]}", "files") : NULL;
    char *piece = plim__alloc(PIECE);
    if (!piece) return plim__say_failure(args, "out of memory");
    int code = PLIM_EXIT_OK;
    for (size_t i = 0; i < (count ? count : 1) && code == PLIM_EXIT_OK; i++) {
        plim_explainer *explainer = NULL;
        const plim_explanation *explanation = NULL;
        plim_error error;
        const char *path = plim__args_at(args, i);
        if (explain_file(path, &explainer, &explanation, piece, &error) != PLIM_OK)
            code = plim__say_error(args, &error);
        else if (!show(explanation, path, count, json, &object))
            code = plim__say_failure(args, "out of memory");
        else if (plim__args_has(args, "model") && count <= 1)
            code = plim__explain_model(args, explanation->capacity.known ? explanation->capacity.bytes : 0,
                                       explanation->framework, object);
        plim_explainer_free(explainer);
    }
    plim__free(piece);
    if (json && code == PLIM_EXIT_OK) return plim__say_json(args, object);
    json_decref(object);
    return code;
}

static const plim__option options[] = {
    {"model", 0, "MODEL.onnx", "also simulate this model on the card of the log, and what would make it fit"},
    {"gpu", 0, "NAME", "with --model: the card, where the log does not say how large it is"},
    {"optimizer", 0, "NAME", "with --model: as 'fit' takes it; the default is adamw"},
    {"precision", 0, "NAME", "with --model: as 'fit' takes it; the default is fp32"},
    PLIM__MODEL_OPTIONS,
    {"causes", 0, NULL, "print every cause and fix that is known, as Markdown"},
    {0},
};

const plim__command plim__command_explain = {
    .name = "explain",
    .usage = "[FILE...] [--model MODEL.onnx --batch N]",
    .summary = "Read an out-of-memory error and say why it happened and what to change first",
    .description =
        "Reads logs of PyTorch, TensorFlow, JAX and twenty other programs (files, or standard input) and finds the\n"
        "out-of-memory message that counts, inside tracebacks, prefixes, colours, wrapped lines and repeats. Says "
        "what\n"
        "failed, where the memory is, the cause with its evidence and how sure it is, and up to five fixes in the "
        "order\n"
        "to try. Without an error in the log it says so, and the exit status is 0.",
    .options = options,
    .examples = "  python train.py 2>&1 | plimsoll explain\n  plimsoll explain error.log\n"
                "  plimsoll explain --json error.log | jq .cause\n"
                "  plimsoll explain error.log --model resnet50.onnx --batch 256",
    .run = run,
    .quick = true,
};
