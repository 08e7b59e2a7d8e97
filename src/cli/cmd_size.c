/* plimsoll size: bytes of a tensor from its shape, of a model from its file, and what training adds. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "core/str.h"

/* Names inside of files may hold anything; an error stays one line. */
static int say(const plim__args *args, plim_error *error, bool usage) {
    for (char *c = error->message; *c; c++)
        if (iscntrl((unsigned char)*c)) *c = '?';
    return usage ? plim__say_usage(args, "%s", error->message) : plim__say_error(args, error);
}

static void print_bytes(uint64_t bytes) {
    char grouped[PLIM_BYTES_TEXT], text[PLIM_BYTES_TEXT];
    printf("%s bytes = %s\n", plim_bytes_group(bytes, grouped), plim_bytes_format(bytes, text));
}

/* One size in every unit that people compare it with, as far as it has digits there. */
static void print_units(uint64_t bytes) {
    static const struct {
        const char *name;
        double bytes;
    } units[] = {{"KiB", 1024}, {"MiB", 1048576}, {"GiB", 1073741824}, {"GB", 1e9}};
    const char *before = "  ";
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        double value = (double)bytes / units[i].bytes;
        if (value < 0.0005) continue;
        printf("%s%.*f %s", before, value < 100 ? 3 : 1, value, units[i].name);
        before = " = ";
    }
    if (before[1] == '=') putchar('\n');
}

/* --- a shape -------------------------------------------------------------------------------------------------- */

static json_t *shape_json(const plim_tensor_size *size) {
    json_t *dims = json_array();
    for (int i = 0; i < size->rank; i++) json_array_append_new(dims, json_integer(size->dims[i]));
    json_t *object = json_pack("{s:I, s:I, s:s, s:o, s:i}", "bytes", (json_int_t)size->bytes, "elements",
                               (json_int_t)size->elements, "dtype", size->dtype, "shape", dims, "bits", size->bits);
    if (size->note) json_object_set_new(object, "note", json_string(size->note));
    return object;
}

static void print_shape(const plim_tensor_size *size) {
    char elements[PLIM_BYTES_TEXT];
    print_bytes(size->bytes);
    printf("  %s element%s of %s, ", plim_bytes_group(size->elements, elements), size->elements == 1 ? "" : "s",
           size->dtype);
    if (size->bits % 8 == 0)
        printf("%d byte%s each", size->bits / 8, size->bits == 8 ? "" : "s");
    else
        printf("%d bit%s each, packed", size->bits, size->bits == 1 ? "" : "s");
    printf("; shape [");
    for (int i = 0; i < size->rank; i++) printf("%s%lld", i ? ", " : "", (long long)size->dims[i]);
    puts("]");
    print_units(size->bytes);
    if (size->note) printf("  note: %s\n", size->note);
}

/* A shape that the shell cut at its spaces is put together again: [8, 3, 224, 224] without quotes. Gives the number of
 * arguments that it took. */
static size_t join_shape(const plim__args *args, plim__str *shape) {
    size_t used = 0;
    const char *word;
    int depth = 0;
    while ((word = plim__args_at(args, used))) {
        if (used++) plim__str_addc(shape, ' ');
        plim__str_add(shape, word);
        for (; *word; word++) depth += (strchr("[({", *word) != NULL) - (strchr("])}", *word) != NULL);
        if (depth <= 0) break;
    }
    return used;
}

static int size_shape(plim__args *args, int64_t batch) {
    plim__str shape = {0};
    plim_tensor_size size;
    plim_error error;
    size_t used = join_shape(args, &shape);
    if (plim__args_count(args) > used + 1) {
        plim__str_free(&shape);
        return plim__say_usage(args, "'%s' is too much; give a shape and a type, or a file",
                               plim__args_at(args, used + 1));
    }
    plim_status status =
        plim_tensor_size_parse(plim__str_text(&shape), plim__args_at(args, used), batch, &size, &error);
    plim__str_free(&shape);
    if (status != PLIM_OK) return say(args, &error, status == PLIM_INVALID);
    if (plim__args_json(args)) return plim__say_json(args, shape_json(&size));
    print_shape(&size);
    return PLIM_EXIT_OK;
}

/* --- a file --------------------------------------------------------------------------------------------------- */

static json_t *training_json(const plim_size_file *file) {
    json_t *training = json_object();
    for (int o = 0; o < PLIM_SIZE_OPTIMIZERS; o++) {
        json_t *precisions = json_object();
        for (int p = 0; p < PLIM_SIZE_PRECISIONS; p++) {
            const plim_size_training *t = &file->training[o][p];
            json_int_t total = (json_int_t)t->weights + (json_int_t)t->added;
            json_object_set_new(precisions, plim_size_precision_name((plim_size_precision)p),
                                json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "bytes", (json_int_t)t->added, "gradients",
                                          (json_int_t)t->gradients, "masters", (json_int_t)t->masters, "state",
                                          (json_int_t)t->state, "weights", (json_int_t)t->weights, "total", total));
        }
        json_object_set_new(training, plim_size_optimizer_name((plim_size_optimizer)o), precisions);
    }
    return training;
}

static json_t *file_json(const char *path, const plim_size_file *file) {
    json_t *by_dtype = json_object();
    for (size_t i = 0; i < file->dtype_count; i++)
        json_object_set_new(by_dtype, file->by_dtype[i].name, json_integer((json_int_t)file->by_dtype[i].bytes));
    json_t *object = json_pack("{s:I, s:I, s:I, s:I, s:I, s:s}", "tensors", (json_int_t)file->tensors, "bytes",
                               (json_int_t)file->bytes, "elements", (json_int_t)file->elements, "trained",
                               (json_int_t)file->trained, "files", (json_int_t)file->files, "format", file->format);
    json_object_set_new(object, "file", json_stringn_nocheck(path, strlen(path)));
    json_object_set_new(object, "by_dtype", by_dtype);
    json_object_set_new(object, "training", training_json(file));
    return object;
}

