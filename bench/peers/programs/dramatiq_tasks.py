"""Dramatiq, with its broker for Redis."""

import sys

import dramatiq
import ledger
from dramatiq.brokers.redis import RedisBroker

dramatiq.set_broker(RedisBroker(url=ledger.URL))


@dramatiq.actor
def nothing(text: str) -> None:
    """Do nothing."""
    ledger.record()


if __name__ == "__main__":
    with ledger.timing():
        for _ in range(int(sys.argv[1])):
            nothing.send(ledger.PAYLOAD)
