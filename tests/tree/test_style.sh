#!/bin/bash
# Functions, files and the trainer keep their limits; the heap is used only through core/alloc.h; no function has its own
# prototype; words are those of the glossary; nothing refers to files outside of the repository.
command -v ctags >/dev/null || exit 77
exec bash "$2/scripts/check-style.sh" -s "$2"
