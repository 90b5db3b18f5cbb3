"""The JSON Schemas of pack, flow and test files, for editors that complete and check them."""

from __future__ import annotations

from importlib import resources

#: The folder of a pack that has copies of them. It begins with a dot, so no archive has it.
FOLDER = ".schemas"
NAMES = ("flow", "pack", "test")


def text(name: str) -> str:
    """Return a schema as JSON, as it is published with the package."""
    package = resources.files("holdfast.host")
    return (package / "schemas" / f"{name}.schema.json").read_text("utf-8")


def files() -> dict[str, bytes]:
    """Return the copies that a pack's folder has, by their names."""
    return {f"{FOLDER}/{name}.schema.json": text(name).encode() for name in NAMES}


def first_line(name: str, file: str) -> str:
    """Return the line that tells editors the schema of a file of a pack."""
    up = "../" * file.count("/")
    return f"# yaml-language-server: $schema={up}{FOLDER}/{name}.schema.json\n"
