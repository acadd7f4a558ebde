"""Caches the verdict of all nodes on a pending class, for events, metrics and stories.

A check of 20,000 nodes takes milliseconds, so a verdict is shared by all pods of a class, cached
for some seconds, and limited to a number of classes per second. It uses its own snapshot and runs
after decisions, never during one.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from stretto.framework.contract.rule import FilterRule, View
from stretto.framework.engine.diagnosis import diagnose
from stretto.framework.engine.engine import CompiledProfile
from stretto.state.rows.snapshot import Columns

KEPT_FOR: Final = 5.0
"""Seconds for which a verdict is reused."""
QUERIES_PER_SECOND: Final = 16.0
"""Maximum number of classes checked per second: some percent of a core at 20,000 nodes."""
QUERIES_AT_ONCE: Final = 64.0
"""Burst of checked classes after a quiet time."""
CACHE_SIZE: Final = 4096
"""Size of the cache."""


class ClassVerdict(NamedTuple):
    """The verdict of all nodes on one class."""

    #: kube-scheduler's sentence: ``0/5 nodes are available: 2 Insufficient cpu, ...``
    message: str
    #: Number of nodes that every rule admits.
    available: int
    #: Number of checked nodes.
    total: int
    #: Rules that refuse the class on at least one node, in the profile's order.
    plugins: tuple[str, ...]
    #: Clock time of the check.
    queried_at: float


class ClassVerdicts:
    """Checks classes on all nodes, within a budget."""

    def __init__(self, engine: CompiledProfile) -> None:
        """Use the rules and the cluster of an engine."""
        self._engine = engine
        self._rules: Sequence[FilterRule] = engine.profile.every_filter
        self._columns = Columns(engine.cluster.ledger)
        self._cache: dict[int, tuple[int, ClassVerdict]] = {}
        self._budget = QUERIES_AT_ONCE
        self._refilled_at = float("-inf")

    def of(self, class_id: int, now: float, *, at_any_cost: bool = False) -> ClassVerdict | None:
        """Return the verdict on a class; ``None`` if the budget is used up.

        Args:
            class_id: a class that has pods.
            now: clock time.
            at_any_cost: ignore the budget (at the end of a run, or for an interactive call).
        """
        if self._engine.profile.exact:  # an exact profile returns its message with each setback
            return None
        serial = self._engine.cluster.classes.serial(class_id)
        cached = self._cache.get(class_id)
        known = cached[1] if cached is not None and cached[0] == serial else None
        if known is not None and now - known.queried_at <= KEPT_FOR:
            return known
        if not self._may_probe(now) and not at_any_cost:
            return known
        verdict = self._check(class_id, now)
        if len(self._cache) >= CACHE_SIZE:
            self._cache.clear()
        self._cache[class_id] = serial, verdict
        return verdict

    def last(self, class_id: int) -> ClassVerdict | None:
        """Return the last verdict of any age without a check."""
        cached = self._cache.get(class_id)
        serial = self._engine.cluster.classes.serial(class_id)
        return cached[1] if cached is not None and cached[0] == serial else None

    def _may_probe(self, now: float) -> bool:
        if now > self._refilled_at:
            more = (now - self._refilled_at) * QUERIES_PER_SECOND
            self._budget = min(QUERIES_AT_ONCE, self._budget + more)
            self._refilled_at = now
        if self._budget < 1:
            return False
        self._budget -= 1
        return True

    def _check(self, class_id: int, now: float) -> ClassVerdict:
        cluster = self._engine.cluster
        self._columns.sync()
        view = View(self._columns, cluster.nodes, self._engine.typical, self._engine.look())
        slots = cluster.nodes.live_slots()
        found = diagnose(self._rules, cluster.classes[class_id], view, slots, nearest=0)
        plugins = tuple(dict.fromkeys(each.plugin for each in found.reasons))
        return ClassVerdict(found.message, found.available, found.total, plugins, now)
