#!/bin/bash
# Folders use only the folders that docs/architecture.md names for them, by includes and by symbols.
exec bash "$2/scripts/check-layers.sh" -s "$2" "$(dirname "$1")"
