"""Options of commands that start rollouts."""

from __future__ import annotations

from typing import Annotated

import typer

from holdfast.cli.deployment_options import percent_bps
from holdfast.cli.terminal import inputs
from holdfast.errors import InvalidInput
from holdfast.model.guards import Guards
from holdfast.model.rollouts import Step, check_steps

DEFAULT_STEPS = "5%:10m,25%:10m,50%:10m,100%"
STEPS_HELP = "Shares of the new sessions and how long each lasts, such as 1%:10m,10%:30m,100%."

MinTurnsOption = Annotated[
    int, typer.Option("--min-turns", help="Turns of the new revision before it is judged.")
]
ErrorRateOption = Annotated[
    str,
    typer.Option(
        "--error-rate",
        metavar="POINTS",
        help="Points by which its error rate may be higher, such as 2%; `off` for no limit.",
    ),
]
LatencyOption = Annotated[
    str,
    typer.Option(
        "--latency",
        metavar="PERCENT",
        help="Its p95 latency in percent of the old one's; `off` for no limit.",
    ),
]


def steps(text: str) -> tuple[Step, ...]:
    """Return the steps of a text such as 1%:10m,10%:30m,100%."""
    parts = (part.strip().partition(":") for part in text.split(","))
    return check_steps(
        [
            Step(
                weight_bps=percent_bps("steps", share),
                duration_ms=inputs.duration_ms("steps", duration) if colon else 0,
            )
            for share, colon, duration in parts
        ]
    )


def guards(min_turns: int, error_rate: str, latency: str) -> Guards:
    """Return the guards that the options ask for."""
    return Guards(
        min_turns=min_turns,
        error_rate_bps=None if error_rate == "off" else percent_bps("error_rate", error_rate),
        p95_percent=None if latency == "off" else _whole("latency", latency.removesuffix("%")),
    )


def _whole(field: str, text: str) -> int:
    if not text.isdecimal():
        message = f"{field}: must be a whole number of percents, got {text!r}"
        raise InvalidInput(message, field=field)
    return int(text)
