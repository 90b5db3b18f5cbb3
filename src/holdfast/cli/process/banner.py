"""The text that a worker prints when it starts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast.cli import tasks
from holdfast.cli.terminal import opening, output
from holdfast.model.redaction import hide_secrets
from holdfast.model.session_keys import DEFAULT_ENV
from holdfast.model.store_urls import is_remote
from holdfast.store.valkey import urls

if TYPE_CHECKING:
    from holdfast.cli.process.serving import Serving
    from holdfast.worker.app import App
    from holdfast.worker.worker import Worker


def show(
    target: str,
    app: App,
    worker: Worker,
    how: Serving,
    *,
    url: str | None = None,
) -> None:
    """Print what is running and, for a developer, a command to try next."""
    described = {name: task.describe() for name, task in app.tasks.items()}
    member = how.member
    if how.as_json:
        further: dict[str, Any] = {"url": url, "chats": _chats(app, url)} if url else {}
        further |= {} if member is None else {"process": member.number}
        output.emit(as_value(target, app, worker) | further)
        return
    if member is not None and member.number > 1:
        # The first has said it all.
        return
    output.say(f"holdfast is running {target}")
    output.say(f"  store    {_shown(app.store)}")
    if url is not None:
        output.say(f"  http     {url}")
        output.say(f"  console  {url}/console/")
        output.say(f"  docs     {url}/docs")
        for number, chat in enumerate(_chats(app, url)):
            output.say(f"  {'' if number else 'chat':<9}{chat}")
    output.say(f"  worker   {worker.instance}, {worker.settings.slots} slots")
    output.say(f"  lanes    {', '.join(worker.lanes)}")
    if worker.settings.capabilities:
        output.say(f"  can      {', '.join(worker.settings.capabilities)}")
    for number, (name, about) in enumerate(described.items()):
        output.say(f"  {'tasks' if number == 0 else '':<9}{tasks.signature(name, about)}")
    if how.parent:
        name, about = next(iter(described.items()))
        output.say("\nTry, in another terminal:")
        output.say(f"  {_command_to_try(target, app, name, about)}\n")


def _command_to_try(target: str, app: App, name: str, about: tasks.Description) -> str:
    if about.get("conversation"):
        return f"holdfast chat {target} {name}"
    return tasks.submit_line(name, about, store=_store_option(app.store))


def as_value(target: str, app: App, worker: Worker) -> dict[str, Any]:
    """Return the banner as a JSON value."""
    return {
        "event": "started",
        "app": target,
        "store": _shown(app.store).partition(" ")[0],
        "instance": worker.instance,
        "slots": worker.settings.slots,
        "lanes": worker.lanes,
        "capabilities": worker.settings.capabilities,
        "tasks": {name: tasks.signature(name, task.describe()) for name, task in app.tasks.items()},
    }


def _chats(app: App, url: str) -> list[str]:
    """Return the addresses of the web chats of an app."""
    found = [name for name in _conversations(app) if "/" not in name]
    return [f"{url}/chat/{DEFAULT_ENV}/{name}" for name in found]


def _conversations(app: App) -> list[str]:
    from holdfast.worker.conversation import Conversation

    return [name for name, task in app.tasks.items() if isinstance(task, Conversation)]


def _shown(store: str) -> str:
    if is_remote(store):
        return hide_secrets(store)
    url = urls.parse(store)
    return f"{url} (embedded, fsync {url.fsync})" if url.path is not None else str(url)


def _store_option(text: str) -> str | None:
    """Return the --store that other commands need to find the store, or None for the default."""
    if is_remote(text):
        return hide_secrets(text)
    url = urls.parse(text)
    if url == urls.parse(opening.store_text(None)[0]):
        return None
    return str(url) if url.path is not None or url.password is None else "URL"
