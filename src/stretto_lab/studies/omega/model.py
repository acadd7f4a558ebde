"""Input and result types of the Omega simulation."""

from math import inf

import msgspec

from stretto.base.errors import InputError
from stretto.framework.profile.host_rules import HostRules
from stretto.state.work.claims import CommitMode, ConflictMode


class OmegaJob(msgspec.Struct, frozen=True):
    """Equal tasks that one scheduler places in one transaction."""

    #: Arrival in seconds.
    arrival_s: float
    #: Tasks.
    tasks: int
    #: Run time of each task in seconds.
    lasts_s: float
    #: Milli-CPU of each task.
    cpu_milli: int = 1000
    #: Memory of each task in MiB.
    memory_mib: int = 1024


class OmegaCell(msgspec.Struct, frozen=True):
    """Machines, schedulers and conflict rules."""

    #: Machines.
    machines: int = 1000
    #: Milli-CPU of each machine.
    cpu_milli: int = 4000
    #: Memory of each machine in MiB.
    memory_mib: int = 16384
    #: Share of cores that stays occupied, 0..1.
    fill: float = 0.0
    #: Schedulers; jobs are assigned round-robin.
    schedulers: int = 1
    #: Decision time per job in seconds.
    job_s: float = 0.1
    #: Decision time per task in seconds.
    task_s: float = 0.005
    #: Condition under which claims conflict.
    conflicts: ConflictMode = ConflictMode.FIT
    #: Effect of a conflict on the other claims of the transaction.
    commit: CommitMode = CommitMode.INCREMENTAL
    #: Profile that chooses machines; Omega uses ``random``.
    policy: str = "random"
    #: Hosts of a claim in the mode in which hosts decide.
    hosts: HostRules = HostRules()
    #: End of the simulation in seconds; later events are not counted.
    until_s: float = inf
    #: Seed of every draw.
    seed: int = 0
    #: Kernel tier: ``auto``, ``numba`` or ``numpy``.
    tier: str = "auto"

    def __post_init__(self) -> None:
        for name, low in (("machines", 1), ("schedulers", 1), ("job_s", 0), ("task_s", 0)):
            value = getattr(self, name)
            if not low <= value < inf:
                raise InputError(name, value, f"a number from {low} on")
        if not 0 <= self.fill < 1:
            raise InputError("fill", self.fill, "a share of the cores from 0 to below 1")


class SchedulerUse(msgspec.Struct, frozen=True):
    """Use of the time of one scheduler, in seconds."""

    #: Time of decisions that were committed without a conflict.
    useful_s: float
    #: Time of decisions with a refused claim.
    wasted_s: float
    #: Time of decisions that found no machine.
    fruitless_s: float
    #: Transactions without a conflict.
    succeeded: int
    #: Transactions with a conflict.
    failed: int

    @property
    def busy_s(self) -> float:
        """Total decision time."""
        return self.useful_s + self.wasted_s + self.fruitless_s


class OmegaRun(msgspec.Struct, frozen=True):
    """Results of one run."""

    #: Use by scheduler.
    schedulers: tuple[SchedulerUse, ...]
    #: float[job]: seconds from arrival to the first decision; NaN if there was no decision.
    waits_s: tuple[float, ...]
    #: Jobs with all tasks placed.
    done: int
    #: Abandoned jobs.
    abandoned: int
    #: Claims granted.
    granted: int
    #: Claims refused.
    refused: int
    #: Time of the last event in seconds.
    ends_s: float
    #: Time span over which the busyness is computed, in seconds.
    span_s: float
    #: Mean number of hosts that refused a granted claim before; 0 if hosts do not decide.
    rank_mean: float = 0.0
    #: Mean difference in points between the best host and the host of a granted claim.
    behind_mean: float = 0.0

    @property
    def conflict_fraction(self) -> float | None:
        """Failed transactions per successful transaction; ``None`` if none was successful."""
        good = sum(each.succeeded for each in self.schedulers)
        return sum(each.failed for each in self.schedulers) / good if good else None

    @property
    def busyness(self) -> float:
        """Mean share of time that schedulers are busy."""
        busy = sum(each.busy_s for each in self.schedulers)
        return busy / (self.span_s * len(self.schedulers)) if self.span_s else 0.0
