"""Movements that others wrote: who followed a recommendation is told in their status.

The scheduler sends the next pods of an owner to the nodes that a Movement recommends. Each pod that
gets there is written into the status, as Gödel's binder does: so a node is recommended to as many
pods as the rescheduler wanted there, and to no more.
"""

from collections.abc import Iterable

import msgspec

from stretto.api.types.godel import Movement, MovementStatus, OwnerMovement, TaskInfo
from stretto.api.wire.kinds import MOVEMENT
from stretto.state.cluster.cluster import Cluster
from stretto.state.work.units import Units
from stretto.stores.store import Patch, Store

_DECODER = msgspec.json.Decoder(Movement)


class Movements:
    """Counts who followed the recommendations of others."""

    def __init__(self, cluster: Cluster, units: Units, store: Store) -> None:
        """Over one plane's cluster and store."""
        self._cluster = cluster
        self._units = units
        self._store = store

    def bound(self, rows: Iterable[int]) -> None:
        """Pods got nodes: take off what was recommended to them, and say so."""
        cluster = self._cluster
        if not cluster.movements:
            return
        for row in rows:
            unit, node = self._units.of_row(row), cluster.node_of(row)
            if unit is None or node not in cluster.recommended.get(unit.key, ()):
                continue
            for name, wanted in cluster.movements.items():
                if node in wanted.get(unit.key, ()):
                    self._follow(name, unit.key, node, row)
                    break

    def _follow(self, name: str, unit: str, node: str, row: int) -> None:
        """One pod has followed a Movement: it is one fewer that is wanted there."""
        cluster, pods = self._cluster, self._cluster.pods
        for hints in (cluster.movements[name][unit], cluster.recommended[unit]):
            hints.remove(node)
        if not cluster.recommended[unit]:
            del cluster.recommended[unit]
        record = self._store.get(MOVEMENT, "", name)
        if record is None:
            return
        task = TaskInfo(pods.name[row], pods.namespace[row], pods.uid[row], node)
        try:
            status = _DECODER.decode(record.body).status
        except (msgspec.DecodeError, RecursionError):
            return
        body = {"status": msgspec.to_builtins(_with(status, unit, task))}
        self._store.patch_status(MOVEMENT, [Patch("", name, body, record.version)])


def _with(status: MovementStatus, unit: str, task: TaskInfo) -> MovementStatus:
    """A status with one more pod on a recommended node of its owner."""
    owners = []
    for each in status.owners:
        owner = each.owner
        mine = (
            owner is not None and unit == f"OwnerUnit/{owner.type}/{owner.namespace}/{owner.name}"
        )
        owners.append(_with_pod(each, task) if mine else each)
    return msgspec.structs.replace(status, owners=tuple(owners))


def _with_pod(owner: OwnerMovement, task: TaskInfo) -> OwnerMovement:
    nodes = [
        msgspec.structs.replace(each, actual_pods=(*each.actual_pods, task))
        if each.node == task.node
        else each
        for each in owner.recommended_nodes
    ]
    return msgspec.structs.replace(owner, recommended_nodes=tuple(nodes))
