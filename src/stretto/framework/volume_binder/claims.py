"""A pod's claims by what is to be done about them."""

from typing import Final, NamedTuple

from stretto.api.types.storage import PersistentVolumeClaim, StorageClass
from stretto.api.wire import quantity
from stretto.framework.model.pod_facts import SchedulingFacts
from stretto.framework.volume_binder.supply import STORAGE
from stretto.state.objects import BIND_COMPLETED, ClusterObjects

WAIT: Final = "WaitForFirstConsumer"


class PvcsByState(NamedTuple):
    """A pod's claims by what is to be done about them, in the pod's order."""

    #: Bound already.
    bound: tuple[PersistentVolumeClaim, ...]
    #: To be bound where the pod goes.
    waiting: tuple[PersistentVolumeClaim, ...]
    #: Should have been bound already.
    immediate: tuple[PersistentVolumeClaim, ...]


def pvcs_of(pod: SchedulingFacts, objects: ClusterObjects) -> PvcsByState:
    """A pod's claims; all of them must exist."""
    bound, waiting, immediate = [], [], []
    for name, _ in pod.pvc_names():
        claim = objects.pvcs[pod.namespace, name]
        if claim.spec.volume_name and BIND_COMPLETED in claim.metadata.annotations:
            bound.append(claim)
        elif not claim.spec.volume_name and waits_for_consumer(objects.class_of(claim)):
            waiting.append(claim)
        else:
            immediate.append(claim)
    return PvcsByState(tuple(bound), tuple(waiting), tuple(immediate))


def pvc_size(claim: PersistentVolumeClaim) -> int:
    """Bytes that a claim asks for, in billionths."""
    asked = claim.spec.resources.requests.get(STORAGE)
    return 0 if asked is None else quantity.nano(asked, STORAGE)


def waits_for_consumer(found: StorageClass | None) -> bool:
    """Whether claims of a class are bound where their first pod goes."""
    return found is not None and found.volume_binding_mode == WAIT


def pvc_key(claim: PersistentVolumeClaim) -> tuple[str, str]:
    """Namespace and name."""
    return claim.metadata.namespace, claim.metadata.name
