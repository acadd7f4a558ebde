"""Reasons why an object is, or is not, in each cluster, with remedies."""

from collections.abc import Callable, Mapping
from typing import Final

from stretto.federation.answers.records import ClusterVerdict
from stretto.federation.answers.subjects import FleetDecision, FleetReader, title
from stretto.federation.controllers.keys import FederatedItem
from stretto.federation.objects.current import current_replicas
from stretto.federation.objects.decision.results import HELD
from stretto.federation.objects.rules.steering import Steering
from stretto.federation.scheduling.kubeadmiral import FederatedPlacement, PlacementVerdict

Reason = tuple[str, str]
"""Reason and remedy."""


def undecided(reader: FleetReader, item: FederatedItem, error: str) -> list[ClusterVerdict]:
    """The verdict of every cluster about an object about which no decision is possible."""
    placed = current_replicas(item.federated, item.type)
    why = f"nothing is decided: {error.removeprefix(f'{title(item)}: ')}"
    names = [each.record.name for each in reader.fleet.clusters]
    return [ClusterVerdict(x, placed.get(x), x in placed, None, why) for x in names]


def verdicts(reader: FleetReader, decision: FleetDecision) -> list[ClusterVerdict]:
    """The verdict of every cluster, sorted by name."""
    names = [each.record.name for each in reader.fleet.clusters]
    if decision.result is None or decision.rules is None:
        why = "the object has no propagation policy"
        cure = "label it with kubeadmiral.io/propagation-policy-name or its cluster form"
        return [ClusterVerdict(name, None, False, None, why, cure) for name in names]
    return [_verdict(name, decision.result, decision.rules) for name in names]


def _verdict(name: str, result: FederatedPlacement, rules: Steering) -> ClusterVerdict:
    filtered = result.filtered_by.get(name)
    score = result.scores.get(name)
    if filtered is not None:
        why, cure = _FILTERS.get(filtered, _rejected(filtered))(name, rules)
        return ClusterVerdict(name, None, False, None, why, cure)
    if result.verdict is PlacementVerdict.UNCHANGED:
        stays = name in result.replicas
        why = "it is sticky and runs here" if stays else "it is sticky and runs elsewhere"
        cure = "" if stays else "remove stickyCluster or disableRescheduling"
        return ClusterVerdict(name, result.replicas.get(name), stays, score, why, cure)
    if result.verdict is PlacementVerdict.INVALID_LIMIT:
        return ClusterVerdict(
            name, None, False, score, "maxClusters is below 0", "set it to 0 or more"
        )
    if score is None:
        return ClusterVerdict(
            name,
            None,
            False,
            None,
            "the cluster has not joined",
            "wait, or check its FederatedCluster",
        )
    if name not in result.selected:
        place = sum(other > score for other in result.scores.values()) + 1
        why = f"maxClusters allows {rules.max_clusters}; it ranks {place} of {len(result.scores)}"
        return ClusterVerdict(name, None, False, score, why, "raise maxClusters")
    return _selected(name, result, rules)


def _selected(name: str, result: FederatedPlacement, rules: Steering) -> ClusterVerdict:
    score, held = result.scores[name], result.held
    if name not in result.replicas and held is not None:
        return ClusterVerdict(name, 0, False, score, held.message, HELD[held.reason])
    if name not in result.replicas:
        why, cure = _without_replicas(name, result, rules)
        return ClusterVerdict(name, 0, False, score, why, cure)
    count = result.replicas[name]
    waits = result.waiting.get(name, 0)
    if count is None:
        return ClusterVerdict(name, None, True, score, "every chosen cluster runs all replicas")
    if waits:
        why = f"{count - waits} of {count} replicas fit; {waits} wait for capacity"
        cure = "add nodes, or lower the requests or the replicas"
        return ClusterVerdict(name, count, True, score, why, cure)
    why = f"its share is {count}"
    if held is None:
        return ClusterVerdict(name, count, True, score, why)
    why = f"{why}, and {held.count} more wait: {held.message}"
    return ClusterVerdict(name, count, True, score, why, HELD[held.reason])


def _without_replicas(name: str, result: FederatedPlacement, rules: Steering) -> Reason:
    preferences = {each.cluster: each.preferences for each in rules.placements}
    found = preferences.get(name)
    weights = {key: each.weight for key, each in preferences.items() if each.weight is not None}
    if found is not None and found.max_replicas == 0:
        return "maxReplicas is 0", "raise maxReplicas"
    if rules.limited.get(name) == 0:
        return "a migration limits it to 0 replicas", "stretto federation migrate --undo"
    if weights and not weights.get(name):
        return "the policy gives it no weight", "set preferences.weight of the cluster"
    placed = sum(count or 0 for count in result.replicas.values())
    if placed and rules.avoid_disruption:
        return "other clusters run its share, and running replicas do not move", _MOVE
    return "no replica fits next to the running pods and the promised replicas", "add nodes"


_MOVE: Final = "set replicaRescheduling.avoidDisruption to false, or scale up"


def _rejected(filter_: str) -> Callable[[str, Steering], Reason]:
    return lambda _name, _rules: (f"the filter {filter_} rejects it", "change the profile")


def _selector(_name: str, rules: Steering) -> Reason:
    wanted = ", ".join(f"{key}={value}" for key, value in rules.cluster_selector.items())
    if wanted:
        return "its labels do not match the policy", f"label the cluster {wanted}"
    return "no term of clusterAffinity matches it", "change its labels or clusterAffinity"


_FILTERS: Final[Mapping[str, Callable[[str, Steering], Reason]]] = {
    "APIResources": lambda *_: (
        "it does not serve the kind of the object",
        "install the CRD in the cluster",
    ),
    "TaintToleration": lambda *_: (
        "it has a taint that the policy does not tolerate",
        "add a toleration, or remove the taint",
    ),
    "PlacementFilter": lambda name, _: (
        "the placement of the policy does not list it",
        f"add {name} to placement",
    ),
    "ClusterAffinity": _selector,
    "ClusterReady": lambda *_: ("it is not ready", "stretto federation clusters shows its state"),
    "ClusterTerminating": lambda *_: ("it is leaving the federation", "choose another cluster"),
    "ClusterEvicted": lambda *_: (
        "a migration keeps the object away",
        "stretto federation migrate --undo",
    ),
    "ClusterResourcesFit": lambda *_: ("no replica fits into its free capacity", "add nodes"),
    "KatalystResourcesExist": lambda *_: (
        "it reports no resources of Katalyst",
        "install Katalyst in the cluster",
    ),
}
"""Functions that return reason and remedy, by filter."""
