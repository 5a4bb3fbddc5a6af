#!/usr/bin/env bash
# Fits a million rows from a CSV file within 2 GB, as a user would: reading, learning the kernel, one pass, scoring, saving.
#   bash bench/fit-million.sh
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build --release --bin sigmabar
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
awk 'BEGIN {
    srand(1); print "a,b,c,d,y"
    for (i = 0; i < 1000000; i++) {
        a = rand(); b = rand(); c = rand(); d = rand(); noise = 0.1 * sqrt(-2 * log(1 - rand())) * cos(6.283185307 * rand())
        printf "%.5f,%.5f,%.5f,%.5f,%.5f\n", a, b, c, d, sin(6 * a) + b * c + 0.5 * cos(4 * d) + noise
    }
}' > "$work/million.csv"
time target/release/sigmabar fit "$work/million.csv" --target y --memory 2G --out "$work/model.sbm" --verbose
