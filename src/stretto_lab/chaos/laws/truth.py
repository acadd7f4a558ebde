"""The truth: what the store behind the faults really holds, followed event by event.

Kept in plain dictionaries of the simulator's own numbers, so that no mistake of the plane's model
can hide in it. A move that no store may make (a bound pod on another node) is noted at once.
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
"""Phases in which a pod takes nothing any more."""


class TruePod(msgspec.Struct):
    """A pod as it really is."""

    #: Its uid.
    uid: str
    #: Its name.
    name: str
    #: What it asks for.
    ask: PodRequest
    #: Store version of its last change.
    version: int
    #: Its node; empty while it waits.
    node: str = ""
    #: Whether we chose the node.
    ours: bool = False
    #: Devices that it was given, as a mask; 0 where nobody said.
    mask: int = 0
    #: Whether it has ended.
    finished: bool = False


class ConfirmedBind(msgspec.Struct, frozen=True):
    """A bind of ours that has become true."""

    #: The pod.
    pod: TruePod
    #: Its node.
    node: str


class TrueState:
    """Every pod that exists, by uid and by node."""

    def __init__(self, store: Store, world: ChaosWorld) -> None:
        """Follow a store from its first version on."""
        #: Pods that exist, by uid.
        self.pods: dict[str, TruePod] = {}
        #: Pods on each node that take something there.
        self.on_node: dict[str, dict[str, TruePod]] = {}
        #: Words for the trace: what has happened since it was last taken.
        self.story: list[str] = []
        self._world = world
        self._watch = store.watch(POD, 0)

    def follow(self) -> tuple[list[ConfirmedBind], list[InvariantBreach]]:
        """Take in what has happened; our binds that became true, and what may never happen."""
        confirmed_binds: list[ConfirmedBind] = []
        breaches: list[InvariantBreach] = []
        for event in self._watch.poll(1 << 20):
            confirmed_bind = self._apply(event, breaches)
            if confirmed_bind is not None:
                confirmed_binds.append(confirmed_bind)
        return confirmed_binds, breaches

    def reopen(self, store: Store, version: int) -> list[InvariantBreach]:
        """The store was opened again: nothing that it acknowledged may be missing or different."""
        listed = {record.uid: record for record in store.list(POD).records}
        breaches = [
            InvariantBreach(
                3, f"pod {pod.name} was acknowledged and is lost or older after a crash"
            )
            for uid, pod in self.pods.items()
            if uid not in listed
            or listed[uid].version != pod.version
            or listed[uid].node != pod.node
        ]
        self._watch = store.watch(POD, version)
        return breaches

    def wanted(self) -> Iterator[TruePod]:
        """Pods of ours that have no node and no gate."""
        for uid, pod in self.pods.items():
            role = self._world.members[uid].role
            if not pod.node and not pod.finished and not role.foreign and not role.gated:
                yield pod

    def _apply(self, event: WatchEvent, breaches: list[InvariantBreach]) -> ConfirmedBind | None:
        record = event.record
        pod = self.pods.get(record.uid)
        self.story.append(f"{event.type.name} {record.name} {record.version} {record.node}")
        if event.type is EventType.DELETED:
            if pod is not None:
                del self.pods[record.uid]
                self._leave(pod)
            return None
        if pod is None:
            member = self._world.members[record.uid]
            pod = TruePod(record.uid, member.name, member.ask, record.version)
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
            pod.ours = record.uid not in self._world.taken
            notes = record.annotations or {}
            pod.mask = text_to_mask(notes.get(GPU_DEVICES, ""))
            self.on_node.setdefault(pod.node, {})[pod.uid] = pod
        if pod.node and not pod.finished and not bound:
            phase = decode_pod_head(record.body).status.phase
            if phase in FINISHED:
                pod.finished = True
                self._leave(pod)
        return ConfirmedBind(pod, pod.node) if bound and pod.ours else None

    def _leave(self, pod: TruePod) -> None:
        if pod.node:
            self.on_node.get(pod.node, {}).pop(pod.uid, None)
