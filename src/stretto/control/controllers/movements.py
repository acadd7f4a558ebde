"""Tracks Movement objects of other writers: records the pods that followed them in their status.

The scheduler places the next pods of an owner on the nodes that a Movement recommends. Each such
pod is added to the status, as Gödel's binder does, so that a node is recommended to exactly as many
pods as the Movement requests.
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
    """Records pods that followed recommendations of other writers."""

    def __init__(self, cluster: Cluster, units: Units, store: Store) -> None:
        """Use a plane's cluster, units and store."""
        self._cluster = cluster
        self._units = units
        self._store = store

    def bound(self, rows: Iterable[int]) -> None:
        """Process bound pods: reduce the recommendations they followed and write the statuses."""
        cluster = self._cluster
        for row in rows:
            unit, node = self._units.of_row(row), cluster.node_of(row)
            if unit is None or node not in cluster.recommended.get(unit.key, ()):
                continue
            for name, wanted in cluster.movements.items():
                if node in wanted.get(unit.key, ()):
                    self._follow(name, unit.key, node, row)
                    break

    def _follow(self, name: str, unit: str, node: str, row: int) -> None:
        """Record that a pod followed a Movement and reduce its desired count by one."""
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
    """A copy of a status with one more pod on a recommended node of its owner."""
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
