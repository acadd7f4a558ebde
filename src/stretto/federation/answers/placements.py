"""Where objects are placed, from what their federated objects say."""

from stretto.federation import names
from stretto.federation.answers.records import PlacedObject
from stretto.federation.answers.subjects import kind_of, title
from stretto.federation.controllers.keys import FederatedItem
from stretto.federation.objects import pending, placements
from stretto.federation.objects.current import current_replicas
from stretto.federation.objects.decision import decided, results
from stretto.federation.problems import SCHEDULED


def placed_object(item: FederatedItem, error: str = "") -> PlacedObject:
    """Where an object is placed.

    Args:
        item: the object.
        error: what its last reconciliation raised; empty for nothing.
    """
    federated = item.federated
    found = decided.waiting_of(federated.annotations)
    placed = dict(sorted(current_replicas(federated, item.type).items()))
    everywhere = dict.fromkeys(sorted(placements.placement(federated.spec)))
    problem = _held(item)
    if not everywhere:
        problem = error or problem or _problem(item)
    return PlacedObject(
        title(item),
        kind_of(item),
        placed or everywhere,
        found.clusters,
        found.unplaced,
        problem,
    )


def _held(item: FederatedItem) -> str:
    """Why a queue or a gang holds replicas back; empty if none does."""
    for each in item.federated.status.get("conditions") or ():
        if each.get("type") == SCHEDULED and each.get("reason") in results.HELD:
            return str(each.get("message") or "")
    return ""


def _problem(item: FederatedItem) -> str:
    """Why an object has no placement."""
    labels = item.federated.labels
    if names.POLICY not in labels and names.CLUSTER_POLICY not in labels:
        return "it has no label with the name of a propagation policy"
    if pending.pending(item.federated.annotations):
        return "its policy is not applied yet"
    return "no cluster is feasible"
