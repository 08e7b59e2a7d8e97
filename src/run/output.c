/* Which files may be replaced: those that this library wrote. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/arguments.h"
#include "format/safetensors.h"
#include "format/trace.h"
#include "graph/graph.h"
#include "plimsoll/onnx.h"
#include "plimsoll/train.h"

enum { HEAD = 4096 };

static bool has_note(const plim__safetensors *file, const char *key) {
    for (size_t i = 0; i < file->note_count; i++)
        if (strcmp(file->notes[i].key, key) == 0) return true;
    return false;
}

static plim_output_kind kind_of_safetensors(int fd, const char *path) {
    plim__safetensors file;
    plim_output_kind kind = PLIM_OUTPUT_FOREIGN;
    if (plim__safetensors_open(&file, fd, path, NULL) != PLIM_OK) return kind;
    if (has_note(&file, "plimsoll.checkpoint"))
        kind = PLIM_OUTPUT_CHECKPOINT;
    else if (has_note(&file, PLIM__NOTE_WRITER))
        kind = PLIM_OUTPUT_MODEL;
    plim__safetensors_close(&file);
    return kind;
}

static plim_output_kind kind_of_onnx(const char *path) {
    plim_graph *graph;
    if (plim_graph_load(path, &graph, NULL) != PLIM_OK) return PLIM_OUTPUT_FOREIGN;
    const char *producer = graph->info.producer_name;
    bool ours = plim_graph_get_note(graph, PLIM__NOTE_WRITER) || (producer && strcmp(producer, "plimsoll") == 0);
    plim_graph_free(graph);
    return ours ? PLIM_OUTPUT_MODEL : PLIM_OUTPUT_FOREIGN;
}

static plim_output_kind kind_of_content(int fd, const char *path) {
    char head[HEAD + 1];
    ssize_t got = pread(fd, head, HEAD, 0);
    if (got < 0) return PLIM_OUTPUT_FOREIGN;
    head[got] = 0;
    if (got > 8 && head[8] == '{') return kind_of_safetensors(fd, path);
    if (plim__trace_sniff(head, (size_t)got) || strncmp(head, "{\"step\": ", 9) == 0 ||
        strncmp(head, "step,epoch,", 11) == 0 || strstr(head, "Plimsoll</title>"))
        return PLIM_OUTPUT_RECORD;
    return kind_of_onnx(path);
}

plim_output_kind plim_output_find(const char *path) {
    struct stat info;
    if (!path) return PLIM_OUTPUT_FOREIGN;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return errno == ENOENT ? PLIM_OUTPUT_NONE : PLIM_OUTPUT_FOREIGN;
    plim_output_kind kind = PLIM_OUTPUT_FOREIGN;
    if (fstat(fd, &info) == 0 && (!S_ISREG(info.st_mode) || info.st_size == 0))
        kind = S_ISDIR(info.st_mode) ? PLIM_OUTPUT_FOREIGN : PLIM_OUTPUT_NONE; /* nothing that could be lost */
    else
        kind = kind_of_content(fd, path);
    close(fd);
    return kind;
}

plim_status plim_output_check(const char *path, plim_output_kind kind, plim_error *error) {
    PLIM__NEED(path, error);
    plim_output_kind there = plim_output_find(path);
    if (there == PLIM_OUTPUT_NONE || there == kind) return PLIM_OK;
    static const char *const words[] = {"", "a checkpoint", "a model", "a record of a run", "not a file of Plimsoll"};
    return plim__fail(error, PLIM_INVALID, "'%s' exists and is %s: it is not replaced; choose another name", path,
                      words[there]);
}
