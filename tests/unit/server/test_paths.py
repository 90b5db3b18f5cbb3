"""Which path is meant, and by what names."""

from __future__ import annotations

import pytest

from holdfast.errors import Malformed, NotFound
from holdfast.server.http.paths import Paths


@pytest.fixture
def paths() -> Paths[str]:
    found: Paths[str] = Paths()
    for path in (
        "/",
        "/v1/a",
        "/v1/a:batch",
        "/v1/a/{id}",
        "/v1/a/{id}/b",
        "/v1/a/b/c",
        "/{x}/{y}/z",
    ):
        found.add(path, path)
    return found


@pytest.mark.parametrize(
    ("raw", "path", "params"),
    [
        (b"/", "/", {}),
        (b"/v1/a", "/v1/a", {}),
        (b"/v1/a:batch", "/v1/a:batch", {}),
        (b"/v1/%61", "/v1/a", {}),
        (b"/v1/a/b", "/v1/a/{id}", {"id": "b"}),
        (b"/v1/a/b/b", "/v1/a/{id}/b", {"id": "b"}),
        (b"/v1/a/b/c", "/v1/a/b/c", {}),
        (b"/v1/a/z", "/v1/a/{id}", {"id": "z"}),
        (b"/v1/q/z", "/{x}/{y}/z", {"x": "v1", "y": "q"}),
        (b"/v1/a/p%2Fq%2f", "/v1/a/{id}", {"id": "p/q/"}),
        (b"/v1/a/%2F", "/v1/a/{id}", {"id": "/"}),
        (b"/v1/a/%C3%A9+%20", "/v1/a/{id}", {"id": "é+ "}),
    ],
)
def test_a_fixed_segment_goes_before_a_parameter(
    paths: Paths[str], raw: bytes, path: str, params: dict[str, str]
) -> None:
    """And a slash inside a parameter is part of it."""
    assert paths.find(raw) == (path, params)


@pytest.mark.parametrize("raw", [b"/v1", b"/v1/", b"/v1/a/", b"/v1//b", b"/v1/a/b/c/d", b"//"])
def test_other_paths_are_not_found(paths: Paths[str], raw: bytes) -> None:
    """A parameter is never empty."""
    with pytest.raises(NotFound):
        paths.find(raw)


@pytest.mark.parametrize("raw", [b"/v1/a/%00", b"/v1/a/%ff", b"/v1/a/\xff"])
def test_what_is_not_text_is_refused(paths: Paths[str], raw: bytes) -> None:
    """Broken UTF-8, and the character that ends strings elsewhere."""
    with pytest.raises(Malformed):
        paths.find(raw)
