#!/usr/bin/env bash
# rustdoc for `cargo test --doc`: where cargo asks for the tests of a crate's documentation, its pages are made from the same build first, and a warning is an error.
# (`cargo doc` would check every dependency a second time.)
set -euo pipefail

pages=() test=0
while (($#)); do
    case $1 in
        --test) test=1; all+=("$1") ;;
        --test-run-directory | --test-args | --test-runtool) all+=("$1" "$2"); shift ;;
        --test-run-directory=* | --no-run | --nocapture) all+=("$1") ;;
        *) all+=("$1") pages+=("$1") ;;
    esac
    shift
done
if ((test)); then rustdoc "${pages[@]}" -D warnings --out-dir "${CARGO_TARGET_DIR:-target}/doc"; fi
exec rustdoc "${all[@]}"
