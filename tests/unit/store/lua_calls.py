"""Which refusal codes a Lua function can give, found by following the calls in its text."""

from __future__ import annotations

import re
from collections.abc import Mapping

from holdfast.store.valkey.call import REFUSALS
from holdfast.store.valkey.library import Source

_DEFINITION = re.compile(r"^(?:local )?function ([\w.]+)\(", re.MULTILINE)


def _functions(source: Source) -> dict[str, str]:
    """Return the text of each function of a file, by its name."""
    starts = list(_DEFINITION.finditer(source.text))
    ends = [start.start() for start in starts[1:]] + [len(source.text)]
    return {
        start[1]: source.text[start.start() : end] for start, end in zip(starts, ends, strict=True)
    }


def _refusals(text: str) -> list[str]:
    """Return the words that stand where a refusal is made."""
    made = re.findall(r"{ 'no', ([^}]*)}", text) + re.findall(r"reply\.no\(('\w+')", text)
    return re.findall(r"'(\w+)'", " ".join(made))


def codes_reached(source: Source, sources: Mapping[str, Source]) -> set[str]:
    """Return the codes in `run` of a function file and in all that it calls."""
    libs = {
        name: text
        for lib in sources.values()
        if lib.is_lib
        for name, text in _functions(lib).items()
        if "." in name
    }
    files = {lib.table: lib.name for lib in sources.values() if lib.is_lib}
    local_names = {lib.name: _functions(lib) for lib in sources.values()}
    codes: set[str] = set()
    seen: set[str] = set()
    todo = [(source.name, "run")]
    while todo:
        file, name = todo.pop()
        if f"{file} {name}" in seen:
            continue
        seen.add(f"{file} {name}")
        text = local_names[file].get(name) or libs[name]
        codes |= {code for code in _refusals(text) if code in REFUSALS}
        # Called, or handed to what calls it.
        for called in re.findall(r"(?<![\w:])([\w.]+)[(,]", text):
            if called in local_names[file]:
                todo.append((file, called))
            elif called in libs:
                todo.append((files[called.split(".")[0]], called))
    return codes
