"""Reasons why preemption does not help a pod: node counts in kube-scheduler's wording.

kube-scheduler's events end with ``preemption: 0/5 nodes are available: 2 Insufficient cpu, 3 No
preemption victims found for incoming pod.`` A node that rejects the pod even without all pods of
lower priority is counted under the rule that rejects it: resources or inter-pod rules. Where a
profile protects more pods than kube-scheduler can, nodes that fail for that reason alone are
counted under reasons specific to Stretto.
"""

from collections import Counter
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from stretto.framework.compiled.one_node import Preemptor
from stretto.framework.engine.engine import CompiledProfile
from stretto.framework.preemption.affinity_reasons import PostEvictionRules, post_eviction_rules_of
from stretto.framework.preemption.custom_rules import refusals_without_lower
from stretto.framework.preemption.terms import NodeProtection, PriorityTerms
from stretto.state.rows.pods import NO_SLOT
from stretto.state.rows.resources import PODS
from stretto.state.victims.budgets import BudgetLedger
from stretto.state.victims.columns import NOT_EVICTABLE
from stretto.state.victims.kinds import VictimKinds
from stretto.state.victims.rules import EvictionGuard, guards_of

Mask = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]

NEVER: Final = "preemption: not eligible due to preemptionPolicy=Never."
OFF: Final = "preemption: disabled by the profile."
NO_HELP: Final = "Preemption is not helpful for scheduling"
NO_VICTIMS: Final = "No preemption victims found for incoming pod"
PROTECTED: Final[dict[EvictionGuard, str]] = {
    EvictionGuard.NOT_RUNNING: "node(s) had pods that are not running yet",
    EvictionGuard.EVICTING: "node(s) had pods that are already terminating",
    EvictionGuard.PROTECTED: "node(s) had pods that the profile protects by priority",
    EvictionGuard.FORBIDDEN: "node(s) had pods that forbid their preemption",
    EvictionGuard.NOT_OPTED_IN: "node(s) had pods that did not opt in to preemption",
    EvictionGuard.OTHER_SCHEDULER: "node(s) had pods of other schedulers, which are never evicted",
    EvictionGuard.RECENT: "node(s) had pods that started recently",
    EvictionGuard.GUARANTEED: "node(s) had pods within the guarantee of their queue",
}
BUDGET: Final = "node(s) had pods that a disruption budget protects"


KEPT_FOR: Final = 5.0
"""Seconds for which an explanation stays valid."""
EXPLAINED: Final = 1024
"""Number of nodes whose guaranteed pods are listed: each node is simulated."""
QUERIES_PER_SECOND: Final = 4.0
"""Maximum number of explanations per second: each reads every pod of lower priority."""


class GuardedExample(NamedTuple):
    """A node on which preemption is forbidden."""

    #: Reason why preemption is forbidden.
    reason: str
    #: Slot of the node.
    slot: int
    #: Rows of the protected pods that are the reason.
    rows: tuple[int, ...]


class PreemptionMessage(NamedTuple):
    """The obstacles of a preemption."""

    #: The text in the format of kube-scheduler's events.
    message: str
    #: Number of nodes by reason, the most frequent first.
    nodes: tuple[tuple[str, int], ...] = ()
    #: One node for each reason that protected pods cause.
    examples: tuple[GuardedExample, ...] = ()


class _PreemptableNodes(NamedTuple):
    """Nodes that are feasible without all pods of lower priority."""

    #: bool[slot]: the nodes.
    left: Mask
    #: int64[k]: rows of lower priority on any node.
    rows: Ints
    #: int64[slot, resource]: free amounts at present.
    free: Ints
    #: int64[resource]: the requests of the pod.
    requested: Ints
    #: Inter-pod rules of the pod; ``None`` without any.
    between: PostEvictionRules | None
    #: Rows that the guarantee of their queue protects from the pod.
    guaranteed: frozenset[int]


class MessageSuffixes:
    """The preemption part of events, cached per class and limited in rate."""

    def __init__(
        self, engine: CompiledProfile, budgets: BudgetLedger, terms: PriorityTerms
    ) -> None:
        """Start with an empty cache; ``terms`` determine the pods that guarantees protect."""
        self._terms = terms
        self._engine = engine
        self._budgets = budgets
        self._kept: dict[tuple[int, int, int, str], tuple[float, str]] = {}
        self._next = float("-inf")

    def of(self, row: int, now: float) -> str:
        """Text after the node reasons; empty if preemption may still help."""
        if self._engine.profile.exact:
            return ""
        pods, classes = self._engine.cluster.pods, self._engine.cluster.classes
        class_id = int(pods.class_id[row])
        key = (
            classes.serial(class_id),
            int(pods.priority[row]),
            int(pods.preemption_attributes[row]),
            self._terms.queue_of(row),
        )
        queried_at, text = self._kept.get(key, (float("-inf"), ""))
        if now - queried_at < KEPT_FOR or now < self._next:
            return text
        self._next = now + 1.0 / QUERIES_PER_SECOND
        words = preemption_words(self._engine, self._budgets, row, now, self._terms)
        text = "" if words is None else f" {words.message}"
        if len(self._kept) > 10_000:
            self._kept.clear()
        self._kept[key] = now, text
        return text


