#!/usr/bin/env bash
# Dask, Spark and Ray make the model that one process makes, byte for byte, also where a worker is killed. Installs what it needs, or says why it skips.
set -euo pipefail
cd "$(dirname "$0")/.."

export CARGO_TARGET_DIR="$PWD/target"
package=crates/sigmabar-python
if ! environment="$(bash scripts/environment.sh engines "$package/engines/requirements.txt")"; then
    echo "skipped: the engines could not be installed (is there a network?)"
    exit 0
fi
if ! command -v java > /dev/null; then
    if ! { command -v apt-get > /dev/null && [[ "$(id -u)" == 0 ]] && apt-get install -qq -y --no-install-recommends default-jre-headless > /dev/null; }; then
        echo "Spark is skipped: there is no Java, and it could not be installed from the packages of this system"
    fi
fi

bash scripts/install-package.sh "$environment"
"$environment/bin/python" -m pytest "$package/engines" -q -rs --rootdir "$package/engines" "$@"
