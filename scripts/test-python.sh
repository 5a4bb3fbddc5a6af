#!/usr/bin/env bash
# The Python package in an environment of its own, tested.
set -euo pipefail
cd "$(dirname "$0")/.."

export CARGO_TARGET_DIR="$PWD/target"
environment="$CARGO_TARGET_DIR/python-venv"
package=crates/sigmabar-python
stamp="$environment/installed"

if [[ ! -x "$environment/bin/python" ]]; then
    "${PYTHON:-python3}" -m venv "$environment"
fi
# The tools are installed when the list of them changes, not every time.
if ! cmp -s "$package/tests/requirements.txt" "$stamp"; then
    "$environment/bin/pip" install --quiet --requirement "$package/tests/requirements.txt"
    cp "$package/tests/requirements.txt" "$stamp"
fi

bash scripts/install-package.sh "$environment"
MPLBACKEND=Agg "$environment/bin/python" -m pytest "$package/tests" -q --rootdir "$package" "$@"
