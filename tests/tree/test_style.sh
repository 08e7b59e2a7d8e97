#!/bin/bash
# The heap is used only through core/alloc.h, no function has its own prototype, and nothing refers to files outside of here.
command -v ctags >/dev/null || exit 77
exec bash "$2/scripts/check-style.sh" -s -p "prototypes heap paths" "$2"
