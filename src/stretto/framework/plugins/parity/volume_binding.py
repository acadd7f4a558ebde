"""VolumeBinding: every claim of the pod has, finds or can be made a volume that the node reaches.

A claim that is missing, lost, being deleted or another pod's ends the cycle; so does one that
should have been bound already. The score is off by default and always skipped.
"""

from typing import ClassVar, Final

from stretto.framework.model.plugin import FilterPlugin, FixedCheck, NodeCheck, ScorePlugin
from stretto.framework.model.pod_facts import SchedulingFacts
from stretto.framework.model.snapshot import ParitySnapshot
from stretto.framework.model.status import (
    SKIP,
    SUCCESS,
    IntArray,
    PluginStatus,
    StatusCode,
    refuse_groups,
    unresolvable,
)
from stretto.framework.volume_binder import volumes
from stretto.framework.volume_binder.claims import pvcs_of
from stretto.framework.volume_binder.ownership import ownership_refusal

NAME: Final = "VolumeBinding"
UNBOUND: Final = unresolvable("pod has unbound immediate PersistentVolumeClaims")


class VolumeBindingPlugin(FilterPlugin, ScorePlugin):
    """Refuses nodes where a claim gets no volume."""

    NAME: ClassVar[str] = NAME
    WEIGHT: ClassVar[int] = 1

    def prefilter(self, pod: SchedulingFacts, snapshot: ParitySnapshot) -> NodeCheck | PluginStatus:
        """Nodes where a claim gets no volume; skipped without claims."""
        if not pod.shape.claims:
            return SKIP
        refusal = pvcs_refusal(pod, snapshot)
        if refusal:
            return unresolvable(refusal)
        claims = pvcs_of(pod, snapshot.objects)
        if claims.immediate:
            return UNBOUND
        found, numbers = volumes.VolumeBinder(claims, snapshot).answers()
        return FixedCheck(refuse_groups(list(map(_status, found)), numbers))

    def score(
        self, pod: SchedulingFacts, snapshot: ParitySnapshot, feasible: IntArray
    ) -> IntArray | None:
        """Skipped: storage capacity scoring is off."""
        return None


def pvcs_refusal(pod: SchedulingFacts, snapshot: ParitySnapshot) -> str:
    """Why a claim of the pod cannot be used; empty where all can."""
    for name, own in pod.pvc_names():
        claim = snapshot.objects.pvcs.get((pod.namespace, name))
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
        if own and (refusal := ownership_refusal(claim, pod)):
            return refusal
    return ""


def _status(found: volumes.VolumeDecision) -> PluginStatus:
    """The binder's answer for one node."""
    if found.error:
        return PluginStatus(StatusCode.ERROR, (found.error,))
    return PluginStatus(StatusCode.UNRESOLVABLE, found.reasons) if found.reasons else SUCCESS
