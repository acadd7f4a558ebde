"""What rules between pods say of nodes once pods of lower priority have left them, in words.

Only pods of the node itself may leave for a preemptor, so every node is judged with its own pods
gone and all others in place. The words, and their order, are kube-scheduler's.
"""

import numpy as np
import numpy.typing as npt

from stretto.framework.affinity.counts import DomainView
from stretto.framework.affinity.headcounts import DomainExcess, eviction_preview
from stretto.framework.compiled.affinity import constraints_of
from stretto.framework.compiled.domain_tables import ConstraintKind
from stretto.framework.engine.engine import CompiledProfile
from stretto.framework.plugins.inter_pod_affinity import NEAR, NOT_NEAR, UNWANTED
from stretto.framework.plugins.pod_topology_spread import NO_LABEL, UNEVEN
from stretto.state.cluster.cluster import Cluster
from stretto.state.rows.pods import NO_SLOT

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


class PostEvictionRules:
    """The rules between pods of one class, on every node."""

    def __init__(self, view: DomainView, cluster: Cluster, class_id: int) -> None:
        """Judge by a view for which the class is compiled."""
        self._cluster = cluster
        self._heads = eviction_preview(view, class_id)
        self._domain = view.table.domain
        self._own = {population for _, population in cluster.classes[class_id].terms.anti_affinity}
        table, size = view.table, len(self._heads.open)
        constraints = constraints_of(table, class_id)
        #: Whether its rules cannot be read: then no node will do, whoever leaves.
        self._never = any(each.kind is ConstraintKind.NEVER for each in constraints)
        self._bare = {
            kind: np.zeros(size, np.bool_) for kind in (ConstraintKind.HARD, ConstraintKind.NEAR)
        }
        for each in constraints:
            if each.kind in self._bare:
                self._bare[each.kind] |= table.domain[each.key, :size] == 0

    def hopeless(self) -> Mask:
        """bool[slot]: nodes of which kube-scheduler says at once that nobody's leaving helps."""
        if self._never:
            return np.ones(len(self._heads.open), np.bool_)
        now = dict(self.refusals(np.zeros(0, np.int64)))
        return now[NO_LABEL] | now[NOT_NEAR]

    def refused(self, rows: Ints) -> Mask:
        """bool[slot]: nodes that refuse the class even once these rows have left."""
        refused = np.full(len(self._heads.open), self._never)
        for _, mask in self.refusals(rows):
            refused |= mask
        return refused

    def refusals(self, rows: Ints) -> list[tuple[str, Mask]]:
        """Reasons with their nodes once these rows have left, each node under its first reason."""
        by_text = {
            NO_LABEL: self._bare[ConstraintKind.HARD].copy(),
            UNEVEN: np.zeros(len(self._heads.open), np.bool_),
            NOT_NEAR: self._lacks_affinity(rows),
            NEAR: np.zeros(len(self._heads.open), np.bool_),
            UNWANTED: np.zeros(len(self._heads.open), np.bool_),
        }
        for each in self._heads.counts:
            room = each.room + each.here * self._gone(each.population, rows)
            by_text[self._text_of(each)] |= room < 0
        before, found = np.zeros(len(self._heads.open), np.bool_), []
        for text, mask in by_text.items():
            found.append((text, mask & ~before))
            before |= mask
        return found

    def stay(self, reason: str, slot: int, leaving: Ints) -> Ints:
        """Rows for whose sake a slot is refused for a reason, once others have left it."""
        pods = self._cluster.pods
        rows = np.flatnonzero(pods.slot[: pods.length] != NO_SLOT)
        rows = np.setdiff1d(rows, leaving[pods.slot[leaving] == slot])
        found = np.zeros(len(rows), np.bool_)
        for each in self._heads.counts:
            if self._text_of(each) == reason:
                domain = self._domain[each.key]
                near = domain[pods.slot[rows]] == domain[slot]
                found |= near & self._cluster.domains.counted_in(each.population, rows)
        return rows[found]

    def _text_of(self, rule: DomainExcess) -> str:
        """How kube-scheduler says that a rule is broken."""
        if rule.kind is ConstraintKind.HARD:
            return UNEVEN
        return NEAR if rule.population in self._own else UNWANTED

    def _lacks_affinity(self, rows: Ints) -> Mask:
        """bool[slot]: where required affinity lacks company once these rows have left."""
        company = self._heads.company
        if company is None:
            return self._bare[ConstraintKind.NEAR].copy()
        return self._bare[ConstraintKind.NEAR] | ~company.is_satisfied(
            self._gone(company.population, rows)
        )

    def _gone(self, population: int, rows: Ints) -> Ints:
        """int64[slot]: how many of a population are among some rows."""
        counted = rows[self._cluster.domains.counted_in(population, rows)]
        slots = self._cluster.pods.slot[counted]
        return np.bincount(slots, minlength=len(self._heads.open)).astype(np.int64)


def post_eviction_rules_of(engine: CompiledProfile, class_id: int) -> PostEvictionRules | None:
    """The rules between pods that may keep a class from nodes; ``None`` where it has none."""
    cluster = engine.cluster
    classes = cluster.classes
    if not classes.judged[class_id] or not classes[class_id].terms.strict:
        return None
    view = DomainView(engine.between, cluster)
    view.sync()
    view.ready(np.array([class_id], np.int32))
    return PostEvictionRules(view, cluster, class_id)
