"""Write the types of HTTP calls for the pages, from the OpenAPI document.

Without an option it checks that the types in `pages/` are those of the routes; `--write` writes
them. The console names a call by its method and path, so that a route that changes breaks `tsc`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from holdfast.server.http import openapi
from holdfast.server.routes import TABLES

FOLDER = Path(__file__).parents[1] / "pages" / "console" / "api"
_HEADER = (
    "// Written by tools/page_types.py from the OpenAPI document. `make pages` writes it again.\n\n"
)
_WORDS = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean"}
_WORDS |= {"null": "null"}


def name_of(schema: str) -> str:
    """Return the type's name: two modules may have a class of the same name."""
    *modules, name = schema.split(".")
    return name if not modules else f"{modules[-1].title().replace('_', '')}{name}"


def type_of(schema: dict[str, Any]) -> str:
    """Return a schema as TypeScript."""
    for word, write in _WRITERS.items():
        if word in schema:
            return write(schema)
    kind = schema.get("type")
    if isinstance(kind, list):
        return _union(type_of({**schema, "type": one}) for one in kind)
    return {"array": _array, "object": _object}.get(kind or "", _plain)(schema)


def _reference(schema: dict[str, Any]) -> str:
    return f"api.{name_of(schema['$ref'].rpartition('/')[2])}"


def _union(types: Iterable[str]) -> str:
    return " | ".join(dict.fromkeys(types))


def _array(schema: dict[str, Any]) -> str:
    if "prefixItems" in schema:
        return f"[{', '.join(map(type_of, schema['prefixItems']))}]"
    items = type_of(schema.get("items", {}))
    return f"({items})[]" if " " in items else f"{items}[]"


def _plain(schema: dict[str, Any]) -> str:
    return _WORDS.get(schema.get("type", ""), "api.Json")


def _object(schema: dict[str, Any]) -> str:
    required = set(schema.get("required", ()))
    fields = [
        f"{_key(name)}{'' if name in required else '?'}: {type_of(field)}"
        for name, field in schema.get("properties", {}).items()
    ]
    if fields:
        return f"{{ {'; '.join(fields)} }}"
    more = schema.get("additionalProperties")
    return f"Record<string, {type_of(more) if isinstance(more, dict) else 'api.Json'}>"


def _key(name: str) -> str:
    return name if name.isidentifier() else f'"{name}"'


def _literal(value: Any) -> str:
    return "null" if value is None else f'"{value}"' if isinstance(value, str) else str(value)


_WRITERS: dict[str, Callable[[dict[str, Any]], str]] = {
    "$ref": _reference,
    "enum": lambda schema: _union(map(_literal, schema["enum"])),
    "const": lambda schema: _literal(schema["const"]),
    "anyOf": lambda schema: _union(map(type_of, schema["anyOf"])),
    "oneOf": lambda schema: _union(map(type_of, schema["oneOf"])),
}


def schemas(document: dict[str, Any]) -> Iterator[str]:
    """Return a line for each schema."""
    yield "export type Json =\n"
    yield "  null | boolean | number | string | Json[] | { [key: string]: Json };\n"
    for name, schema in sorted(document["components"]["schemas"].items()):
        yield f"export type {name_of(name)} = {type_of(schema).replace('api.', '')};\n"


def calls(document: dict[str, Any]) -> Iterator[str]:
    """Return a line for each call: what it takes, and what it returns."""
    yield 'import type * as api from "./schemas";\n\nexport interface Calls {\n'
    for path, methods in sorted(document["paths"].items()):
        for method, operation in methods.items():
            if path.startswith("/v1/"):
                yield f'  "{method.upper()} {path}": {_call(operation)};\n'
    yield "}\n"


def _call(operation: dict[str, Any]) -> str:
    queries = [one for one in operation.get("parameters", ()) if one["in"] == "query"]
    query = {
        "type": "object",
        "properties": {one["name"]: one["schema"] for one in queries},
        "required": [one["name"] for one in queries if one.get("required")],
    }
    body = _content(operation.get("requestBody", {}))
    replies = operation["responses"]
    reply = next(_content(replies[status]) for status in replies if status.startswith("2"))
    parts = (_object(query) if queries else "{}", body or "undefined", reply or "undefined")
    return "{{ query: {}; body: {}; reply: {} }}".format(*parts)


def _content(part: dict[str, Any]) -> str | None:
    content = part.get("content", {}).get("application/json")
    if content is None:
        return None
    return type_of(content.get("schema", {}))


def files() -> dict[Path, str]:
    """Return the text of each file."""
    document = openapi.document(TABLES)
    return {
        FOLDER / "schemas.d.ts": _HEADER + "".join(schemas(document)),
        FOLDER / "calls.d.ts": _HEADER + "".join(calls(document)),
    }


def main() -> int:
    """Check, or write."""
    stale = {path: text for path, text in files().items() if _read(path) != text}
    if "--write" in sys.argv:
        for path, text in stale.items():
            path.write_text(text)
        return 0
    for path in stale:
        print(f"pages: {path.name} does not fit the routes: run `make pages`", file=sys.stderr)
    return bool(stale)


def _read(path: Path) -> str:
    return path.read_text() if path.exists() else ""


if __name__ == "__main__":
    sys.exit(main())
