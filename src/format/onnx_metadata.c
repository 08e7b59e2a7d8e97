/* metadata_props of graphs, nodes and values: what exporters say about where these come from. The fields are newer than
 * the protobuf definition that the program is built with, so they are walked here. */
#include <string.h>

#include "core/error.h"
#include "format/onnx_read.h"
#include "onnx/onnx.pb-c.h"

enum { LONGEST = 1 << 20 }; /* of a text that is kept: what is longer is nothing we read */

/* Where the text of a key goes. */
struct wanted {
    const char *key;
    char **text;
};

static plim_status read_entry(plim__onnx_reader *reader, plim__span span, const struct wanted *wanted, size_t count,
                              plim_error *error) {
    if (plim__span_length(span) > LONGEST) return PLIM_OK;
    Onnx__StringStringEntryProto *entry;
    PLIM_TRY(plim__wire_decode(&reader->wire, span, PLIM__FIELD(1) | PLIM__FIELD(2),
                               &onnx__string_string_entry_proto__descriptor, &entry, error));
    plim_status status = PLIM_OK;
    for (size_t i = 0; i < count && status == PLIM_OK && entry->key && entry->value; i++) {
        if (*wanted[i].text || strcmp(entry->key, wanted[i].key) != 0) continue;
        *wanted[i].text = plim__strdup(entry->value);
        if (!*wanted[i].text) status = plim__fail_memory(error, "the exporter's metadata", strlen(entry->value));
    }
    plim__wire_release(entry);
    return status;
}

/* The entries of field `number` of a message. */
static plim_status read_entries(plim__onnx_reader *reader, plim__span span, uint32_t number,
                                const struct wanted *wanted, size_t count, plim_error *error) {
    for (uint64_t at = span.at; at < span.end;) {
        plim__wire_field field;
        PLIM_TRY(plim__wire_next(&reader->wire, &at, span.end, &field, error));
        if (field.number == number && field.type == PLIM__WIRE_BYTES)
            PLIM_TRY(read_entry(reader, field.body, wanted, count, error));
    }
    return PLIM_OK;
}

plim_status plim__onnx_read_signature(plim__onnx_reader *reader, plim__span graph, plim__provenance *provenance,
                                      plim_error *error) {
    struct wanted wanted[] = {{PLIM__KEY_SIGNATURE, &provenance->signature}};
    return read_entries(reader, graph, 16, wanted, 1, error);
}

plim_status plim__onnx_read_node_origin(plim__onnx_reader *reader, plim__span span, plim__node_origin *origin,
                                        plim_error *error) {
    static const char made[] = "File \"<eval_with_key>";
    char *trace = NULL;
    struct wanted wanted[] = {
        {PLIM__KEY_CALL, &origin->call}, {PLIM__KEY_RULES, &origin->rules}, {PLIM__KEY_TRACE, &trace}};
    plim_status status = read_entries(reader, span, 9, wanted, 3, error);
    if (status != PLIM_OK) plim__node_origin_free(origin);
    origin->traced = trace && *trace;
    origin->apart = trace && strncmp(trace + strspn(trace, " \n"), made, sizeof made - 1) == 0;
    plim__free(trace);
    return status;
}

plim_status plim__onnx_read_value_origin(plim__onnx_reader *reader, plim__span span, const char *name,
                                         plim__provenance *provenance, plim_error *error) {
    plim__value_origin origin = {0};
    struct wanted wanted[] = {{PLIM__KEY_KIND, &origin.kind}, {PLIM__KEY_FOLDED, &origin.folded}};
    plim_status status = read_entries(reader, span, 4, wanted, 2, error);
    bool empty = !origin.kind && !origin.folded;
    if (status == PLIM_OK && !empty) {
        origin.name = plim__strdup(name);
        if (origin.name && plim__vec_push(&provenance->values, origin)) return PLIM_OK;
        status = plim__fail_memory(error, "the exporter's metadata", sizeof origin);
    }
    plim__free(origin.name);
    plim__free(origin.kind);
    plim__free(origin.folded);
    return status;
}
