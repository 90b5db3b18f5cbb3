"""One program per peer: it enqueues no-op tasks, and its worker command runs them.

Each runs in an environment of the peer's own, so it imports nothing of Holdfast.
"""
