#!/usr/bin/env bash
# The book without a warning, and the files that releases are made from: their schema, and what an attacker could make of them.
set -euo pipefail
cd "$(dirname "$0")/.."

bash scripts/book.sh
tools="target/book-venv/bin"
"$tools/check-jsonschema" --quiet --builtin-schema vendor.github-workflows .github/workflows/*.yml
"$tools/check-jsonschema" --quiet --builtin-schema vendor.dependabot .github/dependabot.yml
"$tools/zizmor" --quiet --offline --no-progress .github
