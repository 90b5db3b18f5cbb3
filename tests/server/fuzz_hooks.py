"""Hooks of schemathesis: no long waits, and mostly things that exist.

What was made wrong on purpose stays as it is.
"""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any

import schemathesis

#: By method and path; see fuzz_things.py.
THINGS: dict[str, list[dict[str, Any]]] = json.loads(Path(os.environ["FUZZ_THINGS"]).read_text())
#: The key that all calls are made with. The fuzzer finds it in a list, and revokes what it finds.
OWN_KEY = os.environ["FUZZ_KEY"]
LIVE = "text/event-stream"
#: Ours: Hypothesis has that of the module begin anew with every case.
CHANCE = random.Random(7)


@schemathesis.serializer("application/zip")
def archive(_context: Any, value: Any) -> bytes:
    """Send whatever was made, as the bytes of an archive."""
    return value if isinstance(value, bytes) else str(value).encode()


@schemathesis.hook
def map_case(_context: Any, case: Any) -> Any:
    """Name things that exist, with their leases and tokens, so that calls do something."""
    operation = case.operation
    things = THINGS[f"{operation.method.upper()} {operation.path}"]
    body = case.body if _is_right(case, "body") and isinstance(case.body, dict) else {}
    query = case.query if _is_right(case, "query") and case.query else {}
    for part in (body, query):
        if "wait_ms" in part:
            part["wait_ms"] = 0
    if things and _is_right(case, "path") and CHANCE.random() < 0.8:
        thing = CHANCE.choice(things)
        case.path_parameters.update(thing["path"])
        body.update({k: v for k, v in thing["fields"].items() if k in body})
    if OWN_KEY in (case.path_parameters or {}).values():
        case.path_parameters["key"] = "of-another"
    if operation.path.endswith("/stream") and CHANCE.random() < 0.5:
        case.headers["Accept"] = LIVE
    return case


@schemathesis.hook
def before_add_examples(context: Any, examples: list[Any]) -> None:
    """Do the same with examples."""
    for case in examples:
        map_case(context, case)


def _is_right(case: Any, location: str) -> bool:
    return case.meta is None or not case.meta.is_negative_at(location)
