"""Import an app by `MODULE:APP`."""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from typing import TYPE_CHECKING

from holdfast.errors import InvalidInput

if TYPE_CHECKING:
    from holdfast.worker.app import App


def load_app(target: str) -> App:
    """Import an app; raise InvalidInput if the target or its code is wrong."""
    from holdfast.worker.app import App

    module_name, separator, attribute = target.partition(":")
    is_file = module_name.endswith(".py") or "/" in module_name
    if not module_name or not separator or not attribute or is_file:
        raise _wrong(f"must be MODULE:APP such as shop.tasks:app, got {target!r}{_hint(target)}")
    _import_from_here()
    app: object = _import(module_name)
    for part in attribute.split("."):
        try:
            app = getattr(app, part)
        except AttributeError:
            raise _wrong(f"module {module_name} has no {attribute!r}") from None
    if not isinstance(app, App):
        raise _wrong(f"{target} is not an App but {type(app).__name__}")
    if not app.tasks:
        raise _wrong(f"{target} has no tasks: declare one with @{attribute}.task")
    return app


def _wrong(problem: str) -> InvalidInput:
    return InvalidInput(f"app: {problem}", field="app")


def _hint(target: str) -> str:
    """Suggest the module for a file name."""
    path, _, attribute = target.partition(":")
    module = path.removeprefix("./").removesuffix(".py").strip("/").replace("/", ".")
    return f": did you mean {module}:{attribute or 'app'}?" if module else ""


def _import_from_here() -> None:
    """Put the working folder on the path, as `python -m` does; an installed command does not."""
    here = os.getcwd()  # noqa: PTH109 - sys.path holds strings
    if here not in sys.path and "" not in sys.path:
        sys.path.insert(0, here)


def _import(name: str) -> object:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(error.name + ".")):
            message = f"there is no module {name} in {os.getcwd()} or on the path"  # noqa: PTH109
            raise _wrong(message) from None
        raise _wrong(f"module {name} {_failed(error)}") from error
    except SyntaxError as error:
        where = f"{error.filename}, line {error.lineno}"
        raise _wrong(f"module {name} has an error in {where}: {error.msg}") from error
    except Exception as error:
        raise _wrong(f"module {name} {_failed(error)}") from error


def _failed(error: Exception) -> str:
    """Describe the error that importing a module raised, and where."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{frame.filename}, line {frame.lineno}"
    return f"cannot be imported: {type(error).__name__}: {error} ({where})"
