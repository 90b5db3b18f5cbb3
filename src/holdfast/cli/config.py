"""`holdfast config`: the settings in force and where they come from: show."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version

import typer

from holdfast.cli.terminal import opening, output
from holdfast.cli.terminal.groups import Settings
from holdfast.cli.terminal.options import JsonOption, StoreOption
from holdfast.model.redaction import hide_secrets
from holdfast.model.store_urls import is_remote

app: typer.Typer = typer.Typer(cls=Settings)


@app.command()
def show(*, store: StoreOption = None, as_json: JsonOption = False) -> None:
    """Show the settings in force, with secrets hidden. Does not open the store."""
    settings = effective(store)
    if as_json:
        output.emit(settings)
    else:
        rows = [(name, "" if value is None else value) for name, value in settings.items()]
        output.show_table(("setting", "value"), rows, nothing="")


def effective(store: str | None) -> dict[str, object]:
    """Return the settings by name."""
    text, source = opening.store_text(store)
    settings: dict[str, object] = {
        **_about(text),
        "store.from": source,
        "command.boot_timeout_ms": opening.BOOT_TIMEOUT_MS,
        "command.call_timeout_ms": opening.CALL_TIMEOUT_MS,
        "version": version("holdfast"),
        "python": platform.python_version(),
    }
    for name in sorted(os.environ):
        if name.startswith("HOLDFAST_"):
            secret = any(word in name for word in ("KEY", "SECRET", "TOKEN", "PASSWORD"))
            settings[name] = "***" if secret else hide_secrets(os.environ[name])
    return settings


def _about(text: str) -> dict[str, object]:
    """Return the settings that the URL of the store or server contains."""
    if is_remote(text):
        return {"store": hide_secrets(text), "store.tls": text.startswith("https:")}
    url = opening.parse_store(text)
    return {
        "store": str(url),
        "store.user": url.username,
        "store.password": "***" if url.password else None,
        "store.tls": url.tls,
        "store.cluster": url.cluster,
        "store.prefix": url.prefix,
        "store.partitions": url.partitions or "as stored",
        "store.fsync": url.fsync if url.path is not None else "set by the server",
    }
