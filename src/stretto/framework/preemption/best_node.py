"""The best node for one preemptor.

The victim index serves pods that need resources alone. For pods with inter-pod rules, nodes on
which a rule requires an eviction have an index of their own (``index_with_rules``). Pods with host
ports or devices, and nodes on which volumes conflict or which a filter with a Python form refuses
at present, are simulated one by one (``node_by_node``).
"""

from collections.abc import Collection, Sequence
from typing import Final

import numpy as np

from stretto.framework.affinity.after_eviction import EvictionPreview
from stretto.framework.compiled.one_node import Holds, Preemptor
from stretto.framework.engine.runtime import Runtime
from stretto.framework.kernels.numpy.victims import VictimDemand, VictimSearchLimits
from stretto.framework.preemption.custom_rules import CustomFilters, CustomVerdict
from stretto.framework.preemption.cycle import CycleVictims
from stretto.framework.preemption.demand import DemandReader, with_enough_devices
from stretto.framework.preemption.index_with_rules import Mask, nodes_by_rule, rule_blocked_of
from stretto.framework.preemption.node_by_node import PerNodeSearch, SearchContext
from stretto.framework.preemption.other_pods import PreemptorRules, PromisedCandidate, both_hold
from stretto.framework.preemption.terms import NodeProtection
from stretto.framework.preemption.tiers import (
    NOTHING,
    SearchKernels,
    VictimSearchResult,
    result_of,
)

ALIKE: Final = 3
"""Minimum number of equal preemptors for which the search caches the cost of each node."""
TRIES: Final = 8
"""Maximum number of nodes whose victims a filter with a Python form refuses afterwards."""
REHEARSED: Final = 100
"""Number of candidate nodes to evaluate if volumes or guarantees decide.

Kube-scheduler's minimum.
"""


