"""Facts of every queue as values: for Queue statuses, ``stretto queues`` and ``explain``."""

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from stretto.api.wire.quantity import format_amount
from stretto.control.dispatcher.states.containers import UnitStates
from stretto.control.queues.config import QueueConfig
from stretto.state.queries.pool import PoolView
from stretto.state.queues.shape import ROOT
from stretto.state.queues.shares import dominant
from stretto.state.queues.tree import QueueBranch, QueueState, QueueTree
from stretto.state.queues.usage import QueueUsage
from stretto.state.rows.lifecycle import UnitState
from stretto.state.rows.resources import PODS

_WAITING: Final = frozenset(
    {
        UnitState.FORMING,
        UnitState.QUEUED,
        UnitState.DISPATCHED,
        UnitState.BACKOFF,
        UnitState.UNSCHEDULABLE,
    }
)


class QueueFacts(msgspec.Struct, frozen=True):
    """One queue including its descendants; amounts in Kubernetes notation, by resource."""

    #: Name of the queue.
    name: str
    #: Parent queue; empty at the top level.
    parent: str
    #: Order of its units, or its policy among its child queues.
    policy: str
    #: Weight among its siblings.
    weight: float = 1.0
    #: ``Open`` or ``Draining``.
    state: str = QueueState.OPEN.value
    #: Guarantee of its spec.
    guarantee: dict[str, str] = {}
    #: Effective guarantee: smaller if the tree cannot provide it.
    counted: dict[str, str] = {}
    #: Limit of its spec.
    limit: dict[str, str] = {}
    #: Usage of its pods.
    used: dict[str, str] = {}
    #: Usage above its guarantee, for resources of which any queue has a guarantee.
    borrowed: dict[str, str] = {}
    #: Dominant share: the largest fraction of any resource of the cluster, 0 to 1.
    share: float = 0.0
    #: Number of pending units.
    pending: int = 0
    #: Number of units with at least one pod that is dispatched or placed.
    running: int = 0
    #: Limit on running units; ``None`` for no limit.
    max_running: int | None = None
    #: Problems of its spec and its state.
    faults: tuple[str, ...] = ()
    #: False if no policy counts usage: amounts, share and running units are unknown.
    is_counted: bool = True


def queue_facts(places: UnitStates) -> list[QueueFacts]:
    """Facts of every known queue, parents before children; the root only if it is configured."""
    usage = places.usage
    waiting = _waiting(places)
    configs = {config.name: config for config in places.config.queues}
    other = places.config.other_queues
    if usage is None:
        names = dict.fromkeys([*configs, *(queue.name for queue in places.queues), *waiting])
        return [
            QueueFacts(
                name,
                "",
                str(configs.get(name, other).policy),
                configs.get(name, other).weight,
                pending=waiting.get(name, 0),
                faults=_read_faults(places, name),
                is_counted=False,
            )
            for name in sorted(names)
        ]
    return list(_QueueReporter(places, usage, configs, waiting).facts())


def _waiting(places: UnitStates) -> dict[str, int]:
    """Number of pending units by queue."""
    found: dict[str, int] = {}
    for unit in places.units:
        if unit.pending and unit.state in _WAITING:
            found[unit.queue] = found.get(unit.queue, 0) + 1
    return found


def _read_faults(places: UnitStates, name: str) -> tuple[str, ...]:
    fault = places.queue_faults.get(name)
    return (fault,) if fault else ()


class _QueueReporter:
    """Collects the facts of one queue tree."""

    def __init__(
        self,
        places: UnitStates,
        usage: QueueUsage,
        configs: Mapping[str, QueueConfig],
        waiting: Mapping[str, int],
    ) -> None:
        self._places = places
        self._configs = configs
        self._pool: PoolView = usage.pool
        self._tree: QueueTree = usage.tree
        self._capacity = {c: n for c, n in usage.pool.capacity().items() if c != PODS}
        #: Columns of which any queue has a guarantee: only these can be borrowed.
        self._guaranteed = sorted({c for branch in usage.tree for c in branch.guarantee})
        self._waiting: dict[QueueBranch, int] = {}
        for name, count in waiting.items():
            for branch in usage.tree.leaf(name).path:
                self._waiting[branch] = self._waiting.get(branch, 0) + count

    def facts(self) -> Iterator[QueueFacts]:
        stack = [self._tree.root]
        while stack:
            branch = stack.pop()
            if branch is not self._tree.root or ROOT in self._configs:
                yield self._facts(branch)
            stack.extend(sorted(branch.children, key=lambda each: each.name, reverse=True))

    def _facts(self, branch: QueueBranch) -> QueueFacts:
        config = self._configs.get(branch.name, self._places.config.other_queues)
        counts = self._guaranteed if branch.parent is not None else ()
        over = {c: branch.used.get(c, 0) - branch.guarantee.get(c, 0) for c in counts}
        top = branch.parent is None or branch.parent is self._tree.root
        most = branch.most_units
        return QueueFacts(
            name=branch.name,
            parent="" if top or branch.parent is None else branch.parent.name,
            policy=str(config.policy),
            weight=branch.weight,
            state=branch.state.value,
            guarantee={name: format_amount(name, n) for name, n in config.guarantee.items()},
            counted=self._texts(branch.guarantee),
            limit=self._texts(branch.limit),
            used=self._texts(branch.used),
            borrowed=self._texts({c: n for c, n in over.items() if n > 0}),
            share=dominant(branch.used.items(), self._capacity).share,
            pending=self._waiting.get(branch, 0),
            running=branch.running,
            max_running=int(most) if most < float("inf") else None,
            faults=self._faults(branch),
        )

    def _faults(self, branch: QueueBranch) -> tuple[str, ...]:
        found = [*_read_faults(self._places, branch.name), *self._tree.faults.get(branch.name, ())]
        if branch.state is QueueState.DRAINING:
            found.append(
                "its object was deleted while in use: running pods continue, no pod starts; "
                "create the queue again, or set another queue on the pending pods"
            )
        for column, limit in branch.limit.items():
            used = branch.used.get(column, 0)
            if used > limit:
                name, held = self._pool.names(column, used)
                most = format_amount(name, self._pool.names(column, limit)[1])
                found.append(
                    f"spec.limit.{name}: {format_amount(name, held)} used, limit {most}; no pod "
                    "starts until usage is below the limit"
                )
        return tuple(found)

    def _texts(self, amounts: Mapping[int, int]) -> dict[str, str]:
        found = {}
        for column, amount in sorted(amounts.items()):
            if amount:
                name, count = self._pool.names(column, amount)
                found[name] = format_amount(name, count)
        return found
