#!/usr/bin/env bash
# All checks of the project, in the order in which they are cheapest to fail. Installs the tools it needs where they are missing.
# With --all also a Slurm of this machine's own, and whether the fuzz targets and the command without its server compile.
set -euo pipefail
cd "$(dirname "$0")/.."
begun=$SECONDS times=()

have() { cargo "$1" --version >/dev/null 2>&1; }
step() {
    local from=$SECONDS
    "$@"
    times+=("$(printf '%5d s  %s' $((SECONDS - from)) "$*")")
}

# Whoever checks everything builds once: what would make a second build faster makes this one slower.
export CARGO_INCREMENTAL="${CARGO_INCREMENTAL:-0}"
# Python's tools come over the network while the compiler works.
bash scripts/environment.sh python crates/sigmabar-python/tests/requirements.txt > /dev/null &
bash scripts/environment.sh browser crates/sigmabar-serve/browser/requirements.txt > /dev/null 2>&1 &
bash scripts/environment.sh engines crates/sigmabar-python/engines/requirements.txt > /dev/null 2>&1 &

have nextest || step cargo install --locked cargo-nextest
step cargo fmt --all --check
# Licences and sources, where the tool is at hand: to build it takes longer than most of what follows.
if have deny; then
    step cargo deny check licenses bans sources
else
    echo "licences and sources: not checked (cargo install --locked cargo-deny)"
fi
# The lints run inside the build that is tested, and the documentation is made where its tests are, so that no dependency is compiled a second time for either.
export RUSTC_WORKSPACE_WRAPPER=clippy-driver CLIPPY_ARGS="-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__"
step cargo build --workspace --all-targets
RUSTDOC="$PWD/scripts/rustdoc.sh" step cargo test --workspace --doc
# A fifth of the time tests wait, for leases, timeouts and processes: one more than there are cores keeps the cores busy.
step cargo nextest run --workspace --test-threads "$(($(nproc) + 1))"
step bash scripts/test-docs.sh
step bash scripts/test-python.sh
step bash scripts/test-browser.sh
step bash scripts/test-api.sh
step bash scripts/test-engines.sh
if [[ "${1:-}" == --all ]]; then
    step bash scripts/test-slurm.sh
    # As the first command of the README builds it.
    step cargo check --quiet --no-default-features
    step cargo check --manifest-path fuzz/Cargo.toml --target-dir target/fuzz
fi
printf '%s\n' "${times[@]}"
echo "all checks passed in $(((SECONDS - begun + 59) / 60)) minutes"
