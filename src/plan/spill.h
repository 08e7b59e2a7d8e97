/* Which optimizer state goes to a file when memory has no room for it. The order is fixed, so that more of it always
 * includes what less of it named, and a number of bytes tells which. */
#ifndef PLIM_PLAN_SPILL_H
#define PLIM_PLAN_SPILL_H

#include "program/program.h"

/* Buffers of a program that may be spilled, in the order in which they are; `bytes` is the sum up to each of them, as
 * they lie in the arena. */
typedef struct plim__spill_item {
    int32_t buffer;
    size_t bytes;
} plim__spill_item;

typedef struct plim__spill_list {
    PLIM_VEC(plim__spill_item) items;
} plim__spill_list;

plim_status plim__spill_list_make(const plim__program *program, plim__spill_list *list, plim_error *error);
void plim__spill_list_free(plim__spill_list *list);
/* The least that can be spilled of at least `bytes`; 0 when there is less. */
size_t plim__spill_list_sum(const plim__spill_list *list, size_t bytes);
/* The most that can be spilled within `room` bytes. */
size_t plim__spill_list_most(const plim__spill_list *list, uint64_t room);

/* Marks the first buffers of the list that make at least `bytes`, and no others. */
void plim__spill_mark(plim__program *program, const plim__spill_list *list, size_t bytes);
/* Marks what is marked in the program that this one is like. */
void plim__spill_mark_like(plim__program *program, const plim__program *like);
/* Of what is marked: bytes in the arena that are saved, and bytes of the file. */
size_t plim__spilled_bytes(const plim__program *program);
size_t plim__spill_file_bytes(const plim__program *program);
/* The most that bringing one of them into or out of the file takes: as the file has it, in plain order, and what turns one into
 * the other. 0 where the file has plain order. */
size_t plim__spill_moving_bytes(const plim__program *program);
/* Of weights that are streamed; and what updates read from the file and write back. */
size_t plim__streamed_bytes(const plim__program *program);
size_t plim__in_model_bytes(const plim__program *program); /* of these, those that stay in their model's file */
size_t plim__spill_updated_bytes(const plim__program *program);

#endif
