#!/usr/bin/env bash
# What a release ships for one platform: bash scripts/package.sh TARGET FOLDER
# The wheel and the command (with completions and manual pages), on Linux for any glibc since 2.17; on x86-64 Linux also the source distribution and the list of parts.
set -euo pipefail
cd "$(dirname "$0")/.."

target="${1:?the target, for example x86_64-unknown-linux-gnu}"
out="$(mkdir -p "${2:?the folder}" && cd "$2" && pwd)"
export CARGO_TARGET_DIR="$PWD/target"
environment="$CARGO_TARGET_DIR/package-venv"
version="$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)"

python3 -m venv "$environment" 2>/dev/null || python -m venv "$environment"
bin="$environment/bin"
[[ -d "$bin" ]] || bin="$environment/Scripts"
"$bin/python" -m pip install --quiet "maturin[zig]>=1.9,<2"

portable=()
if [[ "$target" == *-linux-gnu ]]; then
    portable=(--zig --compatibility manylinux2014)
fi
rustup target add "$target" 2>/dev/null || true
# An empty list is an error in the bash of macOS (3.2) unless it is asked for first.
# maturin looks for zig beside the first Python of the path.
PATH="$bin:$PATH" "$bin/maturin" build --release --quiet --target "$target" ${portable[@]+"${portable[@]}"} --manifest-path crates/sigmabar-python/Cargo.toml --out "$out"

# The command is in the wheel as a library already; as a program it is built by the same compiler and linker.
if [[ "$target" == *-linux-gnu ]]; then
    "$bin/python" -m pip install --quiet cargo-zigbuild
    PATH="$bin:$PATH" cargo-zigbuild build --release --quiet --bin sigmabar --target "$target.2.17"
else
    cargo build --release --quiet --bin sigmabar --target "$target"
fi
folder="$(mktemp -d)/sigmabar-$version-$target"
mkdir -p "$folder/completions" "$folder/man"
suffix=""
[[ "$target" == *windows* ]] && suffix=".exe"
cp "$CARGO_TARGET_DIR/$target/release/sigmabar$suffix" README.md CHANGELOG.md LICENSE-MIT LICENSE-APACHE "$folder/"
for shell in bash zsh fish powershell elvish; do
    "$folder/sigmabar$suffix" completions "$shell" > "$folder/completions/sigmabar.$shell"
done
"$folder/sigmabar$suffix" man > "$folder/man/sigmabar.1"
verbs="$("$folder/sigmabar$suffix" --help | tr -d '\r' | sed -n '/^Commands:/,/^$/s/^  \([a-z-]*\) .*/\1/p')"
for verb in $verbs; do
    "$folder/sigmabar$suffix" man "$verb" > "$folder/man/sigmabar-$verb.1"
done
tar -C "$(dirname "$folder")" -czf "$out/sigmabar-$version-$target.tar.gz" "$(basename "$folder")"

if [[ "$target" == x86_64-unknown-linux-gnu ]]; then
    "$bin/maturin" sdist --manifest-path crates/sigmabar-python/Cargo.toml --out "$out"
    cargo metadata --locked --format-version 1 | "$bin/python" scripts/parts.py > "$out/sigmabar-$version.cdx.json"
fi
ls -l "$out"
