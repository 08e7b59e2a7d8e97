#include "fit/tape.h"

#include "core/error.h"

void plim__tape_init(plim__tape *tape, plim__timeline *timeline) {
    *tape = (plim__tape){.timeline = timeline};
    tape->failed = !plim__vec_push(&tape->storages, (plim__storage){0});
}

void plim__tape_free(plim__tape *tape) { plim__vec_free(&tape->storages); }

uint32_t plim__tape_new(plim__tape *tape, const char *name, const char *operation, plim__memory_kind kind,
                        uint64_t bytes) {
    if (tape->failed || !bytes) return 0;
    plim__timeline_buffer buffer = {.name = name,
                                    .operation = operation,
                                    .kind = kind,
                                    .phase = tape->phase,
                                    .bytes = bytes,
                                    .offset = PLIM__NO_OFFSET,
                                    .born = tape->tick++,
                                    .died = PLIM__NEVER};
    plim__storage storage = {.life = (uint32_t)tape->timeline->lives.count, .references = 1, .bytes = bytes};
    tape->failed =
        plim__timeline_add(tape->timeline, &buffer, NULL) != PLIM_OK || !plim__vec_push(&tape->storages, storage);
    return tape->failed ? 0 : (uint32_t)(tape->storages.count - 1);
}

uint32_t plim__tape_hold(plim__tape *tape, uint32_t storage) {
    if (storage && !tape->failed) tape->storages.items[storage].references++;
    return storage;
}

void plim__tape_drop(plim__tape *tape, uint32_t storage) {
    if (!storage || tape->failed) return;
    plim__storage *s = &tape->storages.items[storage];
    if (s->references && --s->references == 0) tape->timeline->lives.items[s->life].died = tape->tick++;
}

bool plim__tape_is_alone(const plim__tape *tape, uint32_t storage) {
    return storage && tape->storages.items[storage].references == 1;
}

void plim__tape_mark(plim__tape *tape, plim__timeline_mark_type type, uint64_t value, const char *text) {
    if (!tape->failed)
        tape->failed = plim__timeline_add_mark(tape->timeline, type, tape->tick, value, text, NULL) != PLIM_OK;
}

void plim__tape_phase(plim__tape *tape, plim__memory_phase phase) {
    tape->phase = phase;
    plim__tape_mark(tape, PLIM__MARK_PHASE, (uint64_t)phase, NULL);
}
