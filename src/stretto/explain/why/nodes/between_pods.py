"""Inter-pod rules in figures: the constraint, the counts by domain, and the pods in the way."""

from collections.abc import Iterable, Iterator, Sequence
from heapq import nsmallest
from typing import Final

import numpy as np
import numpy.typing as npt

from stretto.explain.why.inquiry import Inquiry
from stretto.explain.why.nodes.obstacles import obstacles
from stretto.explain.words.standing import joined
from stretto.framework.contract.rule import BoolArray, Neighbours
from stretto.framework.plugins import inter_pod_affinity, pod_topology_spread
from stretto.framework.plugins.pod_topology_spread import domain_counts
from stretto.state.classes.terms import Population, SpreadConstraint
from stretto.state.cluster.cluster import Cluster
from stretto.state.rows.pods import NO_SLOT

NAMED: Final = 3
"""Number of domains or pods that are named."""


class PodsBetween:
    """Running pods that the rules of one pending pod count."""

    def __init__(self, cluster: Cluster, inquiry: Inquiry, look: Neighbours) -> None:
        """Read the pods of a cluster."""
        #: Verdicts of all nodes.
        self.inquiry = inquiry
        #: Pod counts by domain.
        self.look = look
        self._cluster = cluster
        self._counted: dict[int, npt.NDArray[np.int64]] = {}

    def rows(self, population: int, slots: BoolArray) -> npt.NDArray[np.int64]:
        """int64[k]: rows of the pods of a population on some slots (bool[slot])."""
        rows = self._counted.get(population)
        if rows is None:
            rows = self._counted[population] = self._count(population)
        return rows[slots[self._cluster.pods.slot[rows]]]

    def _count(self, population: int) -> npt.NDArray[np.int64]:
        """int64[k]: rows of the pods of a population on any node."""
        pods, classes = self._cluster.pods, self._cluster.classes
        held = np.flatnonzero(pods.slot[: pods.length] != NO_SLOT)
        counted_by = self._cluster.domains.populations[population]
        if isinstance(counted_by, Population) and not counted_by.include_terminating:
            held = held[pods.eviction_state[held] == 0]
        counted = [
            class_id
            for class_id in np.unique(pods.class_id[held]).tolist()
            if population in classes[class_id].terms.counted
        ]
        return held[np.isin(pods.class_id[held], counted)]

    def first(self, rows: Iterable[int], count: int) -> list[int]:
        """The first pods by name."""
        return nsmallest(count, rows, key=self._cluster.pods.key)

    def names(self, rows: Sequence[int]) -> tuple[str, ...]:
        """``namespace/name`` of pods."""
        return tuple(self._cluster.pods.key(row) for row in rows)

    def node(self, row: int) -> str:
        """The node of a pod."""
        return self._cluster.node_of(row)

    def on_live(self, slots: BoolArray) -> BoolArray:
        """bool[k]: evaluated nodes among some slots (bool[slot])."""
        return slots[self.inquiry.slots]

    def value(self, key: str, domain: int) -> str:
        """The label value of a domain."""
        slots = self.inquiry.slots
        here = slots[self.look.domain(key)[slots] == domain]
        return self.inquiry.view.nodes.labels.of(int(here[0])).get(key, "") if len(here) else ""

    def values(self, key: str, domains: Sequence[int]) -> str:
        """Label values of domains as a list; beyond ``NAMED``, their number."""
        found = sorted(self.value(key, domain) for domain in domains)
        more = [f"{len(found) - NAMED} more"] if len(found) > NAMED else []
        return joined([*found[:NAMED], *more], "and")

    def in_domains(self, key: str, domains: BoolArray) -> BoolArray:
        """bool[slot]: slots whose value is in a mask of domains."""
        return np.asarray(domains[self.look.domain(key)])


