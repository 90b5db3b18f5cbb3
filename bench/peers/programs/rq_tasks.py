"""RQ, which forks for every job."""

import sys

import ledger
from redis import Redis
from rq import Queue


def nothing(text: str) -> None:
    """Do nothing."""
    ledger.record()


if __name__ == "__main__":
    queue = Queue(connection=Redis.from_url(ledger.URL))
    job = Queue.prepare_data("rq_tasks.nothing", (ledger.PAYLOAD,), result_ttl=0)
    with ledger.timing():
        for _ in range(0, int(sys.argv[1]), 100):
            queue.enqueue_many([job] * 100)
