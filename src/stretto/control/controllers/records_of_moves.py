"""Documents moves in the store: a Movement object in Gödel's format and an event on each pod."""

import msgspec

from stretto.api.wire.kinds import EVENT, MOVEMENT, POD
from stretto.control.controllers.fragmentation import Move
from stretto.control.reporting.wording import move_event
from stretto.state.cluster.cluster import Cluster
from stretto.state.ingest.node_reports import OWN_MOVES
from stretto.stores.store import Patch, Store


class MoveRecords:
    """Writes records of moves."""

    def __init__(self, cluster: Cluster, store: Store) -> None:
        """Write to a store about pods of a cluster."""
        self._cluster = cluster
        self._store = store
        self._round = 0

    def write_events(self, moves: tuple[Move, ...], why: str, wall: float) -> None:
        """Write an event on each evicted pod; ``why`` completes "evicted to"."""
        bodies = []
        for move in moves:
            namespace, _, name = move.pod.partition("/")
            record = self._store.get(POD, namespace, name)
            if record is not None:
                message = (
                    f"evicted from {move.source} to {why}; "
                    f"{move.target} is recommended for its successor"
                )
                component = min(self._cluster.config.scheduler_names)
                bodies.append(move_event(record, message, component, wall))
        if bodies:
            self._store.create(EVENT, bodies)

    def write_movement(self, moves: tuple[Move, ...]) -> None:
        """Write the moves as a Movement object, for users and for Gödel's components."""
        self._round += 1
        pods = self._cluster.pods
        deleted = [
            {
                "name": pods.name[m.row],
                "namespace": pods.namespace[m.row],
                "uid": pods.uid[m.row],
                "node": m.source,
            }
            for m in moves
        ]
        owners = [
            {"owner": _owner_info(owner), "recommendedNodes": _nodes_of(owner, moves)}
            for owner in sorted({move.owner for move in moves})
        ]
        body = {
            "apiVersion": MOVEMENT.api_version,
            "kind": MOVEMENT.kind,
            "metadata": {"generateName": "defragment-"},
            "spec": {"creator": OWN_MOVES, "generation": self._round, "deletedTasks": deleted},
        }
        (reply,) = self._store.create(MOVEMENT, [msgspec.json.encode(body)])
        if reply.record is not None:
            status = {"status": {"owners": owners}}
            self._store.patch_status(MOVEMENT, [Patch("", reply.record.name, status)])


def _owner_info(owner: str) -> dict[str, str]:
    kind, namespace, name = owner.split("/", 2)
    return {"type": kind, "namespace": namespace, "name": name}


def _nodes_of(owner: str, moves: tuple[Move, ...]) -> list[dict[str, object]]:
    targets = [move.target for move in moves if move.owner == owner]
    return [{"node": n, "desiredPodCount": targets.count(n)} for n in sorted(set(targets))]
