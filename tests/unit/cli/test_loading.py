"""Finding an app by module:name, with an error for each way in which it is not there."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from holdfast.cli.process.loading import load_app
from holdfast.errors import InvalidInput

GOOD = """
from holdfast import App

class Box:
    app = App("embedded://data")

@Box.app.task
def work() -> None: ...

empty = App()
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Write a module `app_here` into the working folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))

    def write(source: str) -> None:
        (tmp_path / "app_here.py").write_text(source)

    yield write
    sys.modules.pop("app_here", None)


def test_an_app_is_found_in_the_working_folder(module: Callable[[str], None]) -> None:
    """Also inside another object."""
    module(GOOD)
    app = load_app("app_here:Box.app")
    assert (app.store, list(app.tasks)) == ("embedded://data", ["work"])


@pytest.mark.parametrize(
    ("target", "told"),
    [
        ("", "must be MODULE:APP"),
        ("app_here", "did you mean app_here:app?"),
        ("app_here.py:Box.app", "did you mean app_here:Box.app?"),
        ("./src/app_here.py", "did you mean src.app_here:app?"),
        ("app_here:", "did you mean app_here:app?"),
        ("nowhere:app", "there is no module nowhere in"),
        ("app_here.deeper:app", "there is no module app_here.deeper in"),
        ("app_here:other", "module app_here has no 'other'"),
        ("app_here:Box", "app_here:Box is not an App but type"),
        ("app_here:empty", "app_here:empty has no tasks: declare one with @empty.task"),
    ],
)
def test_what_is_wrong_with_a_target_is_said(
    module: Callable[[str], None], target: str, told: str
) -> None:
    """Each has its own sentence."""
    module(GOOD)
    with pytest.raises(InvalidInput) as refused:
        load_app(target)
    assert told in refused.value.message


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("x = (\n", "app_here.py, line 1"),
        ("import nosuchthing\n", "No module named 'nosuchthing' ("),
        ("x = 1\ny = 1 / 0\n", "ZeroDivisionError: division by zero ("),
        ("x = 1\ny = 1 / 0\n", "app_here.py, line 2)"),
    ],
)
def test_an_error_in_the_module_is_told_with_its_place(
    module: Callable[[str], None], source: str, told: str
) -> None:
    """The author finds the line."""
    module(source)
    with pytest.raises(InvalidInput) as refused:
        load_app("app_here:app")
    assert told in refused.value.message
