"""Finding victims for pods that fit nowhere, on what a shard knows at the time of its cycle.

A cycle may hold several preemptors: each sees what those before it have been promised, and a unit
that cannot be helped as a whole takes back what was promised to its first pods.
"""

from collections.abc import Collection
from typing import NamedTuple

import numpy as np

from stretto.base.clock import Clock
from stretto.framework.rehearsal import Candidate, Preemptor, Rehearsal, best
from stretto.framework.runtime import Engine
from stretto.state.budgets import BudgetLedger
from stretto.state.claims import Plan
from stretto.state.pods import NO_SLOT
from stretto.state.preemption import PreemptionRules, may_preempt


class Found(NamedTuple):
    """What a search found."""

    #: The best node; ``None`` where no node would do.
    candidate: Candidate | None
    #: Whether it is worth trying again at once: only nodes that are spoken for would do.
    again: bool = False
    #: What the pod's FailedScheduling event says then; empty for what it said before.
    message: str = ""


NOTHING = Found(None)
"""Nobody's leaving would help."""


class VictimFinder:
    """Finds victims by rehearsing every node that could do."""

    def __init__(
        self, engine: Engine, rules: PreemptionRules, budgets: BudgetLedger, clock: Clock
    ) -> None:
        """Find by a profile's rules; the clock tells who started a short while ago."""
        #: The rules.
        self.rules = rules
        self._engine = engine
        self._cluster = engine.cluster
        self._budgets = budgets
        self._clock = clock
        self._rehearsal = Rehearsal(engine.cluster, rules, budgets, 0.0)
        self._busy: list[int] = []
        self._kept: set[int] = set()
        self._lowest = 0

    def begin(self, plan: Plan) -> None:
        """A new cycle, whose plain claims are ``plan``'s."""
        self._budgets.sync()
        self._rehearsal = Rehearsal(
            self._cluster, self.rules, self._budgets, self._clock.monotonic()
        )
        self._busy = plan.slots.tolist()
        self._kept.clear()
        pods = self._cluster.pods
        placed = pods.slot[: pods.length] != NO_SLOT
        self._lowest = int(pods.priority[: pods.length][placed].min(initial=1 << 30))

    def find(self, row: int) -> Found:
        """The best node for a pod, and who must leave it."""
        pods = self._cluster.pods
        preemptor = Preemptor(int(pods.class_id[row]), int(pods.priority[row]))
        if preemptor.priority <= self._lowest or not may_preempt(self._cluster, row):
            return NOTHING
        found = [
            self._rehearsal.on_slot(preemptor, slot, self._kept) for slot in self._slots(preemptor)
        ]
        candidates = [each for each in found if each is not None]
        quiet = [each for each in candidates if each.slot not in self._busy]
        return Found(best(self._rehearsal, quiet), again=bool(candidates))

    def take(self, row: int, candidate: Candidate) -> None:
        """A preemptor is promised a node."""
        self._busy.append(candidate.slot)

    def spare(self, rows: Collection[int]) -> None:
        """These must stay where they are, for the rest of the cycle."""
        self._kept.update(rows)

    def mark(self) -> int:
        """Where to go back to."""
        return len(self._busy)

    def back_to(self, mark: int) -> None:
        """Take back what was promised since a mark."""
        del self._busy[mark:]

    def _slots(self, preemptor: Preemptor) -> list[int]:
        """Nodes that admit a pod but for who is there, and have enough if those of less leave."""
        cluster = self._cluster
        ledger, pods = cluster.ledger, cluster.pods
        row = self._engine.eligibility.filter_row(cluster.classes[preemptor.class_id])
        eligible = self._engine.eligibility.rows[row][: ledger.slots.size] > 0
        ledger.widen()
        free = ledger.alloc - ledger.used
        lower = np.flatnonzero(
            (pods.slot[: pods.length] != NO_SLOT)
            & (pods.priority[: pods.length] < preemptor.priority)
        )
        asks = cluster.classes.asks(pods.class_id[lower])
        width = min(asks.shape[1], free.shape[1])
        np.add.at(free[:, :width], pods.slot[lower], asks[:, :width])
        asked = cluster.classes.asks(np.array([preemptor.class_id], np.int32))[0, :width]
        enough = ((free[:, :width] >= asked) | (asked == 0)).all(axis=1)
        held = np.zeros(ledger.slots.size, np.bool_)
        held[pods.slot[lower]] = True
        return np.flatnonzero(eligible & enough & held & (ledger.slots.live > 0)).tolist()
