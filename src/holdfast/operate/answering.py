"""Which waitpoint an answer is for."""

from __future__ import annotations

from holdfast.api import Engine
from holdfast.errors import InvalidInput, WaitpointNotFound
from holdfast.model.waitpoints import WaitpointState


async def find(engine: Engine, name: str) -> str:
    """Return the waitpoint with this id, or the only waitpoint of the execution with this id."""
    if "~w" in name:
        return name
    points = [
        point for point in await engine.waitpoints.of(name) if point.state is WaitpointState.OPEN
    ]
    if len(points) == 1:
        return points[0].id
    if not points:
        raise WaitpointNotFound(f"execution {name} is not waiting for an answer", id=name)
    listed = ", ".join(f"{point.id} ({point.name})" for point in points)
    message = f"execution {name} waits at {len(points)} waitpoints; choose one: {listed}"
    raise InvalidInput(message, field="waitpoint", waitpoints=[point.id for point in points])
