"""Placements on a copy of a state: the pending pods that a scheduler places after changes."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import msgspec

from stretto.api.kinds.table import scheduled_kinds
from stretto.api.wire.kinds import NODE, POD
from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.plane.config import PlaneConfig
from stretto.plane.plane import Plane
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.store import Deletion, Patch, Record, Store

ObjectName = tuple[str, str]
"""Namespace and name."""
_NO_NODES: Final[Mapping[str, Mapping[str, Any]]] = MappingProxyType({})


class PlacementTrial:
    """A scheduler that places pending pods on copies of a state, in virtual time."""

    def __init__(
        self,
        config: PlaneConfig,
        records: Callable[[], Iterable[Record]],
        scheduler_names: frozenset[str] = frozenset(),
    ) -> None:
        """Create a scheduler with a configuration.

        Args:
            config: rules of the scheduler; nothing is reported.
            records: returns the current state.
            scheduler_names: further values of ``schedulerName`` that it places.
        """
        names = config.cluster.scheduler_names | scheduler_names
        cluster = msgspec.structs.replace(config.cluster, scheduler_names=names)
        self._config = msgspec.structs.replace(
            config, cluster=cluster, report=None, tier="numpy", shards=1
        )
        self._records = records

    def placed(
        self,
        nodes: Mapping[str, Mapping[str, Any]] = _NO_NODES,
        removed: Sequence[ObjectName] = (),
    ) -> dict[ObjectName, str]:
        """Pending pods that are placed after changes, with their nodes.

        Args:
            nodes: merge patches of nodes, by name.
            removed: removed pods; pods that are being deleted also count as removed.
        """
        clock = ManualClock()
        store = MemoryStore(clock, Rng(self._config.seed).child("trial"))
        records = [each for each in self._records() if not _ends(each)]
        store.seed(records)
        store.patch(NODE, [Patch("", name, change) for name, change in nodes.items()])
        store.delete(POD, [Deletion(*name) for name in removed])
        Plane(self._config, store, clock).run_until_idle()
        pending = {(each.namespace, each.name) for each in records if _is_pending(each)}
        found = {(each.namespace, each.name): each.node for each in store.list(POD).records}
        return {name: found[name] for name in pending if found.get(name)}


def _ends(record: Record) -> bool:
    """Return whether a pod is being deleted: then it counts as removed."""
    return record.kind == POD and bool(record.deleting)


def _is_pending(record: Record) -> bool:
    return record.kind == POD and not record.node


def scheduling_records(store: Store) -> list[Record]:
    """All objects of a store that affect the placement of pods."""
    return [each for kind in scheduled_kinds() for each in store.list(kind).records]
