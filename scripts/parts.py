"""The list of parts (CycloneDX 1.5) of what `cargo metadata` describes on standard input: every crate with its version, licence, address and what it needs."""

from __future__ import annotations

import json
import sys
from typing import Any


def reference(package: dict[str, Any]) -> str:
    return f"pkg:cargo/{package['name']}@{package['version']}"


def part(package: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {"type": "library", "bom-ref": reference(package), "name": package["name"], "version": package["version"], "purl": reference(package)}
    if package["license"]:
        found["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
    return found


def main() -> None:
    metadata = json.load(sys.stdin)
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = metadata["resolve"]["nodes"]
    json.dump(
        {
            "bomFormat": "CycloneDX",
            "specVersion": "1.5",
            "version": 1,
            "metadata": {"component": {"type": "application", "name": "sigmabar", "version": next(p["version"] for p in packages.values() if p["name"] == "sigmabar")}},
            "components": sorted((part(p) for p in packages.values()), key=lambda p: p["bom-ref"]),
            "dependencies": [
                {"ref": reference(packages[node["id"]]), "dependsOn": sorted(reference(packages[d]) for d in node["dependencies"])} for node in nodes
            ],
        },
        sys.stdout,
        indent=1,
    )


if __name__ == "__main__":
    main()
