"""Write build/sbom.json, the bill of materials in CycloneDX, from requirements.lock.

Components that the package itself needs are `required`, those of its extras `optional`, and those
that only tests and tools need `excluded`.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Iterator
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
BILL = ROOT / "build" / "sbom.json"
_PINNED = re.compile(
    r"^([\w.-]+)(?:\[[^]]*\])?==(\S+)(?: ;[^\\\n]*?)?((?: \\\n +--hash=sha256:\w+)*)$", re.MULTILINE
)
_HASH = re.compile(r"sha256:(\w+)")


def bill() -> dict[str, Any]:
    """Return the bill of materials."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = [name for name in project["optional-dependencies"] if name != "dev"]
    required = closure(project["dependencies"])
    optional = closure(line for name in extras for line in project["optional-dependencies"][name])
    pinned = _PINNED.findall((ROOT / "requirements.lock").read_text("utf-8"))
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": _component(project["name"], project["version"], "application")},
        "components": [
            {
                **_component(name, version, "library"),
                "scope": _scope(canonicalize_name(name), required, optional),
                "hashes": [{"alg": "SHA-256", "content": one} for one in _HASH.findall(hashes)],
            }
            for name, version, hashes in pinned
        ],
    }


def closure(lines: Iterable[str]) -> set[str]:
    """Return the names of requirements and of all that they need here."""
    found: set[tuple[str, str]] = set()
    waiting = [Requirement(line) for line in lines]
    while waiting:
        requirement = waiting.pop()
        for extra in ("", *requirement.extras):
            key = canonicalize_name(requirement.name), extra
            if key not in found:
                found.add(key)
                waiting += _needs(*key)
    return {name for name, _ in found}


def _needs(name: str, extra: str) -> Iterator[Requirement]:
    try:
        lines = requires(name) or []
    except PackageNotFoundError:
        return
    for line in lines:
        requirement = Requirement(line)
        if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
            yield requirement


def _component(name: str, version: str, kind: str) -> dict[str, str]:
    purl = f"pkg:pypi/{canonicalize_name(name)}@{version}"
    return {"type": kind, "bom-ref": purl, "name": name, "version": version, "purl": purl}


def _scope(name: str, required: set[str], optional: set[str]) -> str:
    if name in required:
        return "required"
    return "optional" if name in optional else "excluded"


def main() -> None:
    """Write the file."""
    BILL.parent.mkdir(exist_ok=True)
    BILL.write_text(json.dumps(bill(), indent=1) + "\n")
    print(f"wrote {BILL.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