def between_texts(between: PodsBetween) -> Iterator[str]:
    """Each rule between pods that refuses a node, as a clause."""
    reasons = {each.reason for each in between.inquiry.refused}
    pod = between.inquiry.pod
    if pod_topology_spread.UNEVEN in reasons:
        for each in pod.terms.hard:
            yield from _spread_text(between, each)
    if pod_topology_spread.NO_LABEL in reasons:
        yield from _unlabelled_texts(between)
    if inter_pod_affinity.NOT_NEAR in reasons:
        yield from _affinity_texts(between)
    if inter_pod_affinity.NEAR in reasons:
        yield from _apart_texts(between, "its anti-affinity", pod.terms.anti_affinity)
    if inter_pod_affinity.UNWANTED in reasons:
        who = "the anti-affinity of running pods"
        yield from _apart_texts(between, who, pod.terms.running_anti_affinity)


def _spread_text(between: PodsBetween, each: SpreadConstraint) -> Iterator[str]:
    """Describe one constraint: the counts, the domains that allow the pod, and their obstacles."""
    counts = domain_counts(between.inquiry.pod, between.look, each)
    refusing = counts.present & counts.too_many
    if not refusing.any():
        return
    order = np.flatnonzero(counts.present)
    order = order[np.argsort(counts.sums[order], kind="stable")]
    listed = [f"{between.value(each.key, d)}: {int(counts.sums[d])}" for d in order[:NAMED]]
    if len(order) > NAMED:
        listed.append(f"{len(order) - NAMED} more: up to {int(counts.sums[order[-1]])}")
    head = (
        f"topology spread over {each.key} (maxSkew {each.skew}; matching pods by domain: "
        f"{', '.join(listed)})"
    )
    opened = counts.present & ~counts.too_many
    if not opened.any():
        yield f"{head} counts too few domains ({int(counts.present.sum())} of {each.least})"
        return
    values = between.values(each.key, np.flatnonzero(opened).tolist())
    here = between.on_live(between.in_domains(each.key, opened))
    yield f"{head} allows only {values}{_where(between, here)}"


def _unlabelled_texts(between: PodsBetween) -> Iterator[str]:
    """Topology keys of spread constraints that are missing on all or on some nodes."""
    for key in dict.fromkeys(each.key for each in between.inquiry.pod.terms.hard):
        labelled = between.look.domain(key)[between.inquiry.slots] > 0
        if not labelled.any():
            yield f"no node has the label {key}, the topologyKey of its topology spread"
        elif not labelled.all():
            tail = _where(between, labelled)
            yield f"its topology spread allows only nodes with the label {key}{tail}"


def _where(between: PodsBetween, allowed: BoolArray) -> str:
    """Clause about the obstacles on the nodes that a rule allows; empty for none."""
    why = obstacles(between.inquiry, allowed)
    return f", where {why}" if why else ""


def _affinity_texts(between: PodsBetween) -> Iterator[str]:
    terms = between.inquiry.pod.terms
    for key in terms.affinity_keys:
        sums = between.look.sums(terms.affinity_population, key)
        labelled = between.look.domain(key)[between.inquiry.slots] > 0
        if not labelled.any():
            yield f"no node has the label {key}, the topologyKey of its pod affinity"
            continue
        if not (sums > 0).any() and terms.selects_itself:
            tail = _where(between, labelled)
            yield f"its pod affinity allows only nodes with the label {key}{tail}"
            continue
        if not (sums > 0).any():
            yield f"its pod affinity over {key} needs a matching pod in the domain, and none runs"
            continue
        values = between.values(key, np.flatnonzero(sums > 0).tolist())
        here = between.on_live(between.in_domains(key, sums > 0))
        tail = _where(between, here)
        yield f"its pod affinity over {key} allows only {values}, with matching pods{tail}"


def _apart_texts(between: PodsBetween, who: str, terms: Sequence[tuple[str, int]]) -> Iterator[str]:
    for key, population in terms:
        taken = between.look.sums(population, key) > 0
        rows = between.rows(population, between.in_domains(key, taken))
        if not len(rows):
            continue
        named = between.first(rows.tolist(), NAMED)
        names = [f"{between.names([row])[0]} on {between.node(row)}" for row in named]
        more = [f"{len(rows) - NAMED} more"] if len(rows) > NAMED else []
        yield f"{who} over {key} excludes the domains of {joined([*names, *more], 'and')}"
