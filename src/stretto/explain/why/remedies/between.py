"""Cures of inter-pod rules and host ports: an edit of the rule, or the removal of other pods.

Each cure is verified on the counts: with the cure, every rule allows the pod on a node.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from stretto.explain.why.inquiry import Inquiry
from stretto.explain.why.nodes.between_pods import PodsBetween
from stretto.explain.why.nodes.details import port_holders
from stretto.explain.why.remedies.remedy import CureKind, Remedy
from stretto.explain.words.amounts import format_count
from stretto.explain.words.standing import joined
from stretto.framework.contract.rule import BoolArray, Neighbours
from stretto.framework.plugins import inter_pod_affinity, pod_topology_spread, ports
from stretto.framework.plugins.pod_topology_spread import domain_counts
from stretto.state.classes.terms import SpreadConstraint
from stretto.state.cluster.cluster import Cluster

MOST: Final = 5
"""Maximum number of pods that a cure removes."""


def between_cures(inquiry: Inquiry, cluster: Cluster) -> Iterator[Remedy]:
    """Cures of inter-pod rules and host ports, for nodes that refuse the pod for these alone."""
    yield from _ports(inquiry, cluster)
    if inquiry.view.look is None:
        return
    between = PodsBetween(cluster, inquiry, inquiry.view.look)
    yield from _apart(between)
    for each in inquiry.pod.terms.hard:
        yield from _spread(between, inquiry.view.look, each)


def _opened(inquiry: Inquiry, reasons: Sequence[str]) -> BoolArray:
    """bool[k]: nodes that refuse the pod for some of these reasons only."""
    left_out = [each for each in inquiry.refused if each.reason in reasons and not each.nowhere]
    return inquiry.without(left_out) & (inquiry.against > 0)


def _removal(between: PodsBetween, place: int, rows: Sequence[int]) -> Remedy:
    node = between.inquiry.view.nodes.names[int(between.inquiry.slots[place])]
    names = between.names(rows)
    sentence = f"Removing {joined(names, 'and')} would make {node} fit."
    return Remedy(CureKind.PODS, sentence, node, pods=names)


# ---------------------------------------------------------------- host ports and anti-affinity


def _ports(inquiry: Inquiry, cluster: Cluster) -> Iterator[Remedy]:
    """Cure: the fewest pods on one node whose removal frees the host ports."""
    opened = _opened(inquiry, [ports.REASON])
    if not opened.any() or inquiry.pod.terms.strict:
        return
    pods, by_slot = cluster.pods, dict[int, list[int]]()
    for row in port_holders(inquiry, cluster):
        by_slot.setdefault(int(pods.slot[row]), []).append(row)
    places = [p for p in np.flatnonzero(opened).tolist() if int(inquiry.slots[p]) in by_slot]
    if places:
        place = min(places, key=lambda p: len(by_slot[int(inquiry.slots[p])]))
        node = inquiry.view.nodes.names[int(inquiry.slots[place])]
        names = tuple(pods.key(row) for row in by_slot[int(inquiry.slots[place])])
        if len(names) <= MOST:
            sentence = f"Removing {joined(names, 'and')} would make {node} fit."
            yield Remedy(CureKind.PODS, sentence, node, pods=names)


def _apart(between: PodsBetween) -> Iterator[Remedy]:
    """Cure: the fewest pods whose removal resolves anti-affinity on one node."""
    inquiry, terms = between.inquiry, between.inquiry.pod.terms
    opened = _opened(inquiry, [inter_pod_affinity.NEAR, inter_pod_affinity.UNWANTED])
    if not opened.any() or terms.hard or terms.affinity_keys:
        return
    best: tuple[int, tuple[int, ...]] | None = None
    for place in np.flatnonzero(opened).tolist()[:64]:
        rows = _in_the_way(between, place)
        if rows and (best is None or len(rows) < len(best[1])):
            best = place, rows
    if best is not None and len(best[1]) <= MOST:
        yield _removal(between, *best)


def _in_the_way(between: PodsBetween, place: int) -> tuple[int, ...]:
    """Rows of all pods that anti-affinity of either side separates from a pod on one node."""
    terms, slot = between.inquiry.pod.terms, int(between.inquiry.slots[place])
    found: set[int] = set()
    for key, population in (*terms.anti_affinity, *terms.running_anti_affinity):
        domain = between.look.domain(key)
        if domain[slot]:
            found.update(between.rows(population, domain == domain[slot]).tolist())
    return tuple(sorted(found))


# ---------------------------------------------------------------- topology spread


def _spread(between: PodsBetween, look: Neighbours, each: SpreadConstraint) -> Iterator[Remedy]:
    """Cures of one constraint on nodes that the other constraints allow."""
    inquiry = between.inquiry
    opened = _opened(inquiry, [pod_topology_spread.UNEVEN])
    for other in inquiry.pod.terms.hard:
        if other is not each:
            opened = opened & ~_refused(inquiry, look, other)
    opened = opened & (look.domain(each.key)[inquiry.slots] > 0)
    if not opened.any():
        return
    if not each.by_taints:
        honoring = opened & ~_refused(inquiry, look, each._replace(by_taints=True))
        if honoring.any():
            nodes = format_count(int(honoring.sum()), "node")
            sentence = (
                f"nodeTaintsPolicy: Honor in the topology spread over {each.key} would make "
                f"{nodes} fit: tainted nodes would no longer count."
            )
            yield Remedy(CureKind.TAINTS_POLICY, sentence, key=each.key)
    if len(inquiry.pod.terms.hard) == 1 and not inquiry.pod.terms.affinity_keys:
        yield from _fewer(between, each, opened)
    nodes = format_count(int(opened.sum()), "node")
    sentence = (
        f"whenUnsatisfiable: ScheduleAnyway in the topology spread over {each.key} would make "
        f"{nodes} fit."
    )
    yield Remedy(CureKind.SPREAD, sentence, key=each.key)


def _refused(inquiry: Inquiry, look: Neighbours, each: SpreadConstraint) -> BoolArray:
    """bool[k]: nodes that one constraint refuses."""
    counts = domain_counts(inquiry.pod, look, each)
    domain = look.domain(each.key)
    return np.asarray((counts.too_many[domain] | (domain == 0))[inquiry.slots])


def _fewer(between: PodsBetween, each: SpreadConstraint, opened: BoolArray) -> Iterator[Remedy]:
    """Cure: the fewest matching pods whose removal makes one domain allow the pod."""
    inquiry, look = between.inquiry, between.look
    counts = domain_counts(inquiry.pod, look, each)
    domain = look.domain(each.key)
    places = np.flatnonzero(opened)
    excess = (counts.sums - counts.limit)[domain[inquiry.slots[places]]]
    place = int(places[int(np.argmin(excess))])
    number = int(excess.min())
    if number > MOST:
        return
    counting = look.counting(inquiry.pod, each, inquiry.pod.terms.hard)
    here = counting & (domain == domain[int(inquiry.slots[place])])
    rows = between.first(between.rows(each.population, here).tolist(), number)
    if len(rows) == number:
        yield _removal(between, place, rows)
