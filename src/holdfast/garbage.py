"""Python's search for garbage, in a process that is there to serve others.

It concerns the whole process, so only commands call this. A worker inside another program does not.
"""

from __future__ import annotations

import gc

#: Objects of a slot: of the execution that runs, and of those claimed and settled meanwhile. Python
#: searches for garbage when as many new objects exist as all slots have: earlier, it would visit
#: the same executions again and again, and find none.
OBJECTS_OF_SLOT = 75


def search_rarely(objects: int) -> None:
    """Let Python search when there are this many new objects, unless it searches more rarely."""
    gc.set_threshold(max(gc.get_threshold()[0], objects))


def leave_out_what_is_loaded() -> None:
    """Exclude everything that exists now from later searches.

    Modules and their like live as long as the process. A search among all of them takes tens of
    milliseconds, in which no call is answered, and many calls make such searches frequent.
    """
    gc.collect()
    gc.freeze()
