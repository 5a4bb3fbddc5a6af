#!/usr/bin/env bash
# install-package.sh ENVIRONMENT: the Python package as it stands, into an environment for tests. The build is that of the Rust tests, so that nothing is compiled
# twice (maturin would build the workspace's crates again with other features of their dependencies); the wheel is made and tried by test-package.sh.
set -euo pipefail
cd "$(dirname "$0")/.."

export CARGO_TARGET_DIR="$PWD/target"
environment=$1
package=crates/sigmabar-python
if [[ "$(uname)" != Linux ]]; then
    VIRTUAL_ENV="$environment" exec "$environment/bin/maturin" develop --quiet --manifest-path "$package/Cargo.toml"
fi
cargo build --quiet --workspace --lib --bins --tests
install "$CARGO_TARGET_DIR/debug/libsigmabar_core.so" "$package/python/sigmabar/_core.abi3.so"
echo "$PWD/$package/python" > "$("$environment/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/sigmabar.pth"
