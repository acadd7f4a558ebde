"""Input and accounting of the one-pool day."""

from collections import Counter
from collections.abc import Mapping
from typing import Final, Protocol

import msgspec

from stretto.inputs.neutral.fleet import FleetPod
from stretto.state.classes.annotations import QOS_LEVEL, RECLAIMED_CORES
from stretto.stores.store import Store

TICK_S: Final = 30
"""Seconds of a tick, equal to the default grace period of a pod."""


FROM_POOL: Final[Mapping[str, str]] = {QOS_LEVEL: RECLAIMED_CORES}
"""Annotations of a pod that requests resources of the pools of reclaimed resources."""


class PodFollower(Protocol):
    """Follows the pods of a day, and measures the nodes."""

    def started(self, name: str, pod: tuple[str, FleetPod, int], node: str, tick: int) -> None:
        """Record the start of a pod; ``pod``: its queue, request and service, -1 for none."""
        ...

    def ended(self, name: str) -> None:
        """Record the end of a pod."""
        ...

    def sample(self, tick: int, now: float, store: Store) -> None:
        """Measure all nodes at a tick and at a time of the clock in seconds."""
        ...


class OnePoolJob(msgspec.Struct, frozen=True, gc=False):
    """A job: equal pods that start together, run for the same time and finish."""

    #: Tick of its arrival.
    arrival: int
    #: Run time in ticks.
    lasts: int
    #: Request and priority of each pod.
    shape: FleetPod
    #: Its queue.
    queue: str
    #: Pods; more than one form a gang.
    pods: int = 1


class DiurnalService(msgspec.Struct, frozen=True):
    """A service whose replicas follow a daily load curve."""

    #: Name prefix of its pods.
    name: str
    #: Request and priority of each replica.
    shape: FleetPod
    #: Its queue.
    queue: str
    #: Replicas from each tick on: (tick, replicas), the first at tick 0.
    load_curve: tuple[tuple[int, int], ...]


class QueueLedger(msgspec.Struct):
    """Accounting of the pods of one queue."""

    #: Created pods, including replacements of evicted ones.
    came: int = 0
    #: Pods that were bound.
    started: int = 0
    #: Pods that were evicted.
    evicted: int = 0
    #: Core hours of finished jobs.
    done_core_h: float = 0.0
    #: Core hours of work lost by evictions.
    lost_core_h: float = 0.0
    #: GPU hours of finished jobs.
    done_gpu_h: float = 0.0
    #: GPU hours of work lost by evictions.
    lost_gpu_h: float = 0.0
    #: Waits in ticks: number of bound pods by wait.
    waits: Counter[int] = msgspec.field(default_factory=Counter)
    #: Pending pods at the end.
    waiting: int = 0
    #: Longest wait of these pods in ticks.
    waiting_most: int = 0


class OnePoolDayResult(msgspec.Struct, frozen=True):
    """Results of one day."""

    #: Accounting by queue.
    ledgers: dict[str, QueueLedger]
    #: Tick of each sample.
    ticks: tuple[int, ...]
    #: By queue: cores in use at each sample.
    cores: dict[str, tuple[float, ...]]
    #: By queue: GPUs in use at each sample.
    gpus: dict[str, tuple[int, ...]]
    #: Cores and GPUs of the pool.
    capacity: tuple[float, int]
