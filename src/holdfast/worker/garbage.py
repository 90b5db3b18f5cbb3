"""How often Python searches for garbage in a process that is there to work."""

from __future__ import annotations

import gc

#: Objects of a running execution. Python searches for garbage when as many new objects exist as all
#: slots have: earlier, it would visit the same executions again and again, and find none.
_OBJECTS_OF_SLOT = 25


def search_rarely(slots: int) -> None:
    """Let Python search less often, if it has been set to search more often.

    It concerns the whole process, so a worker inside another program does not do this by itself.
    """
    gc.set_threshold(max(gc.get_threshold()[0], slots * _OBJECTS_OF_SLOT))
