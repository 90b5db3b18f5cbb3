"""The files of a new pack: small, complete, and a place to begin."""

from __future__ import annotations

import os
from pathlib import Path

from holdfast.errors import Conflict, InvalidInput
from holdfast.host.packs import paths, schemas
from holdfast.host.packs.fields import NAME, NAME_CHARS, NAME_WORDS

_PACK = """\
id: {id}
version: 0.1.0
entry: main
"""

_FLOW = """\
id: main
type: messaging
nodes:
  hello:
    emit: {text: "Hello. What is your name?"}
    out: name
  name:
    wait: {timeout: 1d, on_timeout: bye}
    out: greet
  greet:
    emit: {text: "Nice to meet you, {{ input.text | default('friend') }}."}
    out: end
  bye:
    emit: {text: "Until next time."}
    out: end
"""

_TEST = """\
user: ann
tests:
  Somebody says their name:
    - say: hello
    - expect: Hello. What is your name?
    - say: Ann
    - expect: Nice to meet you, Ann.
    - status: ended
  Somebody says nothing for a day:
    - say: hello
    - expect: Hello. What is your name?
    - advance: 1d
    - expect: Until next time.
"""

_README = """\
# {id}

    holdfast pack test {folder}
    holdfast chat {folder}
    holdfast pack build {folder}
"""


def files(pack_id: str, folder: str) -> dict[str, bytes]:
    """Return the files of a new pack, the schemas for editors included."""
    if not NAME.fullmatch(pack_id) or len(pack_id) > NAME_CHARS:
        message = f"id: must have {NAME_WORDS}, got {pack_id[:60]!r}"
        raise InvalidInput(message, field="id")
    flow, test = "flows/main.yaml", "tests/main.yaml"
    texts = {
        paths.PACK_FILE: schemas.first_line("pack", paths.PACK_FILE) + _PACK.format(id=pack_id),
        flow: schemas.first_line("flow", flow) + _FLOW,
        test: schemas.first_line("test", test) + _TEST,
        "README.md": _README.format(id=pack_id, folder=folder),
    }
    return {**{name: text.encode() for name, text in texts.items()}, **schemas.files()}


def write(folder: Path, contents: dict[str, bytes]) -> None:
    """Write a new pack into a folder that is empty or does not exist."""
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            message = f"{folder} exists and is not an empty folder; choose another one"
            raise Conflict(message, file=str(folder))
        for name, data in contents.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
    except OSError as error:
        message = f"folder: cannot write {error.filename} ({os.strerror(error.errno or 0)})"
        raise InvalidInput(message, field="folder") from error
