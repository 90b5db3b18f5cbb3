"""The comparison of the quarters of a soak."""

from __future__ import annotations

import pytest

from bench.soak.samples import Samples, growth


def seen(name: str, *values: float) -> dict[str, list[float]]:
    """Return the quarters of values that were seen at even distances."""
    samples = Samples()
    for number, value in enumerate(values):
        samples.add(float(number), {name: value})
    return samples.quarters(float(len(values)))


def test_quarters_are_medians() -> None:
    """Of what was seen in each; a run that was stopped early may lack some."""
    assert seen("all keys", 1, 2, 9, 3, 3, 3, 4, 5) == {"all keys": [1.5, 6, 3, 4.5]}
    assert seen("all keys", 1, 2) == {}


@pytest.mark.parametrize(
    ("name", "values", "grew"),
    [
        ("all keys", (10_000, 20_000, 20_000, 20_900), False),
        ("all keys", (10_000, 20_000, 21_000, 23_000), True),
        ("all keys", (10, 20, 30, 400), False),
        ("worker 1, MB", (50, 100, 100, 107), False),
        ("worker 1, MB", (50, 100, 110, 120), True),
        ("Valkey data, MB", (7.0, 7.9, 8.8, 9.7), True),
        ("append-only file, MB", (5, 20, 40, 39), False),
        ("submit to result p99, ms", (10, 2_000, 2_500, 2_900), False),
        ("submit to result p99, ms", (10, 2_000, 2_500, 3_100), True),
        ("server 1, fds", (20, 50, 90, 120), True),
    ],
)
def test_what_grows_after_the_first_quarter_is_named(
    name: str, values: tuple[float, ...], grew: bool
) -> None:
    """Beyond a share and what is noise."""
    lines = growth(seen(name, *values))
    assert [line.startswith(f"{name} grew") for line in lines] == [True] * grew
