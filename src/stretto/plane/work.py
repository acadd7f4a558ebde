"""What a role may leave out of its plane, and what the stages of one step pass on."""

from collections.abc import Sequence
from enum import Enum, auto
from typing import Final

from stretto.control.binder.binder import Refusals
from stretto.control.dispatcher.waiting.failures import UnitFailure
from stretto.state.work.claims import Plan, Verdict


class Part(Enum):
    """Parts that a role may leave to another process."""

    RESCHEDULER = auto()
    OVERCOMMIT_EVICTION = auto()
    REPORTER = auto()
    STATUSES = auto()


ALL_PARTS: Final = frozenset(Part)
"""What the scheduler in one process runs."""


class StepWork:
    """What the stages of one step pass on."""

    __slots__ = ("acted", "failed", "moved", "now", "plans", "refusals", "verdicts")

    def __init__(self, now: float, *, moved: bool) -> None:
        """Start a step at a clock time."""
        #: Clock time of the step, in seconds.
        self.now = now
        #: Whether anything moved: the store had news, or a stage acted.
        self.moved = moved
        #: Whether a stage acted.
        self.acted = False
        #: Claims that the store refused, or that a read-back found void.
        self.refusals: Refusals = []
        #: The plans of the shards.
        self.plans: list[Plan] = []
        #: The binder's answers, one verdict per plan.
        self.verdicts: list[Verdict] = []
        #: Units that failed for good.
        self.failed: Sequence[UnitFailure] = ()

    def note(self, *, moved: bool) -> None:
        """Record whether a stage acted."""
        self.acted = self.acted or moved
        self.moved = self.moved or moved
