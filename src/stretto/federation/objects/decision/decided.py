"""The result of a scheduling decision as fields of a federated object."""

from collections.abc import Mapping

import msgspec

from stretto.federation import names
from stretto.federation.objects import placements
from stretto.federation.objects.paths import pointer
from stretto.federation.scheduling.kubeadmiral import FederatedPlacement
from stretto.federation.types import FederatedType
from stretto.reconcile.cache import Fields


def is_placed(spec: Fields) -> bool:
    """True if the scheduler has placed an object."""
    return bool(placements.placed_by(spec, names.SCHEDULER))


def with_result(spec: Fields, type_: FederatedType, result: FederatedPlacement) -> Fields:
    """A spec with the placement and the replicas of a decision."""
    path = pointer(type_.paths.replicas_spec)
    patches = {
        name: [{"op": "replace", "path": path, "value": count}]
        for name, count in result.replicas.items()
        if count is not None
    }
    spec = placements.with_placement(spec, names.SCHEDULER, result.replicas)
    return placements.with_overrides(spec, names.SCHEDULER, patches)


def without_result(spec: Fields) -> Fields:
    """A spec without the placement and the replicas of the scheduler."""
    spec = placements.with_placement(spec, names.SCHEDULER, None)
    return placements.with_overrides(spec, names.SCHEDULER, {})


class WaitingReplicas(msgspec.Struct, frozen=True, omit_defaults=True):
    """The annotation ``stretto.dev/waiting-replicas``: replicas that run in no cluster."""

    #: Replicas beyond the capacity of a cluster, by the cluster in which they wait.
    clusters: dict[str, int] = {}
    #: Replicas that may run in no cluster.
    unplaced: int = 0
    #: Part of the unplaced replicas that clusters accept once they are ready again.
    closed: int = 0
    #: True if no cluster is feasible and the last placement is kept.
    kept: bool = False

    def written(self) -> str | None:
        """The annotation; ``None`` without waiting replicas."""
        text = msgspec.json.encode(self).decode()
        return text if text != "{}" else None


def waiting(result: FederatedPlacement, closed: int) -> str | None:
    """The annotation with the replicas that run in no cluster; ``None`` without such replicas.

    Args:
        result: the placement of an object.
        closed: replicas that clusters accept once they are ready again.
    """
    clusters = dict(sorted(result.waiting.items()))
    return WaitingReplicas(clusters, result.unplaced, min(closed, result.unplaced)).written()


def kept(closed: int) -> str | None:
    """The annotation of an object that keeps its last placement and lacks replicas."""
    return WaitingReplicas(unplaced=closed, closed=closed, kept=True).written()


def waiting_of(annotations: Mapping[str, str]) -> WaitingReplicas:
    """The annotation of a federated object; empty if it is absent or malformed."""
    try:
        text = annotations.get(names.WAITING, "{}")
        return msgspec.json.decode(text.encode(), type=WaitingReplicas)
    except (msgspec.DecodeError, ValueError):
        return WaitingReplicas()
