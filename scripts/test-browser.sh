#!/usr/bin/env bash
# The pages of `sigmabar serve`, and the book with its search, in a real browser. Installs Debian's chromium and Playwright (without a browser of its own) where they are missing, and says so and
# ends well where they cannot be installed.
set -euo pipefail
cd "$(dirname "$0")/.."

skip() { echo "browser: not tested, $1"; exit 0; }

export CARGO_TARGET_DIR="$PWD/target"
CHROMIUM="${CHROMIUM:-$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)}"
if [[ -z "$CHROMIUM" ]]; then
    as_root=(); [[ "$(id -u)" == 0 ]] || as_root=(sudo -n)
    { "${as_root[@]}" apt-get update -qq && "${as_root[@]}" apt-get install -y -qq chromium; } >/dev/null 2>&1 || true
    CHROMIUM="$(command -v chromium || true)"
    [[ -n "$CHROMIUM" ]] || skip "chromium is not here and cannot be installed"
fi
environment="$(bash scripts/environment.sh browser crates/sigmabar-serve/browser/requirements.txt)" || skip "Playwright cannot be installed"

# As the Rust tests build it, so that nothing is compiled twice.
cargo build --quiet --workspace --lib --bins --tests
place="$(mktemp -d)"
trap 'rm -rf "$place"' EXIT
CHROMIUM="$CHROMIUM" timeout 600 "$environment/bin/python" crates/sigmabar-serve/browser/test_pages.py "$place"
bash scripts/book.sh
CHROMIUM="$CHROMIUM" timeout 120 "$environment/bin/python" scripts/test_book.py
