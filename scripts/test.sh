#!/usr/bin/env bash
# All checks of the project, in the order in which they are cheapest to fail. Installs the tools it needs where they are missing.
# With --all also Spark and Ray, whose packages are large, and a Slurm of this machine's own.
set -euo pipefail
cd "$(dirname "$0")/.."
begun=$SECONDS

have() { cargo "$1" --version >/dev/null 2>&1; }
have nextest || cargo install --locked cargo-nextest

cargo fmt --all --check
# Licences and sources, where the tool is at hand: to build it takes longer than most of what follows.
if have deny; then
    cargo deny check licenses bans sources
else
    echo "licences and sources: not checked (cargo install --locked cargo-deny)"
fi
cargo clippy --workspace --all-targets -- -D warnings
RUSTDOCFLAGS="-D warnings --html-in-header katex.html" cargo doc --workspace --no-deps
cargo test --workspace --doc
cargo nextest run --workspace
bash scripts/test-docs.sh
bash scripts/test-python.sh
bash scripts/test-browser.sh
bash scripts/test-api.sh
if [[ "${1:-}" == --all ]]; then
    bash scripts/test-engines.sh
    bash scripts/test-slurm.sh
fi
echo "all checks passed in $(((SECONDS - begun + 59) / 60)) minutes"
