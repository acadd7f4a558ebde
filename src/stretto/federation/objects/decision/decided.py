"""The result of a scheduling decision as fields of a federated object."""

import json
from typing import Final

from stretto.federation import names
from stretto.federation.objects import placements
from stretto.federation.objects.paths import pointer
from stretto.federation.scheduling.kubeadmiral import FederatedPlacement
from stretto.federation.types import FederatedType
from stretto.reconcile.cache import Fields


def is_placed(spec: Fields) -> bool:
    """Whether the scheduler has placed an object."""
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
    """A spec without placement and replicas of the scheduler."""
    spec = placements.with_placement(spec, names.SCHEDULER, None)
    return placements.with_overrides(spec, names.SCHEDULER, {})


KEPT: Final = '{"kept":true}'
"""The same annotation where no cluster is feasible and the last placement stays."""


def waiting(result: FederatedPlacement) -> str | None:
    """The annotation with the replicas that no cluster holds; ``None`` without any."""
    found: Fields = {}
    if result.waiting:
        found["clusters"] = dict(sorted(result.waiting.items()))
    if result.unplaced:
        found["unplaced"] = result.unplaced
    return json.dumps(found, separators=(",", ":")) if found else None
