"""Whether a claim was made for a pod: what an ephemeral volume insists on."""

from stretto.api.types.storage import PersistentVolumeClaim
from stretto.framework.model.pod_facts import SchedulingFacts


def ownership_refusal(claim: PersistentVolumeClaim, pod: SchedulingFacts) -> str:
    """Why a claim is not the pod's own; empty where it is."""
    owner = claim.metadata.controller()
    if owner is not None and owner.uid == pod.pod.metadata.uid:
        return ""
    namespace, name, _ = pod.key
    mine = f"PVC {claim.metadata.namespace}/{claim.metadata.name}"
    return f"{mine} was not created for pod {namespace}/{name} (pod is not owner)"
