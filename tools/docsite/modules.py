"""Pages of the Python API: one for each public module; mkdocstrings writes what is in it."""

from __future__ import annotations

from docsite import public

_PARTS = {
    "holdfast": "Tasks, workers and the client",
    "holdfast.api": "The nouns of an engine or a client",
    "holdfast.model": "Values of calls and answers",
}
_OTHER = "Further modules"
_ABOUT = """# Python API

The public modules. [Compatibility](../../compatibility.md) says what stays as it is.
"""


def pages(limit: int | None = None) -> dict[str, str]:
    """Return the pages of all modules, or of the first ones, by their path, with an index."""
    modules = [name for name in public.modules() if public.names(name)][:limit]
    made = {f"reference/python/{name}.md": _page(name) for name in modules}
    return {"reference/python/index.md": _index(modules), **made}


def _page(module: str) -> str:
    members = "".join(f'        - "{name}"\n' for name in public.names(module))
    return f"# {module}\n\n::: {module}\n    options:\n      members:\n{members}"


def _index(modules: list[str]) -> str:
    parts: dict[str, list[str]] = {title: [] for title in [*_PARTS.values(), _OTHER]}
    for module in modules:
        home = module if module in _PARTS else module.rpartition(".")[0]
        title = _OTHER if home == "holdfast" != module else _PARTS.get(home, _OTHER)
        parts[title].append(f"| [`{module}`]({module}.md) | {public.sentence(module)} |\n")
    tables = (
        f"\n## {title}\n\n| module | contents |\n|---|---|\n" + "".join(rows)
        for title, rows in parts.items()
    )
    return _ABOUT + "".join(tables)
