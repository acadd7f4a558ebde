"""The configuration of a plane, and its report about each step."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from stretto.api.wire.kinds import Kind
from stretto.control.binder.binder import Refusals
from stretto.control.dispatcher.waiting.failures import UnitFailure
from stretto.control.queues.config import DispatcherConfig
from stretto.control.reporting.reporter import ReportConfig
from stretto.control.scheduler.loop import BATCH
from stretto.framework.profile.profile import Profile
from stretto.state.cluster.config import ClusterConfig
from stretto.state.work.changes import ClusterChanges
from stretto.state.work.claims import Plan, Verdict
from stretto.state.work.evictions import EvictionNews


class PlaneConfig(msgspec.Struct, frozen=True):
    """Configuration of a plane."""

    #: The rules, the tie rule, the conflict modes and the delays.
    profile: Profile
    #: Number of scheduler shards.
    shards: int = 1
    #: Configuration of the cluster state.
    cluster: ClusterConfig = ClusterConfig()
    #: Queues and unit formation; ``None`` for the profile's retry and gang settings.
    dispatcher: DispatcherConfig | None = None
    #: Seed of all random numbers of the plane.
    seed: int = 0
    #: Kernel tier: ``auto``, ``numba`` or ``numpy``.
    tier: str = "auto"
    #: Number of pods that a shard places in one cycle.
    batch: int = BATCH
    #: True if shards try their own nodes first.
    partition: bool = True
    #: PodGroups of other schedulers that the store has: keys of ``workload_groups.FORMS``.
    group_forms: tuple[Kind, ...] = ()
    #: Seconds between comparisons with a fresh list; infinity for a store that loses no events.
    compare_every: float = float("inf")
    #: Settings of conditions, events and statuses; ``None`` writes none.
    report: ReportConfig | None = None


class Step(NamedTuple):
    """Result of one step, for observers."""

    #: Clock time of the step, in seconds.
    now: float
    #: The plans of the shards.
    plans: Sequence[Plan]
    #: Verdicts of the binder, one per plan.
    verdicts: Sequence[Verdict]
    #: Claims that the store refused or that a read-back found void.
    refusals: Refusals
    #: Units that failed permanently, with the reason.
    failed: Sequence[UnitFailure]
    #: Evictions that were started or cancelled.
    evictions: EvictionNews = EvictionNews()


Observer = Callable[[Step], None]
"""Called after each step with an effect."""
Witness = Callable[[ClusterChanges, float], None]
"""Called with each batch of changes and its clock time, before the batch is cleared."""
