#!/usr/bin/env bash
# The module in a release build, in an environment with the engines; then bench/rows.py, which says what it can do.
set -euo pipefail
cd "$(dirname "$0")/.."
export CARGO_TARGET_DIR="$PWD/target"
environment="$(bash scripts/environment.sh engines crates/sigmabar-python/engines/requirements.txt)"
VIRTUAL_ENV="$environment" "$environment/bin/maturin" develop --release --quiet --manifest-path crates/sigmabar-python/Cargo.toml
"$environment/bin/python" bench/rows.py "$@"