static void print_dtypes(const plim_size_file *file) {
    puts("\n  type              tensors         elements                 bytes");
    for (size_t i = 0; i < file->dtype_count; i++) {
        const plim_size_dtype *row = &file->by_dtype[i];
        char elements[PLIM_BYTES_TEXT], bytes[PLIM_BYTES_TEXT], text[PLIM_BYTES_TEXT];
        printf("  %-16s %8llu %16s %21s  %s\n", row->name, (unsigned long long)row->tensors,
               plim_bytes_group(row->elements, elements), plim_bytes_group(row->bytes, bytes),
               plim_bytes_format(row->bytes, text));
    }
}

static void print_row(const char *optimizer, const plim_size_training *t) {
    char text[5][PLIM_BYTES_TEXT];
    printf("    %-10s %11s %11s %11s %11s %15s\n", optimizer, plim_bytes_format(t->gradients, text[0]),
           t->masters ? plim_bytes_format(t->masters, text[1]) : "-",
           t->state ? plim_bytes_format(t->state, text[2]) : "-", plim_bytes_format(t->added, text[3]),
           plim_bytes_format(t->weights + t->added, text[4]));
}

/* bf16 and fp16 take the same bytes, so they share a table. */
static void print_training(const plim_size_file *file) {
    static const struct {
        plim_size_precision precision;
        const char *title;
    } tables[] = {
        {PLIM_SIZE_FP32, "float32"},
        {PLIM_SIZE_BF16, "bf16 or fp16, with float32 masters"},
    };
    char trained[PLIM_BYTES_TEXT];
    printf("\nTraining %s of them adds, before any activation:\n", plim_bytes_group(file->trained, trained));
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        printf("  %s\n    optimizer    gradients     masters       state       added    with weights\n",
               tables[i].title);
        for (int o = 0; o < PLIM_SIZE_OPTIMIZERS; o++)
            print_row(plim_size_optimizer_name((plim_size_optimizer)o), &file->training[o][tables[i].precision]);
    }
}

static void print_file(const plim_size_file *file) {
    char elements[PLIM_BYTES_TEXT], tensors[PLIM_BYTES_TEXT];
    print_bytes(file->bytes);
    printf("  %s tensor%s, %s elements; %s", plim_bytes_group(file->tensors, tensors), file->tensors == 1 ? "" : "s",
           plim_bytes_group(file->elements, elements), file->format);
    if (file->files > 1) printf(" in %llu files", (unsigned long long)file->files);
    putchar('\n');
    print_units(file->bytes);
    if (file->dtype_count) print_dtypes(file);
    if (file->trained) print_training(file);
}

static int size_file(plim__args *args, const char *path) {
    plim_size_file file;
    plim_error error;
    if (plim__args_count(args) > 1)
        return plim__say_usage(args, "'%s' is too much; a file says its types itself", plim__args_at(args, 1));
    plim_status status = plim_size_file_load(path, &file, &error);
    int code = PLIM_EXIT_OK;
    if (status != PLIM_OK)
        code = say(args, &error, false);
    else if (plim__args_json(args))
        code = plim__say_json(args, file_json(path, &file));
    else
        print_file(&file);
    plim_size_file_free(&file);
    return code;
}

/* "weights/x.pt" and "model.onnx" are meant as files even when they are not there; "17x23x31" never is. */
static bool looks_like_file(const char *word) {
    if (strpbrk(word, "[({, ")) return false;
    return strchr(word, '/') || strchr(word, '.');
}

static int run(plim__args *args) {
    int64_t batch = 0;
    const char *first = plim__args_at(args, 0);
    if (!first) return plim__say_usage(args, "what? Give a shape like 32x3x224x224, or a file");
    if (!plim__args_int(args, "batch", 1, INT64_MAX, &batch)) return PLIM_EXIT_USAGE;
    if (access(first, F_OK) == 0 || looks_like_file(first)) return size_file(args, first);
    return size_shape(args, batch);
}

static const plim__option options[] = {
    {"batch", 'b', "N", "what a letter, '?' or -1 in the shape stands for"},
    {0},
};

const plim__command plim__command_size = {
    .name = "size",
    .usage = "SHAPE [DTYPE] | FILE",
    .summary = "Count the bytes of a tensor or of a file of weights, and what training adds",
    .description =
        "A shape is written 17x23x31, [8, 3, 224, 224], (5,) or N,3,224,224 with --batch. DTYPE is any name of\n"
        "ONNX or PyTorch; without one it is float32. Types of less than a byte are packed (uint4: two to a byte),\n"
        "as in ONNX; with PyTorch's name (torch.uint4) they take what PyTorch gives them, a byte each.\n\n"
        "Of a file (.safetensors, *.safetensors.index.json, .onnx, .npy, .npz, .pt, .pth) only headers are read, and\n"
        "nothing in it is executed. What training adds: gradients, float32 masters where weights have 16 bits, and\n"
        "the optimizer's state in float32. Adafactor keeps one value for each row and column of the last two\n"
        "dimensions; 8-bit Adam keeps 2 bytes for each parameter and two scales for each block of 2048 (tensors under\n"
        "4096 elements as Adam). Integers and running statistics are not trained.",
    .options = options,
    .examples = "  plimsoll size 32x32x239x239 float32\n"
                "  plimsoll size '[8, 3, 224, 224]' bfloat16\n"
                "  plimsoll size N,3,224,224 --batch 64\n"
                "  plimsoll size model.safetensors\n"
                "  plimsoll size model.safetensors.index.json --json",
    .run = run,
    .quick = true,
};
