"""Pages of the command line, from the commands themselves: one for each command or noun."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from typer.main import get_command

from holdfast.cli.main import app

_ABOUT = (
    "Generated from the commands. [The command line](../../cli.md) explains them with examples."
)
_TYPES = {"int": "NUMBER", "integer": "NUMBER", "float": "NUMBER", "path": "PATH"}


def pages() -> dict[str, str]:
    """Return the pages by their path, with an index."""
    program: Any = get_command(app)
    rows = []
    made = {}
    for name in sorted(program.commands):
        command = program.commands[name]
        rows.append(f"| [`holdfast {name}`]({name}.md) | {_sentence(command)} |\n")
        made[f"reference/commands/{name}.md"] = _page(name, command)
    index = f"# Commands\n\n{_ABOUT}\n\n| command | does |\n|---|---|\n{''.join(rows)}"
    return {"reference/commands/index.md": index, **made}


def _page(name: str, command: Any) -> str:
    verbs = list(_verbs(f"holdfast {name}", command))
    if not hasattr(command, "commands"):
        return f"# holdfast {name}\n\n" + _body(*verbs[0])
    parts = (f"\n## {path}\n\n{_body(path, verb)}" for path, verb in verbs)
    return f"# holdfast {name}\n\n{_sentence(command)}\n" + "".join(parts)


def _verbs(path: str, command: Any) -> Iterator[tuple[str, Any]]:
    if not hasattr(command, "commands"):
        yield path, command
        return
    for name, child in sorted(command.commands.items()):
        yield from _verbs(f"{path} {name}", child)


def _sentence(command: Any) -> str:
    return (command.help or "").strip().partition("\n")[0]


def _body(path: str, command: Any) -> str:
    """Return the usage of a command, its text and its parameters."""
    shown = [one for one in command.params if not getattr(one, "hidden", False)]
    arguments = [one for one in shown if one.param_type_name == "argument"]
    options = [one for one in shown if one.param_type_name == "option"]
    usage = " ".join([path, *(["[OPTIONS]"] if options else []), *map(_argument, arguments)])
    rows = [f"| `{_argument(one)}` | {_cell(one.help)} |\n" for one in arguments]
    rows += [f"| `{_option(one)}` | {_cell(one.help)} |\n" for one in options]
    table = "| parameter | means |\n|---|---|\n" + "".join(rows) if rows else ""
    return f"```text\n{usage}\n```\n\n{(command.help or '').strip()}\n\n{table}"


def _argument(parameter: Any) -> str:
    name = parameter.metavar or parameter.name.upper()
    many = "..." if parameter.nargs == -1 and not name.endswith(("...", "...]")) else ""
    return f"{name}{many}" if parameter.required else f"[{name}{many}]"


def _option(parameter: Any) -> str:
    names = ", ".join([*parameter.opts, *parameter.secondary_opts])
    value = "" if parameter.is_flag else f" {parameter.metavar or _type(parameter)}"
    return f"{names}{value}".replace("|", "\\|")


def _type(parameter: Any) -> str:
    choices = getattr(parameter.type, "choices", None)
    return "|".join(map(str, choices)) if choices else _TYPES.get(parameter.type.name, "TEXT")


def _cell(text: str | None) -> str:
    return (text or "").replace("\n", " ").replace("|", "\\|")
