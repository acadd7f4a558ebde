"""The true state: the contents of the store behind the faults, updated event by event.

It consists of plain dictionaries with the simulator's own numbers, so a bug in the plane's model
cannot hide here. A change that no store may make (a bound pod on another node) is a breach.
"""

from collections.abc import Iterator

import msgspec

from stretto.api.types.heads import decode_pod_head
from stretto.api.wire.kinds import POD
from stretto.state.classes.table import GPU_DEVICES
from stretto.state.queries.invariants import InvariantBreach
from stretto.state.rows.devices import text_to_mask
from stretto.stores.store import EventType, Store, WatchEvent
from stretto_lab.chaos.draws.pods import PodRequest
from stretto_lab.chaos.world import ChaosWorld

FINISHED = ("Succeeded", "Failed")
"""Phases in which a pod uses no capacity."""


class TruePod(msgspec.Struct):
    """The true state of one pod."""

    #: Its uid.
    uid: str
    #: Its name.
    name: str
    #: Its request.
    request: PodRequest
    #: Store version of its last change.
    version: int
    #: Its node; empty while it is pending.
    node: str = ""
    #: True if Stretto chose the node.
    ours: bool = False
    #: Mask of its devices; 0 without the annotation.
    mask: int = 0
    #: True if it has finished.
    finished: bool = False


class ConfirmedBind(msgspec.Struct, frozen=True):
    """A bind by Stretto that the store shows."""

    #: The pod.
    pod: TruePod
    #: Its node.
    node: str


class TrueState:
    """Every pod that exists, by uid and by node."""

    def __init__(self, store: Store, world: ChaosWorld) -> None:
        """Follow a store from its first version."""
        #: Pods that exist, by uid.
        self.pods: dict[str, TruePod] = {}
        #: Pods that use capacity, by node.
        self.on_node: dict[str, dict[str, TruePod]] = {}
        #: Changes for the trace, since the trace was last written.
        self.changes: list[str] = []
        self._world = world
        self._watch = store.watch(POD, 0)

    def follow(self) -> tuple[list[ConfirmedBind], list[InvariantBreach]]:
        """Apply new events; return confirmed binds and breaches."""
        confirmed_binds: list[ConfirmedBind] = []
        breaches: list[InvariantBreach] = []
        for event in self._watch.poll(1 << 20):
            confirmed_bind = self._apply(event, breaches)
            if confirmed_bind is not None:
                confirmed_binds.append(confirmed_bind)
        return confirmed_binds, breaches

    def reopen(self, store: Store, version: int) -> list[InvariantBreach]:
        """Compare a reopened store with the acknowledged state."""
        listed = {record.uid: record for record in store.list(POD).records}
        breaches = [
            InvariantBreach(
                3, f"pod {pod.name} was acknowledged and is lost or stale after a crash"
            )
            for uid, pod in self.pods.items()
            if uid not in listed
            or listed[uid].version != pod.version
            or listed[uid].node != pod.node
        ]
        self._watch = store.watch(POD, version)
        return breaches

    def wanted(self) -> Iterator[TruePod]:
        """Pending pods of Stretto without a scheduling gate."""
        for uid, pod in self.pods.items():
            role = self._world.members[uid].role
            if not pod.node and not pod.finished and not role.foreign and not role.gated:
                yield pod

    def _apply(self, event: WatchEvent, breaches: list[InvariantBreach]) -> ConfirmedBind | None:
        record = event.record
        pod = self.pods.get(record.uid)
        self.changes.append(f"{event.type.name} {record.name} {record.version} {record.node}")
        if event.type is EventType.DELETED:
            if pod is not None:
                del self.pods[record.uid]
                self._free(pod)
            return None
        if pod is None:
            member = self._world.members[record.uid]
            pod = TruePod(record.uid, member.name, member.request, record.version)
            self.pods[record.uid] = pod
        if pod.node and record.node != pod.node:
            breaches.append(
                InvariantBreach(
                    3, f"pod {pod.name} was bound to {pod.node} and is now on {record.node!r}"
                )
            )
        bound = bool(record.node) and not pod.node
        pod.version = record.version
        if bound:
            pod.node = record.node
            pod.ours = record.uid not in self._world.foreign_bound
            notes = record.annotations or {}
            pod.mask = text_to_mask(notes.get(GPU_DEVICES, ""))
            self.on_node.setdefault(pod.node, {})[pod.uid] = pod
        if pod.node and not pod.finished and not bound:
            phase = decode_pod_head(record.body).status.phase
            if phase in FINISHED:
                pod.finished = True
                self._free(pod)
        return ConfirmedBind(pod, pod.node) if bound and pod.ours else None

    def _free(self, pod: TruePod) -> None:
        if pod.node:
            self.on_node.get(pod.node, {}).pop(pod.uid, None)
