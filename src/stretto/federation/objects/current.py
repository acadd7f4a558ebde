"""The present placement of a federated object."""

from stretto.federation import names
from stretto.federation.objects.paths import pointer
from stretto.federation.objects.placements import overrides_by, placed_by
from stretto.federation.types import FederatedType
from stretto.reconcile.cache import StoredObject


def current_replicas(federated: StoredObject, type_: FederatedType) -> dict[str, int | None]:
    """Clusters that the scheduler has placed an object in, with their replicas."""
    path = pointer(type_.paths.replicas_spec) if type_.paths.replicas_spec else ""
    patches = overrides_by(federated.spec, names.SCHEDULER)
    found: dict[str, int | None] = {}
    for name in placed_by(federated.spec, names.SCHEDULER) or ():
        values = [each.get("value") for each in patches.get(name, ()) if each.get("path") == path]
        found[name] = values[-1] if values and isinstance(values[-1], int) else None
    return found
