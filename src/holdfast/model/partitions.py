"""The partition of a resource: the hash of the first part of its id."""

from __future__ import annotations

from binascii import crc_hqx

DEFAULT_ON_ONE_SERVER = 1
#: There are fewer budgets and quotas than executions, so they need fewer partitions.
MOST_OF_LIMITS = 32
DEFAULT_ON_CLUSTER = 256
MOST = 4096

#: Ids with the same part before this character live in the same partition.
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


def partition_of_limit(limit_id: str, partitions: int) -> int:
    """Return the partition of a quota, or of the budgets under a root, for a partition count."""
    return partition_of(limit_id, min(partitions, MOST_OF_LIMITS))
