"""Check that a PVC was created for a pod, as ephemeral volumes require."""

from stretto.api.types.storage import PersistentVolumeClaim
from stretto.framework.model.pod_facts import SchedulingFacts


def ownership_refusal(pvc: PersistentVolumeClaim, pod: SchedulingFacts) -> str:
    """Reason why a PVC does not belong to the pod; empty if it does."""
    owner = pvc.metadata.controller()
    if owner is not None and owner.uid == pod.pod.metadata.uid:
        return ""
    namespace, name, _ = pod.key
    mine = f"PVC {pvc.metadata.namespace}/{pvc.metadata.name}"
    return f"{mine} was not created for pod {namespace}/{name} (pod is not owner)"
