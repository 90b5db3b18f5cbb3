"""Which partition a thing lives in: the hash of what its id starts with."""

from __future__ import annotations

from binascii import crc_hqx

DEFAULT_ON_ONE_SERVER = 1
DEFAULT_ON_CLUSTER = 256
MOST = 4096

#: Ids that share what precedes this character live in the same partition.
ROOT_SEPARATOR = "~"


def partition_of(execution_id: str, partitions: int) -> int:
    """Return the partition of an execution.

    The count never changes during the life of a store, so an id finds its partition
    without a look-up.
    """
    if partitions == 1:
        return 0
    root, _, _ = execution_id.partition(ROOT_SEPARATOR)
    return crc_hqx(root.encode(), 0) % partitions
