"""Views that show a model value field by field.

    class QuotaView(ModelView, model=Quota):
        '''A quota.'''

has the fields of `Quota` in their order, with times as RFC 3339 and enumerations as words. Their
descriptions are the model's `#:` comments. `hide` leaves fields out, `rename` gives fields another
name over HTTP, and `own` lists ids to show as the caller knows them. A field that the class
declares itself keeps that type and description. If its value differs from the model's, or the
model lacks the field, `of` passes the value to `copy`.
"""

from __future__ import annotations

import dataclasses
import functools
import typing
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from types import NoneType, UnionType
from typing import Any, NamedTuple, Self

import msgspec

from holdfast.server.auth import shown
from holdfast.server.views.fields import View
from holdfast.server.views.times import optional, rfc3339


class Copied(NamedTuple):
    """A view field that shows a model field."""

    name: str
    attribute: str
    #: None keeps the value as it is.
    show: Callable[[Any], Any] | None


class _Derived(msgspec.StructMeta):
    """Adds the model's fields to those that a view declares."""

    def __new__(  # noqa: PYI034 - mypy has no Self in a metaclass
        cls,
        name: str,
        bases: tuple[type, ...],
        namespace: dict[str, Any],
        *,
        model: type | None = None,
        hide: Collection[str] = (),
        rename: Mapping[str, str] | None = None,
        own: Collection[str] = (),
        **options: Any,
    ) -> _Derived:
        """Create a view class."""
        if model is None:
            return super().__new__(cls, name, bases, namespace, **options)
        names = rename or {}
        declared = namespace.get("__annotations__", {})
        annotations: dict[str, Any] = {}
        copied = []
        for attribute, hint in _fields(model).items():
            if attribute in hide:
                continue
            field = names.get(attribute, attribute)
            annotations[field] = declared.get(field, _shown_type(hint))
            show = shown.own_or_none if attribute in own else _shower(hint)
            copied.append(Copied(field, attribute, show))
        struct = super().__new__(
            cls, name, bases, {**namespace, "__annotations__": annotations | declared}, **options
        )
        _MODELS[struct] = (model, names, tuple(copied))
        return struct


#: The model of each derived view, its field names over HTTP, and the copied fields.
_MODELS: dict[type, tuple[type, Mapping[str, str], tuple[Copied, ...]]] = {}


class ModelView(View, metaclass=_Derived):
    """A view of a model value."""

    @classmethod
    def of(cls, value: Any) -> Self:
        """Show a value."""
        return cls.copy(value)

    @classmethod
    def copy(cls, value: Any, **more: Any) -> Self:
        """Show a value; `more` are view fields that the model lacks or that differ from it."""
        for field, attribute, show in _copied(cls):
            if field not in more:
                found = getattr(value, attribute)
                more[field] = found if show is None else show(found)
        return cls(**more)


@functools.cache
def _copied(view: type) -> tuple[Copied, ...]:
    """Return the fields that a view copies, from its own model or from that of a base view."""
    return next((_MODELS[base][2] for base in view.__mro__ if base in _MODELS), ())


def model_of(view: type) -> tuple[type, Mapping[str, str]] | None:
    """Return the model of a derived view, and its field names over HTTP."""
    found = _MODELS.get(view)
    return None if found is None else found[:2]


def _fields(model: type) -> dict[str, Any]:
    """Return the types of a model's fields, in order."""
    hints = typing.get_type_hints(model)
    if dataclasses.is_dataclass(model):
        return {field.name: hints[field.name] for field in dataclasses.fields(model)}
    return {name: hints[name] for name in model.__struct_fields__}  # type: ignore[attr-defined]


def _shown_type(hint: Any) -> Any:
    """Return the JSON type for a type of the model."""
    hint = getattr(hint, "__supertype__", hint)
    if isinstance(hint, type) and issubclass(hint, datetime | StrEnum):
        return str
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin in {typing.Union, UnionType}:
        return functools.reduce(lambda a, b: a | b, map(_shown_type, args))
    if origin is typing.Literal:
        return str
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return dict[tuple(map(_shown_type, args))]  # type: ignore[misc]
    if origin is tuple or (isinstance(origin, type) and issubclass(origin, Sequence)):
        return tuple[_shown_type(args[0]), ...]  # type: ignore[misc]
    return hint


def _shower(hint: Any) -> Callable[[Any], Any] | None:
    """Return the function that turns a model value into a JSON value."""
    if hint is datetime:
        return rfc3339
    if set(typing.get_args(hint)) == {datetime, NoneType}:
        return optional
    return None
