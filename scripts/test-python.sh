#!/usr/bin/env bash
# The Python package in an environment of its own, tested.
set -euo pipefail
cd "$(dirname "$0")/.."

export CARGO_TARGET_DIR="$PWD/target"
package=crates/sigmabar-python
environment="$(bash scripts/environment.sh python "$package/tests/requirements.txt")"
bash scripts/install-package.sh "$environment"
MPLBACKEND=Agg "$environment/bin/python" -m pytest "$package/tests" -q -n 2 --dist worksteal --rootdir "$package" "$@"
