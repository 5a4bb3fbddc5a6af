#!/usr/bin/env bash
# environment.sh NAME REQUIREMENTS: a Python environment target/NAME-venv with what the list names, and prints where it is. Installs when the list changes, not every
# time; whoever comes while another installs waits for it.
set -euo pipefail
cd "$(dirname "$0")/.."

environment="$PWD/target/$1-venv"
mkdir -p "$environment"
exec 9> "$environment.lock"
if command -v flock > /dev/null; then flock 9; fi
if ! cmp -s "$2" "$environment/installed"; then
    "${PYTHON:-python3}" -m venv "$environment"
    "$environment/bin/pip" install --quiet --requirement "$2" >&2
    cp "$2" "$environment/installed"
fi
echo "$environment"