class BestNodeSearch:
    """Finds the best node, with the fastest search that is exact for the preemptor."""

    def __init__(
        self,
        runtime: Runtime,
        cycle: CycleVictims,
        others: PreemptorRules,
        kernels: SearchKernels,
    ) -> None:
        """Search on the snapshot of a shard.

        Args:
            runtime: the shard's own snapshot.
            cycle: the victim index with the promises of the cycle.
            others: the state of the other pods, for the rules of a preemptor.
            kernels: the search functions of the kernel tier.
        """
        engine = runtime.engine
        self._runtime = runtime
        self._cluster = engine.cluster
        self._cycle = cycle
        self._others = others
        self._kernels = kernels
        self._custom = CustomFilters(engine)
        self._demand = DemandReader(runtime, cycle.victims, cycle.budgets)
        self._one_by_one = PerNodeSearch(
            engine.cluster, engine.profile.preemption, cycle.budgets, cycle.victims
        )

    def find(
        self,
        preemptor: Preemptor,
        only: Mask | None,
        *,
        alike: Sequence[int] = (),
        holds: Holds | None = None,
        protection: NodeProtection | None = None,
    ) -> VictimSearchResult:
        """Return the best node for a preemptor.

        Args:
            preemptor: the pod.
            only: bool[slot]: the allowed nodes; ``None`` for all.
            alike: rows of equal preemptors of the cycle, which may share a search.
            holds: evaluates the volume rules of the pod; ``None`` if they hold.
            protection: nodes and pods that guarantees protect; ``None`` if they protect no pod.
        """
        wanted = self._demand.wanted(preemptor, only)
        custom = self._judge(preemptor, wanted, self._cycle.taken)
        if custom is None:
            alike = alike if only is None else ()
            return self._find_among(preemptor, wanted, (holds, protection), alike)
        return self._find_with_custom(preemptor, wanted, custom, (holds, protection))

    def accepts(self, preemptor: Preemptor, slot: int, gone: Collection[int]) -> bool:
        """True if filters with a Python form accept a preemptor on a slot without some pods."""
        only = np.zeros(self._cluster.ledger.slots.size, np.bool_)
        only[slot] = True
        custom = self._judge(preemptor, self._demand.wanted(preemptor, only), self._cycle.taken)
        return custom is None or custom.holds(slot, gone)

    def _judge(
        self, preemptor: Preemptor, wanted: VictimDemand, taken: Sequence[PromisedCandidate]
    ) -> CustomVerdict | None:
        """Results of filters with a Python form for the nodes.

        ``None`` if there are no such filters.
        """
        admitted, view = wanted.admitted.astype(np.bool_), self._runtime.view
        return self._custom.judge(preemptor, admitted, view, (self._others, taken))

    def _find_with_custom(
        self,
        preemptor: Preemptor,
        wanted: VictimDemand,
        custom: CustomVerdict,
        terms: tuple[Holds | None, NodeProtection | None],
    ) -> VictimSearchResult:
        """Best node on which filters with a Python form accept the preemptor after evictions."""
        (holds, protection), found = terms, NOTHING
        at_present, later = custom.open.copy(), custom.later.copy()
        for _ in range(TRIES):
            found = self._find_among(preemptor, _among(wanted, at_present), terms, ())
            chosen = found.candidate
            if chosen is None:
                break
            going = self._others.evicted_pods(chosen.slot, preemptor.priority)
            if custom.holds(chosen.slot, {*chosen.evicted_pods, *going}):
                break
            at_present[chosen.slot], later[chosen.slot], found = False, True, NOTHING
        if not later.any() or not wanted.bands:
            return found
        heads = self._others.heads(preemptor.class_id, self._cycle.taken)
        wanted = self._within(_among(wanted, later), heads)
        both = both_hold(holds, custom.holds)
        for part, guarded in _by_protection(wanted, protection):
            found = self.better(found, self._dry_run_best(preemptor, part, both, guarded))
        return found

    def _find_among(
        self,
        preemptor: Preemptor,
        wanted: VictimDemand,
        terms: tuple[Holds | None, NodeProtection | None],
        alike: Sequence[int],
    ) -> VictimSearchResult:
        """Best of the nodes that admit a preemptor."""
        holds, protection = terms
        heads = self._others.heads(preemptor.class_id, self._cycle.taken)
        if protection is None:
            return self._find(preemptor, wanted, heads, holds, alike)
        found = NOTHING
        for part, guarded in _by_protection(wanted, protection):
            if guarded is None:
                result = self._find(preemptor, part, heads, holds, ())
            else:
                within = self._within(part, heads)
                result = self._dry_run_best(preemptor, within, holds, guarded)
            found = self.better(found, result)
        return found

    def _find(
        self,
        preemptor: Preemptor,
        wanted: VictimDemand,
        heads: EvictionPreview | None,
        holds: Holds | None,
        alike: Sequence[int],
    ) -> VictimSearchResult:
        """Best node if no guarantee protects a pod."""
        if not wanted.bands:  # no pod has a lower priority
            return NOTHING
        if self._cluster.classes.special[preemptor.class_id] or holds is not None:
            return self._dry_run_best(preemptor, self._within(wanted, heads), holds)
        if heads is not None:
            return self._find_with_rules(preemptor, wanted, heads)
        limits = self._demand.limits(wanted)
        if self._kernels.many is not None and len(alike) >= ALIKE and limits.offset == 0:
            return self._find_ahead(preemptor, wanted, limits, alike)
        return result_of(self._kernels.one(self._demand.index(), wanted, limits))

    def has_chance(self, preemptor: Preemptor) -> bool:
        """Return whether a node has enough resources without all pods of lower priority."""
        self._cycle.sync()
        wanted = self._demand.wanted(preemptor)
        if not wanted.bands:
            return False
        self._others.begin()  # outside a cycle there are no promises
        custom = self._judge(preemptor, wanted, ())
        if custom is not None:
            wanted = _among(wanted, custom.open | custom.later)
        if self._others.is_strict(preemptor.class_id):
            wanted = self._within(wanted, self._others.heads(preemptor.class_id, ()))
        wanted = with_enough_devices(self._cluster, preemptor, wanted)
        sums, mask = self._cycle.victims.sums, wanted.admitted.astype(np.bool_)
        for column, need in zip(wanted.columns, wanted.need, strict=True):
            mask &= sums.free[column] + sums.below[wanted.bands - 1, column] >= need
        return bool(mask.any())

    def _within(self, wanted: VictimDemand, heads: EvictionPreview | None) -> VictimDemand:
        """Restrict a search to nodes that the inter-pod rules may allow."""
        if heads is None:
            return wanted
        could = heads.could(self._runtime.between)[: len(wanted.admitted)]
        return wanted._replace(admitted=wanted.admitted & could.astype(wanted.admitted.dtype))

    def better(self, one: VictimSearchResult, other: VictimSearchResult) -> VictimSearchResult:
        """Return the better of two results."""
        given = self._context()
        return VictimSearchResult(self._one_by_one.better(one.candidate, other.candidate, given))

    def _context(
        self,
        holds: Holds | None = None,
        most: int = 1 << 30,
        protection: NodeProtection | None = None,
    ) -> SearchContext:
        cycle = self._cycle
        return SearchContext(cycle.now, cycle.kept, cycle.taken, holds, most, protection)

    def _find_with_rules(
        self, preemptor: Preemptor, wanted: VictimDemand, heads: EvictionPreview
    ) -> VictimSearchResult:
        """The best node for a pod with inter-pod rules."""
        index, limits = self._demand.index(), self._demand.limits(wanted)
        view, domains = self._runtime.between, self._cluster.domains
        search = index, wanted, limits
        parts = nodes_by_rule(heads, view, domains, search)
        plain = self._kernels.one(index, parts.plain, limits)
        hits, pressed = [plain], rule_blocked_of(parts, domains, search, plain)
        if pressed is not None:
            at = int(np.searchsorted(pressed.slots, limits.offset))
            at %= len(pressed.slots)
            here = limits._replace(offset=at if limits.offset else 0)
            hit = self._kernels.one(pressed.columns, pressed.wanted, here)
            if hit is not None:
                hits.append(hit._replace(slot=int(pressed.slots[hit.slot])))
        hit = min((h for h in hits if h is not None), key=lambda h: (h.key, h.slot), default=None)
        found = result_of(hit)
        if not len(parts.doubtful):
            return found
        mask = np.zeros_like(wanted.admitted)
        mask[parts.doubtful] = wanted.admitted[parts.doubtful]
        return self.better(
            found, self._dry_run_best(preemptor, wanted._replace(admitted=mask), None)
        )

    def _dry_run_best(
        self,
        preemptor: Preemptor,
        wanted: VictimDemand,
        holds: Holds | None,
        protection: NodeProtection | None = None,
    ) -> VictimSearchResult:
        """Simulate, one by one, the nodes that have enough resources."""
        gone = [row for each in self._cycle.taken for row in each.candidate.evicted_pods]
        wanted = with_enough_devices(self._cluster, preemptor, wanted, gone)
        most = 1 << 30 if holds is None and protection is None else REHEARSED
        between = self._others.holds(preemptor.class_id, self._cycle.taken)
        holds = between if holds is None else both_hold(between, holds)
        given = self._context(holds, most, protection)
        return VictimSearchResult(self._one_by_one.best(preemptor, wanted, given))

    def _find_ahead(
        self,
        preemptor: Preemptor,
        wanted: VictimDemand,
        limits: VictimSearchLimits,
        alike: Sequence[int],
    ) -> VictimSearchResult:
        """Search for all equal pods at once and return the results one by one."""
        assert self._kernels.many is not None
        victims = self._cycle.victims
        known = victims.most, victims.budgets_in_safe_sums()
        found = self._kernels.many(self._demand.index(), wanted, limits, known, len(alike))
        first = found[0] if found else None
        self._cycle.put_ahead(found, preemptor, alike)
        return VictimSearchResult(first)


def _among(wanted: VictimDemand, slots: Mask) -> VictimDemand:
    """Restrict a search to some slots."""
    admitted = wanted.admitted
    return wanted._replace(admitted=admitted & slots[: len(admitted)].astype(admitted.dtype))


def _by_protection(
    wanted: VictimDemand, protection: NodeProtection | None
) -> list[tuple[VictimDemand, NodeProtection | None]]:
    """Split a search into the nodes on which guarantees protect no pod, and the others."""
    if protection is None:
        return [(wanted, None)]
    guarded = (_among(wanted, protection.slots), protection)
    if protection.is_everywhere:
        return [guarded]
    return [(_among(wanted, ~protection.slots), None), guarded]
