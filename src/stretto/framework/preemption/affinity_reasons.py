"""The reasons for which inter-pod rules reject nodes after evictions, in kube-scheduler's wording.

A preemptor evicts pods of its own node only, so each node is evaluated without its own victims and
with all other pods in place. The texts and their order are those of kube-scheduler.
"""

import numpy as np
import numpy.typing as npt

from stretto.framework.affinity.after_eviction import DomainExcess, eviction_preview
from stretto.framework.affinity.counts import DomainView
from stretto.framework.compiled.affinity import constraints_of
from stretto.framework.compiled.domain_tables import NO_TALLY, ConstraintKind
from stretto.framework.engine.engine import CompiledProfile
from stretto.framework.plugins.inter_pod_affinity import NEAR, NOT_NEAR, UNWANTED
from stretto.framework.plugins.pod_topology_spread import NO_LABEL, UNEVEN
from stretto.state.cluster.cluster import Cluster
from stretto.state.rows.pods import NO_SLOT

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


class PostEvictionRules:
    """The inter-pod rules of one class, on every node."""

    def __init__(self, view: DomainView, cluster: Cluster, class_id: int) -> None:
        """Evaluate on a view for which the class is compiled."""
        self._cluster = cluster
        self._heads = eviction_preview(view, class_id)
        self._domain = view.table.domain
        self._own = {population for _, population in cluster.classes[class_id].terms.anti_affinity}
        table, size = view.table, len(self._heads.open)
        constraints = constraints_of(table, class_id)
        #: True if the rules are unreadable: then no eviction makes a node feasible.
        self._never = any(each.kind is ConstraintKind.NEVER for each in constraints)
        # Nodes without a label that required affinity needs.
        self._without_label = np.zeros(size, np.bool_)
        # The spread constraints in their order: nodes without the label, and the rule that counts.
        self._spread: list[tuple[Mask, DomainExcess | None]] = []
        uneven = iter([each for each in self._heads.counts if each.kind is ConstraintKind.HARD])
        for each in constraints:
            without = table.domain[each.key, :size] == 0
            if each.kind is ConstraintKind.NEAR:
                self._without_label |= without
            elif each.kind is ConstraintKind.HARD:
                self._spread.append((without, None if each.tally == NO_TALLY else next(uneven)))

    def hopeless(self) -> Mask:
        """bool[slot]: nodes that kube-scheduler immediately reports as not helped by preemption."""
        if self._never:
            return np.ones(len(self._heads.open), np.bool_)
        now = dict(self.refusals(np.zeros(0, np.int64)))
        return now[NO_LABEL] | now[NOT_NEAR]

    def refused(self, rows: Ints) -> Mask:
        """bool[slot]: nodes that reject the class even after the eviction of these rows."""
        refused = np.full(len(self._heads.open), self._never)
        for _, mask in self.refusals(rows):
            refused |= mask
        return refused

    def refusals(self, rows: Ints) -> list[tuple[str, Mask]]:
        """Nodes by reason after the eviction of these rows, each under its first reason."""
        missing, uneven = self._spread_failures(rows)
        by_text = {
            NO_LABEL: missing,
            UNEVEN: uneven,
            NOT_NEAR: self._lacks_affinity(rows),
            NEAR: np.zeros(len(self._heads.open), np.bool_),
            UNWANTED: np.zeros(len(self._heads.open), np.bool_),
        }
        for each in self._heads.counts:
            if each.kind is not ConstraintKind.HARD:
                by_text[self._text_of(each)] |= self._is_violated(each, rows)
        before, found = np.zeros(len(self._heads.open), np.bool_), []
        for text, mask in by_text.items():
            found.append((text, mask & ~before))
            before |= mask
        return found

    def stay(self, reason: str, slot: int, leaving: Ints) -> Ints:
        """Rows that cause a slot to be rejected for a reason, after the eviction of others."""
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

    def _spread_failures(self, rows: Ints) -> tuple[Mask, Mask]:
        """Nodes without a label, and with too many pods, by the first constraint that fails there.

        kube-scheduler ends at the first failure. A missing label cannot be resolved by evictions,
        but too many pods may be, so the order of the constraints matters.
        """
        missing = np.zeros(len(self._heads.open), np.bool_)
        uneven = missing.copy()
        for without, rule in self._spread:
            missing |= without & ~uneven
            if rule is not None:
                uneven |= self._is_violated(rule, rows) & ~missing
        return missing, uneven

    def _is_violated(self, rule: DomainExcess, rows: Ints) -> Mask:
        """bool[slot]: nodes with too many pods for a rule after the eviction of these rows."""
        slack = rule.slack + rule.here * self._gone(rule.population, rows)
        return np.asarray(slack < 0)

    def _text_of(self, rule: DomainExcess) -> str:
        """kube-scheduler's text for a violated rule."""
        if rule.kind is ConstraintKind.HARD:
            return UNEVEN
        return NEAR if rule.population in self._own else UNWANTED

    def _lacks_affinity(self, rows: Ints) -> Mask:
        """bool[slot]: true where required affinity has no match without these rows."""
        required = self._heads.required
        if required is None:
            return self._without_label.copy()
        return self._without_label | ~required.is_satisfied(self._gone(required.population, rows))

    def _gone(self, population: int, rows: Ints) -> Ints:
        """int64[slot]: members of a population among some rows."""
        counted = rows[self._cluster.domains.counted_in(population, rows)]
        slots = self._cluster.pods.slot[counted]
        return np.bincount(slots, minlength=len(self._heads.open)).astype(np.int64)


def post_eviction_rules_of(engine: CompiledProfile, class_id: int) -> PostEvictionRules | None:
    """The inter-pod rules that may reject nodes for a class; ``None`` if it has none."""
    cluster = engine.cluster
    classes = cluster.classes
    if not classes.judged[class_id] or not classes[class_id].terms.strict:
        return None
    view = DomainView(engine.between, cluster)
    view.sync()
    view.ready(np.array([class_id], np.int32))
    return PostEvictionRules(view, cluster, class_id)
