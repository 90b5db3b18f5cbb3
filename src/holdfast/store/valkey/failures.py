"""Failed calls: did the server answer, and may it have run the command?"""

from __future__ import annotations

import re

#: Words with which a server refuses a user.
REFUSED_LOGIN = ("NOAUTH", "WRONGPASS", "NOPERM")

#: Errors with which a server says that it did not run the command.
_NOT_RUN = re.compile(
    r"(LOADING|BUSY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|READONLY|MOVED|ASK|OOM|NOAUTH|WRONGPASS|NOPERM)\b"
    r"|.*Function not found"
)


class CallFailed(Exception):
    """A call got an error. `sent` is False when the server certainly did not run it."""

    def __init__(self, text: str, *, sent: bool, answered: bool) -> None:
        super().__init__(text)
        self.text = text
        self.sent = sent
        #: The server answered with an error, as opposed to no answer at all.
        self.answered = answered

    @property
    def is_full(self) -> bool:
        """Whether the server has no memory left for this."""
        return "OOM" in self.text


def answered(text: str) -> CallFailed:
    """Make the failure of a call that the server answered with an error."""
    return CallFailed(text, sent=_NOT_RUN.match(text) is None, answered=True)


def not_sent(text: str) -> CallFailed:
    """Make the failure of a call that no server has seen."""
    return CallFailed(text, sent=False, answered=False)


def unanswered(text: str) -> CallFailed:
    """Make the failure of a call that was sent and got no answer: it may have run."""
    return CallFailed(text, sent=True, answered=False)
