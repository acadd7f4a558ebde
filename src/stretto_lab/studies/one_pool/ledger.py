"""What a day of one pool is made of, and the books that are kept of it."""

from collections import Counter
from typing import Final

import msgspec

from stretto.inputs.neutral.fleet import FleetPod

TICK_S: Final = 30
"""Seconds of a tick: what an evicted pod takes to stop (Kubernetes' default grace)."""


class OnePoolJob(msgspec.Struct, frozen=True, gc=False):
    """A job: like pods that start together, run for a time and leave."""

    #: Tick of its arrival.
    arrival: int
    #: Ticks that it runs.
    lasts: int
    #: What each pod asks for, with its priority.
    shape: FleetPod
    #: Its queue.
    queue: str
    #: Pods; more than one are a gang.
    pods: int = 1


class DiurnalService(msgspec.Struct, frozen=True):
    """A service whose replicas follow a tide."""

    #: Name of its pods.
    name: str
    #: What each replica asks for, with its priority.
    shape: FleetPod
    #: Its queue.
    queue: str
    #: Replicas wanted from each tick on: (tick, replicas), the first at tick 0.
    tide: tuple[tuple[int, int], ...]


class QueueLedger(msgspec.Struct):
    """What became of one queue's pods."""

    #: Pods that came, replacements of evicted ones included.
    came: int = 0
    #: Pods that got a node.
    started: int = 0
    #: Pods that were evicted.
    evicted: int = 0
    #: Core hours of jobs that were done.
    done_core_h: float = 0.0
    #: Core hours of work that was lost by evictions.
    lost_core_h: float = 0.0
    #: GPU hours of jobs that were done.
    done_gpu_h: float = 0.0
    #: GPU hours of work that was lost by evictions.
    lost_gpu_h: float = 0.0
    #: Ticks that each started pod waited.
    waits: Counter[int] = msgspec.field(default_factory=Counter)
    #: Pods without a node at the end.
    waiting: int = 0
    #: Ticks that the longest of them has waited.
    waiting_most: int = 0


class OnePoolDayResult(msgspec.Struct, frozen=True):
    """A day of one pool."""

    #: By queue.
    books: dict[str, QueueLedger]
    #: Tick of each look.
    ticks: tuple[int, ...]
    #: By queue: cores in use at each look.
    cores: dict[str, tuple[float, ...]]
    #: By queue: GPUs in use at each look.
    gpus: dict[str, tuple[int, ...]]
    #: Cores and GPUs of the pool.
    capacity: tuple[float, int]
