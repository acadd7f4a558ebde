"""What a role may leave out of its plane, and what the stages of one step pass on."""

from collections.abc import Sequence
from enum import Enum, auto
from typing import Final

import msgspec

from stretto.control.binder.binder import Refusals
from stretto.control.dispatcher.waiting.failures import UnitFailure
from stretto.state.work.claims import Plan, Verdict
from stretto.state.work.evictions import EvictionNews


class Part(Enum):
    """Parts that a role may leave to another process."""

    RESCHEDULER = auto()
    OVERCOMMIT_EVICTION = auto()
    REPORTER = auto()
    STATUSES = auto()
    RECLAIM = auto()


ALL_PARTS: Final = frozenset(Part)
"""What the scheduler in one process runs."""


class StepWork(msgspec.Struct):
    """What the stages of one step pass on."""

    #: Clock time of the step, in seconds.
    now: float
    #: Claims that the store refused, or that a read-back found void.
    refusals: Refusals = []
    #: The plans of the shards.
    plans: list[Plan] = []
    #: The binder's answers, one verdict per plan.
    verdicts: list[Verdict] = []
    #: Units that failed for good.
    failed: Sequence[UnitFailure] = ()
    #: Evictions that were started or cancelled.
    evictions: EvictionNews = EvictionNews()
