"""Event feeds: all changes of a tenant's executions and other nouns, in one order, live."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Collection

from holdfast.model.feeds import Gap, Noun, NounChange, StateChange


class Feeds(ABC):
    """The event feeds of a store."""

    @abstractmethod
    def follow(
        self,
        tenant: str,
        after: str | None = None,
        types: Collection[str] = (Noun.EXECUTION,),
    ) -> AsyncIterator[StateChange | NounChange | Gap | None]:
        """Yield changes as they happen, from now or from a position.

        The first item is None: no change after it is missed. Changes follow, with a Gap where some
        are no longer kept. `types` are the nouns to follow: execution, session, waitpoint,
        deployment, queue, worker. A queue is noted at most once a second, with its latest state.
        """
