"""Four designs that place the same work: offers, optimistic offers, transactions, one queue.

The pool has 60 nodes of 4 CPUs. One framework starts 180 tasks of 1 CPU, and every other framework
starts one task. Every framework needs the same decision time: from an offer to its answer, from a
snapshot to its transaction, or in the queue for all tasks of a framework.
"""

import heapq
from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Final

import msgspec

from stretto.base.errors import InputError
from stretto.base.rng import Rng
from stretto.offers.allocator.subjects.frameworks import FrameworkInfo
from stretto.offers.allocator.subjects.settings import MESOS, AllocatorSettings
from stretto.sim.offers.demand import TaskDemand
from stretto.sim.offers.frameworks import FrameworkPlan
from stretto.sim.offers.world import OfferWorld
from stretto_lab.studies.offers.questions import node_of

NODES: Final = 60
SLOTS: Final = 4
"""Tasks that fit on a node."""
LARGE: Final = 180
"""Tasks of the large framework; every other framework has one task."""
MOST_FRAMEWORKS: Final = NODES * SLOTS - LARGE + 1
"""Most frameworks whose tasks fit into the pool."""
HORIZON: Final = 24 * 3600.0
"""Seconds after which a run ends unfinished."""


class OfferDesign(Enum):
    """Ways in which frameworks get capacity."""

    #: Each offer belongs to one framework (Mesos).
    PESSIMISTIC = "offers"
    #: Several frameworks may hold an offer of the same capacity; the first ACCEPT succeeds.
    OPTIMISTIC = "optimistic offers"
    #: Every framework sees all free capacity and commits; conflicting tasks retry (Omega).
    TRANSACTIONS = "transactions"
    #: One scheduler decides for one framework after another.
    QUEUE = "one queue"


class DesignPoint(msgspec.Struct, frozen=True):
    """One run."""

    #: The design.
    design: str
    #: Number of frameworks.
    frameworks: int
    #: Decision time in seconds.
    decision_s: float
    #: Seconds until all tasks had started.
    all_s: float
    #: Seconds until the tasks of the large framework had started.
    large_s: float
    #: Offers that another framework accepted first, or tasks that conflicted.
    lost: int


def design_points(
    frameworks: Sequence[int], decisions: Sequence[float], seed: int
) -> Iterator[DesignPoint]:
    """Yield one point for each design, number of frameworks and decision time.

    Raises:
        InputError: the work of this number of frameworks exceeds the pool.
    """
    for count in frameworks:
        if count > MOST_FRAMEWORKS:
            expected = f"at most {MOST_FRAMEWORKS}: the pool has {NODES * SLOTS} places"
            raise InputError("--frameworks", count, expected)
    for count in frameworks:
        for decision in decisions:
            for design in OfferDesign:
                yield run_design(design, count, decision, seed)


def run_design(design: OfferDesign, frameworks: int, decision: float, seed: int) -> DesignPoint:
    """Place the work of a number of frameworks under one design."""
    if design is OfferDesign.QUEUE:
        all_s, large_s, lost = frameworks * decision, frameworks * decision, 0
    elif design is OfferDesign.TRANSACTIONS:
        all_s, large_s, lost = _transactions(_backlogs(frameworks), decision, Rng(seed))
    else:
        holders = 1 if design is OfferDesign.PESSIMISTIC else MOST_FRAMEWORKS
        settings = msgspec.structs.replace(MESOS, holders=holders)
        all_s, large_s, lost = _offers(settings, _backlogs(frameworks), decision, seed)
    return DesignPoint(design.value, frameworks, decision, all_s, large_s, lost)


def _backlogs(frameworks: int) -> list[int]:
    """Return the number of tasks by framework; the large framework is the last."""
    return [1] * (frameworks - 1) + [LARGE]


def _offers(
    settings: AllocatorSettings, backlogs: list[int], decision: float, seed: int
) -> tuple[float, float, int]:
    world = OfferWorld(settings, [node_of(number) for number in range(NODES)], seed)
    demand = TaskDemand.of({"cpus": 1, "mem": 1024})
    for number, backlog in enumerate(backlogs):
        info = FrameworkInfo(f"{number:04d}", frozenset({f"r{number}"}))
        world.add(FrameworkPlan(info, demand, backlog=backlog, decision=decision))
    outcome = world.run(HORIZON)
    large = outcome.finished_s.get(f"{len(backlogs) - 1:04d}", outcome.placed_s)
    return outcome.placed_s, large, outcome.lost


def _transactions(backlogs: list[int], decision: float, rng: Rng) -> tuple[float, float, int]:
    """Commit incrementally on shared state, and decide again about tasks that no longer fit.

    Return the seconds until all tasks and until the tasks of the large framework started, and the
    number of conflicts.
    """
    free = [SLOTS] * NODES
    waiting = [(decision, number, _chosen(free, n, rng)) for number, n in enumerate(backlogs)]
    heapq.heapify(waiting)
    ends, lost = [0.0] * len(backlogs), 0
    while waiting:
        now, number, nodes = heapq.heappop(waiting)
        conflicts = 0
        for node in nodes:
            if free[node]:
                free[node] -= 1
            else:
                conflicts += 1
        lost += conflicts
        ends[number] = now
        if conflicts:
            again = _chosen(free, conflicts, rng)
            heapq.heappush(waiting, (now + decision + (not decision), number, again))
    return max(ends), ends[-1], lost


def _chosen(free: list[int], tasks: int, rng: Rng) -> list[int]:
    """Choose a different random free place for each task of a transaction."""
    places = [node for node, count in enumerate(free) for _ in range(count)]
    rng.shuffle(places)
    return places[:tasks]