def preemption_words(
    engine: CompiledProfile,
    budgets: BudgetLedger,
    row: int,
    now: float,
    terms: PriorityTerms,
) -> PreemptionMessage | None:
    """Reasons why preemption does not help an unschedulable pod; ``None`` if it may help."""
    cluster, rules = engine.cluster, engine.profile.preemption
    pods = cluster.pods
    if not rules.enabled:
        return PreemptionMessage(OFF)
    if not cluster.preemption_attributes[int(pods.preemption_attributes[row])].preempts:
        return PreemptionMessage(NEVER)
    examples: list[GuardedExample] = []
    terms.begin()
    counts = _counts(engine, budgets, row, now, (terms.protection(row), examples))
    if counts is None:
        return None
    listed = sorted(f"{count} {text}" for text, count in counts.items())
    total = len(cluster.nodes.by_name)
    message = f"preemption: 0/{total} nodes are available: {', '.join(listed)}."
    return PreemptionMessage(message, tuple(counts.most_common()), tuple(examples))


def _counts(
    engine: CompiledProfile,
    budgets: BudgetLedger,
    row: int,
    now: float,
    protections: tuple[NodeProtection | None, list[GuardedExample]],
) -> Counter[str] | None:
    """Number of nodes by obstacle of preemption; ``None`` if one node is feasible."""
    protection, examples = protections
    cluster = engine.cluster
    ledger, pods = cluster.ledger, cluster.pods
    class_id, priority = int(pods.class_id[row]), int(pods.priority[row])
    ledger.widen()
    size = ledger.slots.size
    live, requested = ledger.slots.live[:size] > 0, _requested(engine, class_id)
    free, between = (
        ledger.alloc[:size] - ledger.used[:size],
        post_eviction_rules_of(engine, class_id),
    )
    helpless = live & _is_helpless(engine, class_id, requested)
    if between is not None:
        helpless |= live & between.hopeless()[:size] & ~_short(free, requested).any(axis=1)
    rows = np.flatnonzero(
        (pods.slot[: pods.length] != NO_SLOT) & (pods.priority[: pods.length] < priority)
    )
    held = np.zeros(size, np.bool_)
    held[pods.slot[rows]] = True
    lacking = _short(free + _sums(engine, rows), requested)
    counts: Counter[str] = Counter()
    counts[NO_HELP] = int(helpless.sum())
    counts[NO_VICTIMS] = int((live & ~helpless & ~held).sum())
    left = live & ~helpless & held
    _count_short(engine, lacking, left, counts)
    if between is not None:
        _count_between(between, rows, left, (counts, examples))
    _count_custom(engine, Preemptor(class_id, priority), left, counts)
    guaranteed = _guaranteed_rows(protection, left)
    field = _PreemptableNodes(left, rows, free, requested, between, guaranteed)
    if not _count_guards(engine, budgets, field, now, (counts, examples)):
        return None
    return +counts


def _requested(engine: CompiledProfile, class_id: int) -> Ints:
    """int64[column]: the requests of a class, as wide as the ledger."""
    width = engine.cluster.ledger.used.shape[1]
    requested = np.zeros(width, np.int64)
    amounts = engine.cluster.classes.requests_of(np.array([class_id], np.int32))[0]
    requested[: min(width, len(amounts))] = amounts[:width]
    return requested


def _is_helpless(engine: CompiledProfile, class_id: int, requested: Ints) -> Mask:
    """bool[slot]: nodes that refuse the pod for their properties or size, for any pods on them."""
    ledger = engine.cluster.ledger
    size = ledger.slots.size
    row = engine.eligibility.filter_row(engine.cluster.classes[class_id])
    refused = engine.eligibility.rows[row][:size] == 0
    return np.asarray(refused | _short(ledger.alloc[:size], requested).any(axis=1))


