#!/usr/bin/env bash
# Requests made up from openapi.json, right and wrong ones, against a real `sigmabar serve`: every answer is one that the description has. Installs schemathesis where
# it is missing, and says so and ends well where it cannot be installed.
set -euo pipefail
cd "$(dirname "$0")/.."

export CARGO_TARGET_DIR="$PWD/target"
if ! environment="$(bash scripts/environment.sh browser crates/sigmabar-serve/browser/requirements.txt)"; then
    echo "API: not tested, schemathesis cannot be installed"
    exit 0
fi

# As the Rust tests build it, so that nothing is compiled twice.
cargo build --quiet --workspace --lib --bins --tests
command="$CARGO_TARGET_DIR/debug/sigmabar"
config="$PWD/crates/sigmabar-serve/browser/schemathesis.toml"
place="$(mktemp -d)"
cd "$place"
printf 'plate = 24\nplates = 2\n[parameters.x]\ntype = "float"\nlow = 0\nhigh = 1\n' > demo.toml
"$command" ask demo.toml --plate 24 -o plate1.csv --quiet
"$command" serve . --port 0 > address 2>/dev/null &
server=$!
trap 'kill "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true; rm -rf "$place"' EXIT
for _ in $(seq 100); do [[ -s address ]] && break; sleep 0.1; done
address="$(cat address)"
# Streams of events do not end, and are tested in tests/exchange.rs.
if "$environment/bin/schemathesis" --config-file "$config" run "${address%%/\?*}/api/v1/openapi.json" --header "Authorization: Bearer ${address##*token=}" \
    --exclude-path-regex 'events$' --phases examples,coverage,fuzzing --max-examples "${EXAMPLES:-15}" --seed "${SEED:-1}" --continue-on-failure --no-color > findings; then
    echo "API:$(grep "generated, .* passed" findings)"
else
    cat findings
    exit 1
fi
