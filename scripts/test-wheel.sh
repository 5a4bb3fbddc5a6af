#!/usr/bin/env bash
# The wheel as users get it: built for release, small, and able to tell the stories of its README from a fresh environment with nothing else in it.
set -euo pipefail
cd "$(dirname "$0")/.."

export CARGO_TARGET_DIR="$PWD/target"
package="$PWD/crates/sigmabar-python"
most_bytes=15000000
maturin="${MATURIN:-$CARGO_TARGET_DIR/python-venv/bin/maturin}"
if [[ ! -x "$maturin" ]]; then
    echo "no maturin at $maturin: run scripts/test-python.sh first, or name one in MATURIN" >&2
    exit 1
fi

fresh="$(mktemp -d)"
trap 'rm -rf "$fresh"' EXIT

"$maturin" build --release --quiet --manifest-path "$package/Cargo.toml" --out "$fresh/wheel"
wheel="$(echo "$fresh"/wheel/*.whl)"
bytes="$(stat -c %s "$wheel")"
echo "$(basename "$wheel"): $bytes bytes"
if ((bytes >= most_bytes)); then
    echo "the wheel has $bytes bytes, and must stay below $most_bytes" >&2
    exit 1
fi
mkdir -p "$CARGO_TARGET_DIR/wheels"
cp "$wheel" "$CARGO_TARGET_DIR/wheels/"

"${PYTHON:-python3}" -m venv "$fresh/venv"
python="$fresh/venv/bin/python"
"$python" -m pip install --quiet "$wheel"

# Away from the sources, so that only what is in the wheel is found.
cd "$fresh"
"$python" - "$package/README.md" <<'EOF'
import re
import sys
from importlib.metadata import distributions
from pathlib import Path

others = {d.metadata["Name"].lower() for d in distributions()} - {"pip", "setuptools", "wheel"}
assert others == {"sigmabar", "numpy"}, f"the wheel brought {sorted(others)}"
stories = re.findall(r"```python\n(.*?)```", Path(sys.argv[1]).read_text(encoding="utf-8"), re.DOTALL)
assert len(stories) >= 3, f"the README has {len(stories)} stories"
names: dict[str, object] = {}
for number, story in enumerate(stories, 1):
    exec(compile(story, f"README.md, story {number}", "exec"), names)
print(f"{len(stories)} stories told by {sys.executable}")
EOF
version="$("$python" -m sigmabar --version)"
[[ "$version" == "$("$fresh/venv/bin/sigmabar" --version)" ]]
[[ "$version" == "sigmabar $("$python" -c 'import sigmabar; print(sigmabar.__version__)')" ]]
echo "$version"
