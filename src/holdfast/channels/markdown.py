"""The markdown of replies, in the dialects of providers.

The subset: **bold**, *italic* or _italic_, ~~struck~~, `code`, fenced code, [links](https://...),
headings and bullets. Everything else is text.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from dataclasses import dataclass

_INLINE = re.compile(
    r"`(?P<code>[^`\n]+)`"
    r"|\*\*(?P<bold>[^*\n]+)\*\*"
    r"|~~(?P<struck>[^~\n]+)~~"
    r"|\[(?P<label>[^\]\[\n]{1,300})\]\((?P<url>https?://[^\s()<>\"]{1,2000})\)"
    r"|\*(?P<star>[^*\s](?:[^*\n]*[^*\s])?)\*"
    r"|(?<!\w)_(?P<line>[^_\s](?:[^_\n]*[^_\s])?)_(?!\w)"
)
_FENCE = re.compile(r"^(```+|~~~+)([^\n]*)\n(.*?)(?:\n\1[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^#{1,6}[ \t]+([^\n]*?)[ \t]*#*$", re.MULTILINE)
_BULLET = re.compile(r"^([ \t]*)[-*+][ \t]+", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """How a provider writes each part."""

    escape: Callable[[str], str] = str
    bold: Callable[[str], str] = str
    italic: Callable[[str], str] = str
    struck: Callable[[str], str] = str
    code: Callable[[str], str] = str
    #: A block of code.
    block: Callable[[str], str] = str
    #: A label and an address.
    link: Callable[[str, str], str] = lambda label, url: f"{label} ({url})"

    def render(self, text: str) -> str:
        """Return markdown in this dialect."""
        parts, last = [], 0
        for match in _FENCE.finditer(text):
            parts += [self._lines(text[last : match.start()]), self.block(self.escape(match[3]))]
            last = match.end()
        return "".join([*parts, self._lines(text[last:])])

    def _lines(self, text: str) -> str:
        headed = _HEADING.sub(r"**\1**", text)
        return self._inline(_BULLET.sub("\\1\u2022 ", headed))

    def _inline(self, text: str) -> str:
        parts, last = [], 0
        for match in _INLINE.finditer(text):
            parts += [self.escape(text[last : match.start()]), self._span(match)]
            last = match.end()
        return "".join([*parts, self.escape(text[last:])])

    def _span(self, match: re.Match[str]) -> str:
        kind, content = match.lastgroup, match[match.lastgroup or 0]
        if kind == "code":
            return self.code(self.escape(content))
        if kind == "url":
            return self.link(self._inline(match["label"]), self.escape(content))
        style = {"bold": self.bold, "struck": self.struck}.get(kind or "", self.italic)
        return style(self._inline(content))


def _wrapped(before: str, after: str | None = None) -> Callable[[str], str]:
    return lambda text: f"{before}{text}{before if after is None else after}"


def _escaped(text: str) -> str:
    return html.escape(text, quote=False)


PLAIN = Dialect()
SLACK = Dialect(
    escape=_escaped,
    bold=_wrapped("*"),
    italic=_wrapped("_"),
    struck=_wrapped("~"),
    code=_wrapped("`"),
    block=_wrapped("```\n", "\n```"),
    link=lambda label, url: f"<{url}|{label}>",
)
WHATSAPP = Dialect(
    bold=_wrapped("*"),
    italic=_wrapped("_"),
    struck=_wrapped("~"),
    code=_wrapped("`"),
    block=_wrapped("```\n", "\n```"),
)
#: What Telegram understands of HTML.
TELEGRAM = Dialect(
    escape=_escaped,
    bold=_wrapped("<b>", "</b>"),
    italic=_wrapped("<i>", "</i>"),
    struck=_wrapped("<s>", "</s>"),
    code=_wrapped("<code>", "</code>"),
    block=_wrapped("<pre>", "</pre>"),
    link=lambda label, url: f'<a href="{url}">{label}</a>',
)
#: A letter: line breaks are part of the text.
HTML = Dialect(
    escape=lambda text: _escaped(text).replace("\n", "<br>\n"),
    bold=_wrapped("<b>", "</b>"),
    italic=_wrapped("<i>", "</i>"),
    struck=_wrapped("<s>", "</s>"),
    code=_wrapped("<code>", "</code>"),
    block=_wrapped("<pre>", "</pre>"),
    link=lambda label, url: f'<a href="{url}">{label}</a>',
)
