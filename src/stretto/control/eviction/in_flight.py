"""Pods asked to leave: sent, not answered yet, while the plane goes on.

A server takes milliseconds for an eviction, and a preemptor needs several: a scheduler that waited
for each answer would neither plan nor bind meanwhile. Where the store can send without waiting,
so many may be under way at once; elsewhere every answer is there as soon as it was asked for.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Final, NamedTuple, TypeVar

from stretto.api.wire.kinds import POD, Kind
from stretto.state.cluster.cluster import Cluster
from stretto.state.work.evictions import PendingEviction
from stretto.stores.store import BeginDelete, BeginEvict, Deletion, Eviction, Replies, Reply, Store

T = TypeVar("T")
LANE: Final = 512
"""Pleas under way at once: binds must not wait behind a storm of them."""


class EvictionInFlight(NamedTuple):
    """A pod that is asked to leave."""

    #: Its row.
    row: int
    #: Why it is to leave, with its serial.
    why: PendingEviction


class _EvictionBatch(NamedTuple):
    """A batch that has been sent."""

    #: Who was asked.
    pleas: list[EvictionInFlight]
    #: The answers, in the order of the pleas.
    answers: Future[Replies]


class EvictionsInFlight:
    """Evictions within budgets and deletions beyond them, on their way through one store."""

    def __init__(self, cluster: Cluster, store: Store) -> None:
        """Nobody has been asked."""
        self._pods = cluster.pods
        self._store = store
        self._evict: BeginEvict = getattr(store, "begin_evict", None) or self._evict_now
        self._delete: BeginDelete = getattr(store, "begin_delete", None) or self._delete_now
        self._way: list[_EvictionBatch] = []

    @property
    def room(self) -> int:
        """How many more may be asked now."""
        return LANE - sum(len(sent.pleas) for sent in self._way)

    def send(self, pleas: Sequence[EvictionInFlight]) -> None:
        """Ask pods to leave."""
        pods = self._pods
        within = [plea for plea in pleas if not plea.why.beyond]
        beyond = [plea for plea in pleas if plea.why.beyond]
        if within:
            evictions = [
                Eviction(pods.namespace[row], pods.name[row], pods.uid[row], why.reason)
                for row, why in within
            ]
            self._way.append(_EvictionBatch(within, self._evict(evictions)))
        if beyond:
            deletions = [Deletion(pods.namespace[r], pods.name[r], pods.uid[r]) for r, _ in beyond]
            self._way.append(_EvictionBatch(beyond, self._delete(POD, deletions)))

    def heard(self) -> list[tuple[EvictionInFlight, Reply]]:
        """The answers that have come since the last look.

        Raises:
            StrettoError: the store could not be used at all.
        """
        done = [sent for sent in self._way if sent.answers.done()]
        self._way = [sent for sent in self._way if sent not in done]
        return [
            pair for pleas, answers in done for pair in zip(pleas, answers.result(), strict=True)
        ]

    def _evict_now(self, evictions: Sequence[Eviction]) -> Future[Replies]:
        return _answered(self._store.evict, evictions)

    def _delete_now(self, kind: Kind, deletions: Sequence[Deletion]) -> Future[Replies]:
        return _answered(lambda some: self._store.delete(kind, some), deletions)


def _answered(ask: Callable[[Sequence[T]], Replies], items: Sequence[T]) -> Future[Replies]:
    """Ask, and have the answers at once."""
    future: Future[Replies] = Future()
    future.set_result(ask(items))
    return future
