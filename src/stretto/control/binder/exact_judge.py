"""The judge of profiles that decide by pod: a claim holds while every rule of the profile holds.

As long as nothing has changed since the snapshot, its plan stands as it is. Otherwise each claim is
put to the rules again on the cluster as it is now, in order, so that two shards never break
together what each has kept alone (anti-affinity, spreading, a claim that one pod may use).
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from stretto.control.binder.conflicts import Judge
from stretto.state.claims import CommitMode, ConflictCause, ConflictMode, Plan, VolumeChoice
from stretto.state.cluster import Cluster
from stretto.state.lifecycle import PodState
from stretto.state.objects import SELECTED_NODE, Objects

Holds = Callable[[int, int], bool]
"""(row, slot) to whether every rule lets the pod onto the slot as the cluster is now."""


class ExactJudge(Judge):
    """Judges plans by the rules that made them."""

    def __init__(self, cluster: Cluster, holds: Holds, commit: CommitMode) -> None:
        """A judge that asks ``holds`` about claims on a cluster that has moved on."""
        super().__init__(cluster, lambda _class, _slot: True, ConflictMode.FIT, commit)
        self._holds = holds

    def _grant_all(self, plan: Plan) -> bool:
        """All claims at once where the cluster is as the snapshot was."""
        cluster, pods = self._cluster, self._cluster.pods
        if plan.basis != cluster.basis:
            return False
        sound = (pods.serial[plan.rows] == plan.serials).all() and (
            pods.state[plan.rows] == int(PodState.DISPATCHED)
        ).all()
        if not sound:
            return False
        special = cluster.classes.special[pods.class_id[plan.rows]] > 0
        cluster.charge_plain(plan.rows[~special], plan.slots[~special])
        for i in np.flatnonzero(special).tolist():
            cluster.charge(int(plan.rows[i]), int(plan.slots[i]))
        return True

    def _problem(
        self, plan: Plan, i: int, versions: npt.NDArray[np.int64] | None
    ) -> ConflictCause | None:
        """Why one claim does not hold, or ``None``."""
        cluster = self._cluster
        row, slot = int(plan.rows[i]), int(plan.slots[i])
        pods, slots = cluster.pods, cluster.ledger.slots
        if pods.serial[row] != plan.serials[i] or pods.state[row] != int(PodState.DISPATCHED):
            return ConflictCause.POD_GONE
        if not slots.live[slot] or slots.generation[slot] != plan.generations[i]:
            return ConflictCause.NODE_GONE
        if not self._holds(row, slot):
            return ConflictCause.DOES_NOT_FIT
        chosen = plan.volumes.get(i)
        if chosen is not None and not are_free(chosen, cluster.objects, cluster.nodes.names[slot]):
            return ConflictCause.VOLUME_GONE
        return None


def are_free(chosen: VolumeChoice, objects: Objects, node: str) -> bool:
    """Whether volumes are still to be had for their claims, and claims free to go to a node."""
    for name, namespace, claim in chosen.taken:
        volume, wanted = objects.volumes.get(name), objects.claims.get((namespace, claim))
        if volume is None or wanted is None or wanted.spec.volume_name not in ("", name):
            return False
        kept = volume.spec.claim_ref
        if kept is not None and (kept.namespace, kept.name) != (namespace, claim):
            return False
    for key in chosen.made:
        found = objects.claims.get(key)
        if found is None or found.spec.volume_name:
            return False
        if found.metadata.annotations.get(SELECTED_NODE, node) != node:
            return False
    return True
