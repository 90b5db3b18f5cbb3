"""Run the state machine of queues in a process of its own; see run_machine."""

from __future__ import annotations

from tests.property.queue_machine import QueueMachine
from tests.property.run_machine import try_out

if __name__ == "__main__":
    try_out(QueueMachine, steps=30)
