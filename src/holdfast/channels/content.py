"""What a reply shows: text, a card, buttons and files. Fields of other types are left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from holdfast.channels.markdown import Dialect
from holdfast.channels.splitting import Size, split
from holdfast.model.sessions import OutgoingReply


@dataclass(frozen=True, slots=True)
class Button:
    """A button below a reply."""

    label: str
    value: str


@dataclass(frozen=True, slots=True)
class File:
    """A file that the receiver can fetch."""

    url: str
    name: str = ""
    #: Such as image/png.
    type: str = ""

    @property
    def is_image(self) -> bool:
        """Whether it can be shown as a picture."""
        return self.type.startswith("image/")


@dataclass(frozen=True, slots=True)
class Passage:
    """A part of what a reply says."""

    text: str
    is_markdown: bool = False

    def parts(self, dialect: Dialect, most: int, size: Size) -> list[tuple[int, str]]:
        """Return it in a dialect, in parts that a provider takes, each with its size."""
        write = dialect.render if self.is_markdown else dialect.escape
        return [(size(part), write(part)) for part in split(self.text, most, size)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """What a reply shows."""

    passages: Sequence[Passage]
    buttons: Sequence[Button]
    #: The picture of a card, and files.
    files: Sequence[File]

    def parts(self, dialect: Dialect, most: int, size: Size = len) -> list[str]:
        """Return the text in a dialect, in parts that a provider takes."""
        parts: list[tuple[int, str]] = []
        for passage in self.passages:
            first, *rest = passage.parts(dialect, most, size) or [(0, "")]
            if parts and parts[-1][0] + len(_GAP) + first[0] <= most:
                last = parts.pop()
                first = (last[0] + len(_GAP) + first[0], f"{last[1]}{_GAP}{first[1]}")
            parts += [first, *rest]
        return [text for _, text in parts if text]

    def with_list(self) -> Content:
        """Return it with its buttons and files as text, for providers that have none."""
        labels = [f"{number}. {one.label}" for number, one in enumerate(self.buttons, 1)]
        links = [f"{one.name}: {one.url}" if one.name else one.url for one in self.files]
        added = [Passage("\n".join(lines)) for lines in (labels, links) if lines]
        return Content(passages=[*self.passages, *added], buttons=(), files=())


_GAP = "\n\n"


def content_of(reply: OutgoingReply) -> Content:
    """Return what a reply shows."""
    value = reply.value
    card = value.get("card")
    card = card if isinstance(card, dict) else {}
    passages = [Passage(_text(value.get("text")), value.get("markdown") is True)]
    passages.append(Passage(_card(card), is_markdown=True))
    image = {"url": card.get("image"), "type": "image/*", "name": card.get("title")}
    files = [_file(one) for one in [image, *_items(value.get("files"))]]
    buttons = [_button(one) for one in _items(value.get("buttons")) + _items(card.get("buttons"))]
    return Content(
        passages=[one for one in passages if one.text.strip()],
        buttons=[one for one in buttons if one is not None],
        files=[one for one in files if one is not None],
    )


def _card(card: dict[str, Any]) -> str:
    title, text, url = (_text(card.get(name)) for name in ("title", "text", "url"))
    fields = card.get("fields")
    rows = fields.items() if isinstance(fields, dict) else ()
    lines = [f"**{title}**" if title else "", text]
    lines += [f"{name}: {value}" for name, value in rows if isinstance(value, str | int | float)]
    return "\n".join(line for line in [*lines, url] if line)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _items(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _button(value: object) -> Button | None:
    if not isinstance(value, dict):
        return None
    label, chosen = _text(value.get("label")), _text(value.get("value"))
    return Button(label or chosen, chosen or label) if label or chosen else None


def _file(value: object) -> File | None:
    """Return a file with an address that the receiver can fetch."""
    url = _text(value.get("url")) if isinstance(value, dict) else ""
    if not isinstance(value, dict) or not url.startswith(("https://", "http://")):
        return None
    return File(url, _text(value.get("name")), _text(value.get("type")))
