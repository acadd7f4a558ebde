"""What all nodes say to a class that waits, kept for a while: for events, metrics and stories.

To ask 20,000 nodes takes milliseconds, so answers are shared by all pods of a class, kept for some
seconds, and only so many classes are asked a second. It has a snapshot of its own and is asked when
decisions have been taken, never within one.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from stretto.framework.contract.rule import FilterRule, View
from stretto.framework.engine.diagnosis import diagnose
from stretto.framework.engine.engine import CompiledProfile
from stretto.state.rows.snapshot import Columns

KEPT_FOR: Final = 5.0
"""Seconds for which an answer is as good as new."""
ASKED_PER_SECOND: Final = 16.0
"""Classes asked a second: at 20,000 nodes some percent of a core."""
ASKED_AT_ONCE: Final = 64.0
"""Classes asked at once after a quiet time."""
KEPT: Final = 4096
"""Answers kept."""


class ClassVerdict(NamedTuple):
    """What all nodes say to one class."""

    #: kube-scheduler's sentence: ``0/5 nodes are available: 2 Insufficient cpu, ...``
    message: str
    #: Nodes that every rule allows.
    available: int
    #: Nodes looked at.
    total: int
    #: Rules that refuse it somewhere, in the profile's order.
    plugins: tuple[str, ...]
    #: Clock time of the question.
    asked_at: float


class ClassVerdicts:
    """Asks nodes about classes, within a budget."""

    def __init__(self, engine: CompiledProfile) -> None:
        """Ask by the rules of an engine, about its cluster as it is."""
        self._engine = engine
        self._rules: Sequence[FilterRule] = engine.profile.every_filter
        self._columns = Columns(engine.cluster.ledger)
        self._kept: dict[int, tuple[int, ClassVerdict]] = {}
        self._budget = ASKED_AT_ONCE
        self._refilled_at = float("-inf")

    def of(self, class_id: int, now: float, *, at_any_cost: bool = False) -> ClassVerdict | None:
        """What the nodes say to a class; ``None`` when too many have been asked lately.

        Args:
            class_id: a class that has pods.
            now: clock time.
            at_any_cost: ask although the budget is spent (a run has ended, somebody waits).
        """
        if self._engine.profile.exact:  # its own words come with each setback
            return None
        serial = self._engine.cluster.classes.serial(class_id)
        kept = self._kept.get(class_id)
        known = kept[1] if kept is not None and kept[0] == serial else None
        if known is not None and now - known.asked_at <= KEPT_FOR:
            return known
        if not self._may_probe(now) and not at_any_cost:
            return known
        said = self._ask(class_id, now)
        if len(self._kept) >= KEPT:
            self._kept.clear()
        self._kept[class_id] = serial, said
        return said

    def last(self, class_id: int) -> ClassVerdict | None:
        """What the nodes said when they were last asked, however long ago; asks nobody."""
        kept = self._kept.get(class_id)
        serial = self._engine.cluster.classes.serial(class_id)
        return kept[1] if kept is not None and kept[0] == serial else None

    def _may_probe(self, now: float) -> bool:
        if now > self._refilled_at:
            more = (now - self._refilled_at) * ASKED_PER_SECOND
            self._budget = min(ASKED_AT_ONCE, self._budget + more)
            self._refilled_at = now
        if self._budget < 1:
            return False
        self._budget -= 1
        return True

    def _ask(self, class_id: int, now: float) -> ClassVerdict:
        cluster = self._engine.cluster
        self._columns.sync()
        view = View(self._columns, cluster.nodes, self._engine.typical, self._engine.look())
        slots = cluster.nodes.live_slots()
        found = diagnose(self._rules, cluster.classes[class_id], view, slots, nearest=0)
        plugins = tuple(dict.fromkeys(each.plugin for each in found.reasons))
        return ClassVerdict(found.message, found.available, found.total, plugins, now)
