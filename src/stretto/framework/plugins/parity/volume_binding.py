"""VolumeBinding: every claim of the pod has, finds or can be made a volume that the node reaches.

A claim that is missing, lost, being deleted or another pod's ends the cycle; so does one that
should have been bound already. The score is off by default and always skipped.
"""

from typing import ClassVar, Final

from stretto.framework.model.plugin import Check, FilterPlugin, Given, ScorePlugin
from stretto.framework.model.pod_facts import PodFacts
from stretto.framework.model.snapshot import Snapshot
from stretto.framework.model.status import (
    SKIP,
    SUCCESS,
    Code,
    IntArray,
    Status,
    refuse_groups,
    unresolvable,
)
from stretto.framework.volume_binder import volumes
from stretto.framework.volume_binder.claims import claims_of
from stretto.framework.volume_binder.ownership import owner_refusal

NAME: Final = "VolumeBinding"
UNBOUND: Final = unresolvable("pod has unbound immediate PersistentVolumeClaims")


class VolumeBinding(FilterPlugin, ScorePlugin):
    """Refuses nodes where a claim gets no volume."""

    NAME: ClassVar[str] = NAME
    WEIGHT: ClassVar[int] = 1

    def prefilter(self, pod: PodFacts, snapshot: Snapshot) -> Check | Status:
        """Nodes where a claim gets no volume; skipped without claims."""
        if not pod.shape.claims:
            return SKIP
        refusal = claims_refusal(pod, snapshot)
        if refusal:
            return unresolvable(refusal)
        claims = claims_of(pod, snapshot.objects)
        if claims.immediate:
            return UNBOUND
        found, numbers = volumes.Binder(claims, snapshot).answers()
        return Given(refuse_groups(list(map(_status, found)), numbers))

    def score(self, pod: PodFacts, snapshot: Snapshot, feasible: IntArray) -> IntArray | None:
        """Skipped: storage capacity scoring is off."""
        return None


def claims_refusal(pod: PodFacts, snapshot: Snapshot) -> str:
    """Why a claim of the pod cannot be used; empty where all can."""
    for name, own in pod.claim_names():
        claim = snapshot.objects.claims.get((pod.namespace, name))
        if claim is None and own:
            waiting = "waiting for ephemeral volume controller to create the"
            return f'{waiting} persistentvolumeclaim "{name}"'
        if claim is None:
            return f'persistentvolumeclaim "{name}" not found'
        if claim.status.phase == "Lost":
            volume = claim.spec.volume_name
            bound = f'bound to non-existent persistentvolume "{volume}"'
            return f'persistentvolumeclaim "{name}" {bound}'
        if claim.metadata.deletion_timestamp is not None:
            return f'persistentvolumeclaim "{name}" is being deleted'
        if own and (refusal := owner_refusal(claim, pod)):
            return refusal
    return ""


def _status(found: volumes.Found) -> Status:
    """The binder's answer for one node."""
    if found.error:
        return Status(Code.ERROR, (found.error,))
    return Status(Code.UNRESOLVABLE, found.reasons) if found.reasons else SUCCESS
