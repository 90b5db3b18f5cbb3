"""Path routing, in time that does not grow with the number of paths.

A path is split before it is decoded, because an id may contain a slash, sent as %2F.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar
from urllib.parse import unquote

from holdfast.errors import Malformed, NotFound

T = TypeVar("T")

#: Keys of nodes, which `_descend` never takes for a segment: any segment, and the end of a path.
_ANY, _END = "/", "//"


class Paths(Generic[T]):
    """A tree of segments. A fixed segment takes precedence over a parameter."""

    def __init__(self) -> None:
        self._root: dict[str, Any] = {}
        #: Paths without parameters.
        self._fixed: dict[bytes, T] = {}

    def add(self, path: str, target: T) -> None:
        """Add a path such as /v1/queues/{name}."""
        if "{" not in path:
            self._fixed[path.encode()] = target
        node, names = self._root, []
        for segment in [] if path == "/" else path.split("/")[1:]:
            is_name = segment.startswith("{")
            if is_name:
                names.append(segment[1:-1])
            node = node.setdefault(_ANY if is_name else segment, {})
        node[_END] = (target, names)

    def find(self, raw_path: bytes) -> tuple[T, dict[str, str]]:
        """Return the target of a path as it was sent, and its parameters."""
        fixed = self._fixed.get(raw_path)
        if fixed is not None:
            return fixed, {}
        values: list[str] = []
        parts = [] if raw_path == b"/" else raw_path.split(b"/")[1:]
        end = _descend(self._root, [_decoded(part) for part in parts], 0, values)
        if end is None:
            raise NotFound("there is no such path; /docs lists the existing ones")
        target, names = end
        return target, dict(zip(names, values, strict=True))


def _descend(node: dict[str, Any], segments: list[str], at: int, values: list[str]) -> Any:
    if at == len(segments):
        return node.get(_END)
    segment = segments[at]
    fixed = node.get(segment) if segment not in {_ANY, _END} else None
    end = None if fixed is None else _descend(fixed, segments, at + 1, values)
    if end is None and segment and _ANY in node:
        values.append(segment)
        end = _descend(node[_ANY], segments, at + 1, values)
        if end is None:
            values.pop()
    return end


def _decoded(segment: bytes) -> str:
    try:
        text = unquote(segment.decode("ascii"), errors="strict")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise Malformed("the path is not text in UTF-8", field="path")
    return text
