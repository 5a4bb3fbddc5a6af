#!/usr/bin/env bash
# The book: built into target/book, searchable and readable offline. Any warning (a link or anchor that leads nowhere) fails the build.
set -euo pipefail
cd "$(dirname "$0")/.."

environment="$(bash scripts/environment.sh book docs/requirements.txt)"
NO_MKDOCS_2_WARNING=1 "$environment/bin/mkdocs" build --quiet --strict
echo "the book is in target/book/index.html"
