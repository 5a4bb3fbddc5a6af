#!/usr/bin/env bash
# The book: built into target/book, searchable and readable offline. Any warning (a link or anchor that leads nowhere) fails the build.
set -euo pipefail
cd "$(dirname "$0")/.."

environment="target/book-venv"
stamp="$environment/installed"
if [[ ! -x "$environment/bin/python" ]]; then
    "${PYTHON:-python3}" -m venv "$environment"
fi
if ! cmp -s docs/requirements.txt "$stamp"; then
    "$environment/bin/pip" install --quiet --requirement docs/requirements.txt
    cp docs/requirements.txt "$stamp"
fi
NO_MKDOCS_2_WARNING=1 "$environment/bin/mkdocs" build --quiet --strict
echo "the book is in target/book/index.html"
