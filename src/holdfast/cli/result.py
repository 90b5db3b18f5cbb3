"""`holdfast result`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli import archived
from holdfast.cli.terminal import inputs, opening, output
from holdfast.cli.terminal.options import ExecutionId, JsonOption, StoreOption
from holdfast.cli.terminal.spinner import wait_for_end
from holdfast.errors import ExecutionFailed, ResultNotReady
from holdfast.model.states import State

if TYPE_CHECKING:
    from holdfast.api import Engine
    from holdfast.model.executions import Outcome


def result(
    execution_id: ExecutionId,
    *,
    wait: Annotated[
        str | None,
        typer.Option("--wait", "-w", metavar="SECONDS", help="How long to wait for the result."),
    ] = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print the result of an execution. Exits with 1 if it has none."""
    wait_ms = inputs.optional_ms("wait", wait)

    async def work(engine: Engine) -> Outcome:
        if wait_ms is not None:
            return await wait_for_end(engine, execution_id, wait_ms / 1000)
        outcome = await engine.outcome(execution_id)
        if outcome is None:
            message = f"execution {execution_id} has not ended: wait for it with --wait SECONDS"
            raise ResultNotReady(message, id=execution_id)
        return outcome

    async def either(engine: Engine) -> Outcome:
        return await archived.either(
            engine, execution_id, lambda _: work(engine), lambda row: row.outcome()
        )

    show(opening.ask(store, either, maintenance=wait_ms is not None), as_json=as_json)


def show(outcome: Outcome, *, as_json: bool) -> None:
    """Write a result; raise ExecutionFailed if the execution has none."""
    if outcome.state is not State.COMPLETED or outcome.result is None:
        raise failure_of(outcome)
    if as_json:
        output.emit(
            {
                "id": outcome.id,
                "state": outcome.state,
                "content_type": outcome.content_type,
                "result": output.payload(outcome.result, outcome.content_type),
            }
        )
    else:
        output.write_payload(outcome.result, outcome.content_type)


def failure_of(outcome: Outcome) -> ExecutionFailed:
    """Return the error of an execution that ended without a result."""
    error = outcome.error or {}
    why = ": ".join(str(error[part]) for part in ("type", "message") if error.get(part))
    why = why or outcome.reason or ""
    message = f"execution {outcome.id} ended as {outcome.state}"
    return ExecutionFailed(
        f"{message}: {why}" if why else message, id=outcome.id, state=outcome.state, error=error
    )
