"""The optional parts of a plane, and the data that the stages of one step exchange."""

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
"""Parts of the scheduler in one process."""


class StepWork(msgspec.Struct):
    """Data that the stages of one step exchange."""

    #: Clock time of the step, in seconds.
    now: float
    #: Claims that the store refused or that a read-back found void.
    refusals: Refusals = []
    #: The plans of the shards.
    plans: list[Plan] = []
    #: Verdicts of the binder, one per plan.
    verdicts: list[Verdict] = []
    #: Units that failed permanently.
    failed: Sequence[UnitFailure] = ()
    #: Evictions that were started or cancelled.
    evictions: EvictionNews = EvictionNews()
