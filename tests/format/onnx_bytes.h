/* ONNX files made byte by byte, so that tests can make broken ones. A message is a growing buffer:
 *     bytes t = {0}; add_int(&t, 1, 3); add_text(&t, 8, "w"); add_message(&graph, 5, &t); */
#ifndef TESTS_FORMAT_ONNX_BYTES_H
#define TESTS_FORMAT_ONNX_BYTES_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct bytes {
    unsigned char *data;
    size_t size, capacity;
} bytes;

static inline void add_raw(bytes *b, const void *data, size_t size) {
    if (b->size + size + 1 > b->capacity) { /* a message of many parts is not moved for each of them */
        b->capacity = 2 * (b->size + size + 1);
        b->data = realloc(b->data, b->capacity);
        if (!b->data) abort();
    }
    if (size) memcpy(b->data + b->size, data, size);
    b->size += size;
}

static inline void add_varint(bytes *b, uint64_t value) {
    do {
        unsigned char byte = (unsigned char)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        add_raw(b, &byte, 1);
        value >>= 7;
    } while (value);
}

static inline void add_int(bytes *b, unsigned field, int64_t value) {
    add_varint(b, field << 3);
    add_varint(b, (uint64_t)value);
}

static inline void add_block(bytes *b, unsigned field, const void *data, size_t size) {
    add_varint(b, field << 3 | 2);
    add_varint(b, size);
    add_raw(b, data, size);
}

static inline void add_text(bytes *b, unsigned field, const char *text) { add_block(b, field, text, strlen(text)); }

/* Adds the message as a field and frees it. */
static inline void add_message(bytes *b, unsigned field, bytes *message) {
    add_block(b, field, message->data, message->size);
    free(message->data);
    *message = (bytes){0};
}

/* --- ONNX's messages ------------------------------------------------------------------------------------------ */

/* TensorProto without data */
static inline bytes tensor_head(const char *name, int dtype, int rank, const int64_t *dims) {
    bytes t = {0};
    for (int i = 0; i < rank; i++) add_int(&t, 1, dims[i]);
    add_int(&t, 2, dtype);
    add_text(&t, 8, name);
    return t;
}

/* An initializer with raw data. */
static inline void add_raw_tensor(bytes *graph, bytes head, const void *data, size_t size) {
    add_block(&head, 9, data, size);
    add_message(graph, 5, &head);
}

/* An input (11), output (12) or value info (13); a dimension of -1 is symbol "N", -2 is not told. */
static inline void add_value(bytes *graph, unsigned field, const char *name, int dtype, int rank, const int64_t *dims) {
    bytes shape = {0}, tensor = {0}, type = {0}, value = {0};
    for (int i = 0; i < rank; i++) {
        bytes dim = {0};
        if (dims[i] == -1)
            add_text(&dim, 2, "N");
        else if (dims[i] != -2)
            add_int(&dim, 1, dims[i]);
        add_message(&shape, 1, &dim);
    }
    add_int(&tensor, 1, dtype);
    add_message(&tensor, 2, &shape);
    add_message(&type, 1, &tensor);
    add_text(&value, 1, name);
    add_message(&value, 2, &type);
    add_message(graph, field, &value);
}

static inline bytes node_of(const char *op, const char *a, const char *b, const char *output) {
    bytes node = {0};
    if (a) add_text(&node, 1, a);
    if (b) add_text(&node, 1, b);
    add_text(&node, 2, output);
    add_text(&node, 3, output);
    add_text(&node, 4, op);
    return node;
}

static inline void add_node(bytes *graph, const char *op, const char *a, const char *b, const char *output) {
    bytes node = node_of(op, a, b, output);
    add_message(graph, 1, &node);
}

/* A model around the graph, which is freed. */
static inline bytes model_of(bytes *graph, int ir_version, int opset) {
    bytes model = {0}, import = {0};
    add_int(&model, 1, ir_version);
    add_message(&model, 7, graph);
    add_text(&import, 1, "");
    add_int(&import, 2, opset);
    add_message(&model, 8, &import);
    return model;
}

/* y = x + w with x float32[N,2] and w float32[2] */
static inline bytes small_model(int ir_version, int opset) {
    bytes graph = {0};
    float w[2] = {1.5f, -2};
    add_node(&graph, "Add", "x", "w", "y");
    add_text(&graph, 2, "small");
    add_raw_tensor(&graph, tensor_head("w", 1, 1, (int64_t[]){2}), w, sizeof w);
    add_value(&graph, 11, "x", 1, 2, (int64_t[]){-1, 2});
    add_value(&graph, 12, "y", 1, 2, (int64_t[]){-1, 2});
    return model_of(&graph, ir_version, opset);
}

#endif