def _count_between(
    between: PostEvictionRules,
    rows: Ints,
    left: Mask,
    found: tuple[Counter[str], list[GuardedExample]],
) -> None:
    """Count nodes on which inter-pod rules refuse the pod without all pods of lower priority."""
    counts, examples = found
    for text, mask in between.refusals(rows):
        slots = np.flatnonzero(left & mask[: len(left)])
        if len(slots):
            counts[text] += len(slots)
            stay = between.stay(text, int(slots[0]), rows)
            examples.append(GuardedExample(text, int(slots[0]), tuple(stay.tolist())))
        left &= ~mask[: len(left)]


def _count_short(
    engine: CompiledProfile,
    lacking: Mask,
    left: Mask,
    counts: Counter[str],
) -> None:
    """Count nodes that lack a resource even then, and remove them from ``left``."""
    for column in np.flatnonzero(lacking[left].any(axis=0)).tolist():
        name = engine.cluster.ledger.resources.names[column]
        text = "Too many pods" if column == PODS else f"Insufficient {name}"
        counts[text] = int(lacking[left, column].sum())
    left &= ~lacking.any(axis=1)


def _count_custom(
    engine: CompiledProfile, preemptor: Preemptor, left: Mask, counts: Counter[str]
) -> None:
    """Count nodes that a filter with a Python form refuses even without all pods of lower priority.

    The nodes are removed from ``left``.
    """
    slots = np.flatnonzero(left)
    for refusal in refusals_without_lower(engine, preemptor, slots):
        fresh = refusal.mask & left[slots]
        if fresh.any():
            counts[refusal.reason] += int(fresh.sum())
            left[slots[refusal.mask]] = False


def _count_guards(
    engine: CompiledProfile,
    budgets: BudgetLedger,
    field: _PreemptableNodes,
    now: float,
    protections: tuple[Counter[str], list[GuardedExample]],
) -> bool:
    """Count nodes on which only protected pods prevent preemption.

    Returns false if one is feasible.
    """
    left, rows, free, requested, between, guaranteed = field
    cluster, rules = engine.cluster, engine.profile.preemption
    slots = cluster.pods.slot
    here = rows[left[slots[rows]]]
    kept = VictimKinds(cluster, rules).of_many(here, now) == NOT_EVICTABLE
    kept |= np.isin(here, list(guaranteed))
    may = free + _sums(engine, here[~kept])
    blocked = left & _short(may, requested).any(axis=1)
    if between is not None:
        blocked |= left & between.refused(here[~kept])[: len(left)]
    counts, examples = protections
    staying = here[kept & blocked[slots[here]]]
    guards = [
        EvictionGuard.GUARANTEED if guard is None and row in guaranteed else guard
        for row, guard in zip(
            staying.tolist(), guards_of(cluster, rules, staying, now), strict=True
        )
    ]
    for guard in (each for each in dict.fromkeys(guards) if each is not None):
        mine = staying[[each is guard for each in guards]]
        slot = int(slots[mine[0]])
        stay = tuple(mine[slots[mine] == slot].tolist())
        examples.append(GuardedExample(PROTECTED[guard], slot, stay))
        counts[PROTECTED[guard]] = len(np.unique(slots[mine]))
    rest = left & ~blocked
    if rest.any() and rules.hard_budgets:
        budgets.sync()
        counts[BUDGET] = int(rest.sum())
        slot = int(np.flatnonzero(rest)[0])
        covered = [row for row in here[slots[here] == slot].tolist() if budgets.of_row(row)]
        examples += [GuardedExample(BUDGET, slot, tuple(covered))] if covered else []
        return bool(budgets)
    return not rest.any()


def _guaranteed_rows(protection: NodeProtection | None, left: Mask) -> frozenset[int]:
    """Rows on these nodes that guarantees protect; of many nodes, only the first ones."""
    if protection is None:
        return frozenset()
    slots = np.flatnonzero(left & protection.slots[: len(left)])[:EXPLAINED].tolist()
    return frozenset(row for slot in slots for row in protection.kept_on(slot))


def _sums(engine: CompiledProfile, rows: Ints) -> Ints:
    """int64[slot, resource]: amounts that these pods would free."""
    cluster = engine.cluster
    total = np.zeros((cluster.ledger.slots.size, cluster.ledger.used.shape[1]), np.int64)
    requests = cluster.classes.requests_of(cluster.pods.class_id[rows])
    width = min(requests.shape[1], total.shape[1])
    np.add.at(total[:, :width], cluster.pods.slot[rows], requests[:, :width])
    for row in cluster.charges.holding() & rows.tolist():
        for column, amount in cluster.charges.regained(row).items():
            total[cluster.pods.slot[row], column] += amount
    return total


def _short(free: Ints, requested: Ints) -> Mask:
    """bool[slot, resource]: requests that exceed the free amount."""
    return (free < requested) & (requested > 0)
