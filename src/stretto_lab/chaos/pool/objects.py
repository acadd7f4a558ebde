"""Pods in the store as input of the laws; each version of an object is decoded once."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import msgspec

from stretto.api.wire.kinds import POD
from stretto.api.wire.quantity import amounts
from stretto.base.amounts import add_amounts
from stretto.offers.master.resources import formats
from stretto.offers.master.state.tasks import SEEN
from stretto.offers.nodes.pods import QUEUE, TASKS
from stretto.state.classes.table import GPU, GPU_MILLI
from stretto.state.rows.devices import WHOLE
from stretto.stores.store import Record, Store
from stretto_lab.chaos.pool.capacity import Amounts, by_role

LIVE: Final = ("Pending", "Running")
"""Phases in which a pod holds its requests."""


class PoolPod(NamedTuple):
    """A pod."""

    #: Name.
    name: str
    #: Identity.
    uid: str
    #: Its node; empty while it is pending.
    node: str
    #: The queue of the pod.
    queue: str
    #: Its phase.
    phase: str
    #: Requests.
    requests: Mapping[str, int]
    #: Ids of the tasks in the pod, with their launch numbers.
    tasks: tuple[tuple[str, int], ...]
    #: Reserved amounts that its tasks use, by role of the reservation.
    reserved: Mapping[str, Amounts]

    @property
    def holds(self) -> bool:
        """True if the pod uses its requests on a node."""
        return bool(self.node) and self.phase in LIVE


class PoolPods:
    """The pods of a store."""

    def __init__(self, store: Store) -> None:
        """Read from a store."""
        self._store = store
        self._known: dict[str, tuple[int, PoolPod]] = {}

    def read(self) -> list[PoolPod]:
        """All pods at present."""
        before, self._known = self._known, {}
        for record in self._store.list(POD).records:
            known = before.get(record.uid)
            if known is None or known[0] != record.version:
                known = record.version, pod_of(record)
            self._known[record.uid] = known
        return [pod for _, pod in self._known.values()]


def pod_of(record: Record) -> PoolPod:
    """The pod in a record."""
    body = msgspec.json.decode(record.body)
    meta, spec = body["metadata"], body["spec"]
    notes = meta.get("annotations") or {}
    tasks = msgspec.json.decode(notes.get(TASKS, "[]"))
    return PoolPod(
        record.name,
        record.uid,
        record.node or spec.get("nodeName", ""),
        meta["labels"][QUEUE],
        body.get("status", {}).get("phase", "Pending"),
        _requests(spec["containers"], int(notes.get(GPU_MILLI, WHOLE))),
        tuple((each["task_id"]["value"], each[SEEN]) for each in tasks),
        _reserved([item for each in tasks for item in each["resources"]]),
    )


def _reserved(messages: list[dict[str, Any]]) -> dict[str, Amounts]:
    reserved = formats.read(messages).where(lambda kind: bool(kind.reservations))
    return by_role(reserved, "") if reserved else {}


def _requests(containers: list[dict[str, Any]], milli: int) -> Amounts:
    """Requests of containers; ``milli`` is the part of each GPU."""
    found: Amounts = {"pods": 1}
    for container in containers:
        add_amounts(found, amounts(container["resources"].get("requests", {}), "pod").items())
        for port in _host_ports(container):
            add_amounts(found, [(f"port {port}", 1)])
    if GPU in found:
        found[GPU] *= milli
    return found


def _host_ports(container: dict[str, Any]) -> Iterator[int]:
    for each in container.get("ports", ()):
        if each.get("hostPort"):
            yield each["hostPort"]
