"""Placements of objects, read from their federated objects."""

from collections.abc import Set

from stretto.federation import names
from stretto.federation.answers.records import PlacedObject
from stretto.federation.answers.subjects import kind_of, title
from stretto.federation.controllers.keys import FederatedItem
from stretto.federation.objects import pending, placements
from stretto.federation.objects.current import current_replicas
from stretto.federation.objects.decision import decided, results
from stretto.federation.objects.kinds.autoscaling import is_centralized
from stretto.federation.objects.members.advice import INVALID_ROLLOUT
from stretto.federation.problems import PROPAGATED, SCHEDULED, ObjectCondition


def placed_object(
    item: FederatedItem,
    unready: Set[str],
    error: str = "",
    *,
    has_members: bool = True,
) -> PlacedObject:
    """The placement of an object.

    Args:
        item: the object.
        unready: names of the clusters that are not ready.
        error: error of its last reconciliation; empty for none.
        has_members: true if there are members that could run it.
    """
    federated = item.federated
    found = decided.waiting_of(federated.annotations)
    placed = dict(sorted(current_replicas(federated, item.type).items()))
    everywhere = dict.fromkeys(sorted(placements.placement(federated.spec)))
    shown = (x for x in problems(item) if _is_shown(x, has_members=has_members))
    problem = next((each.message for each in shown), "")
    on_host = bool(item.type.scale_target) and is_centralized(federated)
    if not everywhere and not on_host:
        undecided = (each.message for each in problems(item) if each.type == SCHEDULED)
        problem = error or problem or next(undecided, "") or _problem(item)
    return PlacedObject(
        title(item),
        kind_of(item),
        placed or everywhere,
        found.clusters,
        found.unplaced,
        problem,
        tuple(name for name in placed or everywhere if name in unready),
        on_host,
    )


def problems(item: FederatedItem) -> list[ObjectCondition]:
    """The conditions of an object with status ``False``."""
    return [
        ObjectCondition(*(str(each.get(key) or "") for key in ("type", "reason", "message")))
        for each in item.federated.status.get("conditions") or ()
        if each.get("status") == "False"
    ]


def _is_shown(problem: ObjectCondition, *, has_members: bool) -> bool:
    """True if a problem is shown beside the placement, which itself shows waiting replicas."""
    if problem.type == PROPAGATED:
        return has_members or problem.reason == INVALID_ROLLOUT
    is_listed = problem.reason in results.HELD or problem.reason == results.KIND_MISSING
    return problem.type != SCHEDULED or is_listed


def _problem(item: FederatedItem) -> str:
    """The reason why an object has no placement."""
    labels = item.federated.labels
    if names.POLICY not in labels and names.CLUSTER_POLICY not in labels:
        return "it has no label with the name of a propagation policy"
    if pending.pending(item.federated.annotations):
        return "its policy is not applied yet"
    return "no cluster is feasible"
