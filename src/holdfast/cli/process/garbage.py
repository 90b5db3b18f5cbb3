"""Python's search for garbage, in processes that others wait for."""

from __future__ import annotations

import gc


def leave_out_what_is_loaded() -> None:
    """Exclude everything that exists now from later searches.

    Modules and their like live as long as the process. A search among all of them takes tens of
    milliseconds, in which no call is answered, and many calls make such searches frequent.
    """
    gc.collect()
    gc.freeze()
