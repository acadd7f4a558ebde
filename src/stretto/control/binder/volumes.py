"""Volumes before pods: what kube-scheduler writes between a decision and its bind.

A volume that a waiting claim gets is kept for it (``claimRef``); a claim whose volume is to be made
is told the pod's node (``selected-node``). Both are assumed in the cluster before anything is
written, so that the next decision sees them, and taken back where the store says no. A write whose
reply is lost counts as refused: if it lands after all, the volume is kept for the very claim that
the pod asks for again. Completing the binding is the volume controller's work.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import msgspec

from stretto.api import kinds
from stretto.api.kinds import Kind
from stretto.api.meta import Wire
from stretto.base.errors import InputError
from stretto.state.claims import ConflictCause, VolumeChoice
from stretto.state.cluster import Cluster
from stretto.state.objects import SELECTED_NODE, meta_of, reference_to
from stretto.state.whole import read_object
from stretto.stores.store import Outcome, Patch, Reply, Store

BOUND_BY: Final = "pv.kubernetes.io/bound-by-controller"


class Write(NamedTuple):
    """One object to be changed before a pod is bound."""

    #: Its kind.
    kind: Kind
    #: The object before.
    before: Wire
    #: The change, as a merge patch.
    change: Mapping[str, Any]


class VolumeDesk:
    """Reserves volumes and writes that down."""

    def __init__(self, cluster: Cluster, store: Store) -> None:
        """Work on a cluster's objects and its store."""
        self._cluster = cluster
        self._store = store

    def reserve(self, chosen: VolumeChoice, node: str) -> list[Write]:
        """Assume what a pod gets on a node; returns what has to be written."""
        objects = self._cluster.objects
        writes: list[Write] = []
        for name, namespace, claim_name in chosen.taken:
            volume, claim = objects.volumes[name], objects.claims[namespace, claim_name]
            reference = msgspec.to_builtins(reference_to(claim))
            change = {"metadata": {"annotations": {BOUND_BY: "yes"}}}
            spec = {"spec": {"claimRef": reference}}
            writes.append(Write(kinds.PERSISTENT_VOLUME, volume, change | spec))
            objects.take(volume, claim)
        for key in chosen.made:
            claim = objects.claims[key]
            if claim.metadata.annotations.get(SELECTED_NODE) == node:
                continue
            note = {"metadata": {"annotations": {SELECTED_NODE: node}}}
            writes.append(Write(kinds.PERSISTENT_VOLUME_CLAIM, claim, note))
            objects.select_node(claim, node)
        return writes

    def write(self, writes: list[Write]) -> ConflictCause | None:
        """Send the changes; why the pod must not be bound, or ``None``.

        After a refusal what was not written is taken back; what was written stays.
        """
        for at, each in enumerate(writes):
            meta = meta_of(each.before)
            version = int(meta.resource_version) if meta.resource_version else None
            patch = Patch(meta.namespace, meta.name, each.change, version, meta.uid)
            reply = self._store.patch(each.kind, [patch])[0]
            if reply.outcome is not Outcome.OK:
                self.give_back(writes[at:])
                return _cause(reply)
            if reply.record is not None:
                self._learn(each.kind, reply)
        return None

    def give_back(self, writes: list[Write]) -> None:
        """Take assumptions back, the last first."""
        for each in reversed(writes):
            self._cluster.objects.put(each.before)

    def _learn(self, kind: Kind, reply: Reply) -> None:
        """The object as the store has it now; its echo will be old news."""
        assert reply.record is not None
        try:
            self._cluster.objects.put(read_object(kind, reply.record))
        except InputError:
            return  # the watch brings it, and says what is wrong


def _cause(reply: Reply) -> ConflictCause:
    """Why a volume could not be had, in the words of verdicts."""
    if reply.outcome is Outcome.CONFLICT:
        return ConflictCause.VOLUME_GONE
    return ConflictCause.STORE_REFUSED
