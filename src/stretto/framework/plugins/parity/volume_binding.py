"""VolumeBinding: every PVC of the pod has, finds or gets a volume that the node can access.

A PVC that is missing, lost, terminating or owned by another pod ends the cycle; so does an unbound
PVC with immediate binding. The score is off by default and always skipped.
"""

from typing import Final

from stretto.framework.contract.rule import FilterPlugin, FixedCheck, NodeCheck, ScorePlugin
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
from stretto.framework.plugins.volumes import VolumeBindingRule
from stretto.framework.volume_binder import volumes
from stretto.framework.volume_binder.ownership import ownership_refusal
from stretto.framework.volume_binder.pvcs import pvcs_of

UNBOUND: Final = unresolvable("pod has unbound immediate PersistentVolumeClaims")


class VolumeBindingPlugin(FilterPlugin, ScorePlugin, declares=VolumeBindingRule):
    """Refuses nodes on which a PVC gets no volume."""

    def prefilter(self, pod: SchedulingFacts, snapshot: ParitySnapshot) -> NodeCheck | PluginStatus:
        """Statuses of nodes on which a PVC gets no volume; skipped without PVCs."""
        binder = binder_of(pod, snapshot)
        if isinstance(binder, PluginStatus):
            return binder
        found, numbers = binder.answers()
        return FixedCheck(refuse_groups(list(map(_status, found)), numbers))

    def score(
        self, pod: SchedulingFacts, snapshot: ParitySnapshot, feasible: IntArray
    ) -> IntArray | None:
        """Return ``None``: storage capacity scoring is off."""
        return None


def binder_of(
    pod: SchedulingFacts, snapshot: ParitySnapshot
) -> volumes.VolumeBinder | PluginStatus:
    """The binder of the pod's PVCs, or the status that skips the plugin or ends the cycle."""
    if not pod.shape.pvcs:
        return SKIP
    if refusal := pvcs_refusal(pod, snapshot):
        return unresolvable(refusal)
    pvcs = pvcs_of(pod, snapshot.objects)
    return UNBOUND if pvcs.immediate else volumes.VolumeBinder(pvcs, snapshot)


def pvcs_refusal(pod: SchedulingFacts, snapshot: ParitySnapshot) -> str:
    """Reason why a PVC of the pod cannot be used; empty if all can."""
    for name, own in pod.pvc_names():
        pvc = snapshot.objects.pvcs.get((pod.namespace, name))
        if pvc is None and own:
            waiting = "waiting for ephemeral volume controller to create the"
            return f'{waiting} persistentvolumeclaim "{name}"'
        if pvc is None:
            return f'persistentvolumeclaim "{name}" not found'
        if pvc.status.phase == "Lost":
            volume = pvc.spec.volume_name
            bound = f'bound to non-existent persistentvolume "{volume}"'
            return f'persistentvolumeclaim "{name}" {bound}'
        if pvc.metadata.deletion_timestamp is not None:
            return f'persistentvolumeclaim "{name}" is being deleted'
        if own and (refusal := ownership_refusal(pvc, pod)):
            return refusal
    return ""


def _status(found: volumes.VolumeDecision) -> PluginStatus:
    """Convert the binder's decision for one node to a status."""
    if found.error:
        return PluginStatus(StatusCode.ERROR, (found.error,))
    return PluginStatus(StatusCode.UNRESOLVABLE, found.reasons) if found.reasons else SUCCESS
