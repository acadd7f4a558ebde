"""Input and result types of the Omega simulation."""

from math import inf

import msgspec

from stretto.base.errors import InputError
from stretto.state.work.claims import CommitMode, ConflictMode


class OmegaJob(msgspec.Struct, frozen=True):
    """Like tasks that one scheduler places in one transaction."""

    #: Second of its arrival.
    arrival_s: float
    #: Tasks.
    tasks: int
    #: Seconds that each task runs.
    lasts_s: float
    #: Thousandths of a core that each task asks for.
    cpu_milli: int = 1000
    #: MiB that each task asks for.
    memory_mib: int = 1024


class OmegaCell(msgspec.Struct, frozen=True):
    """The machines, the schedulers and how they meet."""

    #: Machines.
    machines: int = 1000
    #: Thousandths of a core of each machine.
    cpu_milli: int = 4000
    #: MiB of each machine.
    memory_mib: int = 16384
    #: Part of the cores that is taken by what never ends, 0..1.
    fill: float = 0.0
    #: Schedulers; jobs go to them in turn.
    schedulers: int = 1
    #: Seconds of thinking for each job.
    job_s: float = 0.1
    #: Seconds of thinking for each task.
    task_s: float = 0.005
    #: When a claim conflicts.
    conflicts: ConflictMode = ConflictMode.FIT
    #: What a conflict does to the other claims of the transaction.
    commit: CommitMode = CommitMode.INCREMENTAL
    #: The profile by which machines are chosen; Omega's own choice is ``random``.
    policy: str = "random"
    #: Seconds after which nothing more begins; what has begun is not counted.
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
            raise InputError("fill", self.fill, "a part of the cores from 0 up to 1")


class SchedulerUse(msgspec.Struct, frozen=True):
    """What one scheduler did with its time; seconds."""

    #: Thinking that was committed without a conflict.
    useful_s: float
    #: Thinking of which something was refused.
    wasted_s: float
    #: Thinking that found no place for any task.
    fruitless_s: float
    #: Transactions without a conflict.
    succeeded: int
    #: Transactions with one at least.
    failed: int

    @property
    def busy_s(self) -> float:
        """All thinking."""
        return self.useful_s + self.wasted_s + self.fruitless_s


class OmegaRun(msgspec.Struct, frozen=True):
    """What came of it."""

    #: Each scheduler.
    schedulers: tuple[SchedulerUse, ...]
    #: float[job]: seconds from arrival to the first thought; NaN where there was none.
    waits_s: tuple[float, ...]
    #: Jobs whose tasks were all placed.
    done: int
    #: Jobs given up.
    abandoned: int
    #: Claims granted.
    granted: int
    #: Claims refused.
    refused: int
    #: Second of the last event; the end of the last task where nothing cuts it off.
    ends_s: float
    #: Seconds over which busyness counts.
    span_s: float

    @property
    def conflict_fraction(self) -> float | None:
        """Failed transactions for each that succeeded; ``None`` where none did."""
        good = sum(each.succeeded for each in self.schedulers)
        return sum(each.failed for each in self.schedulers) / good if good else None

    @property
    def busyness(self) -> float:
        """Part of the time that a scheduler thinks, the mean over them."""
        busy = sum(each.busy_s for each in self.schedulers)
        return busy / (self.span_s * len(self.schedulers)) if self.span_s else 0.0
