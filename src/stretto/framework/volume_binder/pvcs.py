"""A pod's PVCs by their state of binding."""

from typing import NamedTuple

from stretto.api.types.storage import BIND_COMPLETED, WAIT, PersistentVolumeClaim, StorageClass
from stretto.framework.model.pod_facts import SchedulingFacts
from stretto.state.objects import ClusterObjects


class PvcsByState(NamedTuple):
    """A pod's PVCs by their state of binding, in the pod's order."""

    #: Bound PVCs.
    bound: tuple[PersistentVolumeClaim, ...]
    #: Unbound PVCs that wait for their first consumer.
    waiting: tuple[PersistentVolumeClaim, ...]
    #: Unbound PVCs with immediate binding.
    immediate: tuple[PersistentVolumeClaim, ...]


def pvcs_of(pod: SchedulingFacts, objects: ClusterObjects) -> PvcsByState:
    """Sort a pod's PVCs by state; all of them must exist."""
    bound, waiting, immediate = [], [], []
    for name, _ in pod.pvc_names():
        pvc = objects.pvcs[pod.namespace, name]
        if pvc.spec.volume_name and BIND_COMPLETED in pvc.metadata.annotations:
            bound.append(pvc)
        elif not pvc.spec.volume_name and waits_for_consumer(objects.class_of(pvc)):
            waiting.append(pvc)
        else:
            immediate.append(pvc)
    return PvcsByState(tuple(bound), tuple(waiting), tuple(immediate))


def waits_for_consumer(found: StorageClass | None) -> bool:
    """Return whether PVCs of a class wait for their first consumer."""
    return found is not None and found.volume_binding_mode == WAIT


def pvc_key(pvc: PersistentVolumeClaim) -> tuple[str, str]:
    """Namespace and name of a PVC."""
    return pvc.metadata.namespace, pvc.metadata.name
