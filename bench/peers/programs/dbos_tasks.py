"""DBOS on SQLite: one workflow with one step for each task, through a queue."""

import os
import sys
import threading

import ledger
from dbos import DBOS

DBOS(config={"name": "bench", "system_database_url": ledger.URL, "log_level": "ERROR"})


@DBOS.step()
def step(text: str) -> None:
    """Do nothing."""
    ledger.record()


@DBOS.workflow()
def nothing(text: str) -> None:
    """Call a step."""
    step(text)


if __name__ == "__main__":
    DBOS.launch()
    if sys.argv[1] == "worker":
        DBOS.register_queue("bench")
        threading.Event().wait()
    with ledger.timing():
        for _ in range(int(sys.argv[1])):
            DBOS.enqueue_workflow("bench", nothing, ledger.PAYLOAD)
    os._exit(0)
