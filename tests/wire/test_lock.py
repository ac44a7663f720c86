"""The lock of the providers' stand-in: exact, hashed, and without a registry's name."""

import json

from tests.wire.aimock import HERE


def test_the_lock_names_versions_and_hashes_only() -> None:
    wanted = json.loads((HERE / "package.json").read_text(encoding="utf-8"))["devDependencies"]
    packages = json.loads((HERE / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    assert packages.pop("")["devDependencies"] == wanted
    assert {name.removeprefix("node_modules/"): package["version"] for name, package in packages.items()} == wanted
    assert all("integrity" in package and "resolved" not in package for package in packages.values())
