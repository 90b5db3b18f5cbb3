"""Celery: tasks that are acknowledged after they ran."""

import sys

import ledger
from celery import Celery

app = Celery("bench", broker=ledger.URL)
app.conf.update(task_acks_late=True, task_ignore_result=True)


@app.task(name="nothing")
def nothing(text: str) -> None:
    """Do nothing."""
    ledger.record()


if __name__ == "__main__":
    with app.producer_pool.acquire(block=True) as producer, ledger.timing():
        for _ in range(int(sys.argv[1])):
            nothing.apply_async((ledger.PAYLOAD,), producer=producer)
