/* What a table has in it, and the commands that would learn from it. */
#ifndef PLIM_CLI_TABLE_TEXT_H
#define PLIM_CLI_TABLE_TEXT_H

#include "cli/command.h"

/* The commands follow --target, --columns, --drop, --categories, --embed and --missing; without --target a column is proposed. */
void plim__table_describe(const plim_table *table, const char *path, const plim__args *args);
json_t *plim__table_json(const plim_table *table);

#endif
