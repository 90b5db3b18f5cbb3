"""Crash it: kill the worker of an execution, to see that the next one continues.

`holdfast dev` runs the worker and this server in one process, and starts it again when it dies. The
route is there only then, and only on a loopback address; it is not part of the HTTP API.
"""

from __future__ import annotations

import asyncio
import os
import signal

from holdfast import errors
from holdfast.model.api_keys import Role
from holdfast.model.states import State
from holdfast.server.auth.owners import EXECUTION
from holdfast.server.http.call import Call
from holdfast.server.http.declare import Answer, Routes
from holdfast.server.views.fields import View

routes: Routes = Routes("dev", "What is possible in development only.")

#: The answer goes out before the process dies.
_LAST_S = 0.1


class CrashView(View):
    """What is about to be killed, and what the next worker has of the execution."""

    worker: str
    pid: int
    #: How many steps are recorded: the next attempt continues after them.
    steps: int


@routes.post(
    "/v1/dev/executions/{id}/crash",
    role=Role.OPERATOR,
    owner=EXECUTION,
    status=202,
    errors=(errors.NotActive,),
)
async def crash(call: Call, id: str) -> Answer[CrashView]:
    """Kill the worker that runs an execution with SIGKILL, this server with it."""
    execution = await call.engine.describe(id)
    pid = os.getpid()
    if execution.state is not State.ACTIVE or f".{pid}." not in (execution.worker or ""):
        message = f"{id} is {execution.state}: no worker of this process runs it"
        raise errors.NotActive(message)
    steps = await call.engine.steps(id)
    asyncio.get_running_loop().call_later(_LAST_S, os.kill, pid, signal.SIGKILL)
    return Answer(CrashView(worker=str(execution.worker), pid=pid, steps=len(steps)), 202)
