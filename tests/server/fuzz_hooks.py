"""Hooks of schemathesis: no long waits, and now and then things that exist."""

from __future__ import annotations

import os
import random
from typing import Any

import schemathesis


@schemathesis.hook
def map_body(_context: Any, body: Any) -> Any:
    """Let no call wait."""
    if isinstance(body, dict) and "wait_ms" in body:
        body["wait_ms"] = 0
    return body


@schemathesis.hook
def map_query(_context: Any, query: Any) -> Any:
    """Let no call wait."""
    if query and str(query.get("wait_ms", "")).isdecimal():
        query["wait_ms"] = 0
    return query


@schemathesis.hook
def map_path_parameters(_context: Any, path_parameters: Any) -> Any:
    """Name things that exist, so that calls get past the first check."""
    if path_parameters and random.random() < 0.7:
        ids = (os.environ["FUZZ_EXECUTION"], os.environ["FUZZ_GRAPH"])
        waitpoint = f"{ids[0]}~w1"
        exist = {"id": random.choice(ids), "wp": waitpoint, "waitpoint": waitpoint}
        path_parameters.update({k: v for k, v in exist.items() if k in path_parameters})
    return path_parameters
