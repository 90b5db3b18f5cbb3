"""`holdfast tasks`: the tasks that workers have published."""

from __future__ import annotations

import inspect
import json
import shlex
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from holdfast.cli.terminal import opening, output
from holdfast.cli.terminal.options import JsonOption, StoreOption
from holdfast.errors import NotFound

Description = Mapping[str, Any]


def tasks(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Only this task.")] = None,
    *,
    tenant: Annotated[
        str | None,
        typer.Option(
            "--tenant", help="Also list tasks of this tenant's workers, which take precedence."
        ),
    ] = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the tasks that workers have published, with signatures; with NAME, show its schema."""
    published = opening.ask(store, lambda engine: engine.tasks.list(tenant=tenant))
    if name is not None:
        if name not in published:
            known = ", ".join(published) or "none"
            raise NotFound(
                f"no worker has published a task {name}; known tasks: {known}", name=name
            )
        published = {name: published[name]}
    if as_json:
        output.emit({"items": [{"name": task, **about} for task, about in published.items()]})
    elif name is not None:
        _print(name, published[name])
    else:
        rows = [
            (signature(task, about), about.get("lane"), _first_line(about.get("description")))
            for task, about in published.items()
        ]
        hint = "" if tenant else "; for those of a tenant's workers, pass --tenant NAME"
        output.show_table(("task", "lane", "description"), rows, nothing=f"no tasks{hint}")


def _print(name: str, about: Description) -> None:
    output.say(signature(name, about))
    if about.get("description"):
        output.say(f"\n{inspect.cleandoc(about['description'])}")
    for part in ("input", "result"):
        output.say(f"\n{part}")
        output.say(json.dumps(about.get(part), indent=2, ensure_ascii=False))
    if not about.get("conversation"):
        output.say(f"\n{submit_line(name, about)}")


def _first_line(text: str | None) -> str:
    return (text or "").strip().partition("\n")[0]


def signature(name: str, about: Description) -> str:
    """Return the signature of a task: greet(name: string, times: integer = 1)."""
    if about.get("conversation"):
        return f"{name}, a conversation"
    schema = about.get("input", {})
    required = schema.get("required", ())
    parts = []
    for parameter, field in schema.get("properties", {}).items():
        part = f"{parameter}: {_type(field)}"
        if parameter not in required:
            part += f" = {json.dumps(field.get('default'), ensure_ascii=False)}"
        parts.append(part)
    if "contentMediaType" in schema:
        parts.append("bytes")
    return f"{name}({', '.join(parts)}) -> {_type(about.get('result', {}))}"


def _type(field: Description) -> str:
    if "contentMediaType" in field and "type" not in field:
        return "bytes"
    if "$ref" in field:
        return str(field["$ref"]).rpartition("/")[2]
    for several in ("anyOf", "oneOf"):
        if several in field:
            return " | ".join(_type(option) for option in field[several])
    if "enum" in field:
        return " | ".join(json.dumps(value) for value in field["enum"])
    kind = field.get("type", "any")
    if kind == "array" and field.get("items"):
        return f"{_type(field['items'])}[]"
    return str(field.get("title", kind)) if kind == "object" else str(kind)


def submit_line(name: str, about: Description, *, store: str | None = None) -> str:
    """Return a command that submits the task with sample values."""
    words = ["holdfast", "submit", name]
    schema = about.get("input", {})
    if schema.get("properties"):
        words += ["--input", json.dumps(sample(schema, schema), ensure_ascii=False)]
    if store is not None:
        words += ["--store", store]
    return shlex.join([*words, "--wait"])


_SAMPLES: dict[str, Any] = {"string": "text", "integer": 1, "number": 1.5, "boolean": True}


def sample(schema: Description, root: Description, depth: int = 0) -> Any:
    """Return a sample value for a JSON Schema, with the required properties only."""
    if "$ref" in schema:
        target: Any = root
        for part in str(schema["$ref"]).removeprefix("#/").split("/"):
            target = target.get(part, {})
        schema = target
    for keyword in ("default", "const"):
        if keyword in schema:
            return schema[keyword]
    if schema.get("examples"):
        return schema["examples"][0]
    if schema.get("enum"):
        return schema["enum"][0]
    for several in ("anyOf", "oneOf"):
        if schema.get(several):
            return sample(schema[several][0], root, depth)
    if schema.get("type") == "object" or "properties" in schema:
        required = schema.get("required", ())
        inner = schema.get("properties", {})
        deeper = depth < 5  # noqa: PLR2004 - a type that contains itself must end somewhere
        return {name: sample(inner[name], root, depth + 1) for name in required if deeper}
    return [] if schema.get("type") == "array" else _SAMPLES.get(schema.get("type", ""))
