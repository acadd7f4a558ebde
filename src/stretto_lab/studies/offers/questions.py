"""Five questions about offers, answered by measurements on pools of several sizes.

1. N equal nodes, two frameworks: which framework gets which offers?
2. One node, several frameworks: is it divided?
3. Weights 1:2: how are the nodes divided?
4. May one side use more than its weight, and how does the balance return?
5. What happens to a node that is declined?
"""

from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from stretto.base.rng import Rng
from stretto.offers.allocator.build import make_allocator
from stretto.offers.allocator.subjects.agents import AgentInfo
from stretto.offers.allocator.subjects.frameworks import FrameworkInfo
from stretto.offers.allocator.subjects.grants import CycleResult
from stretto.offers.allocator.subjects.quota import RoleQuota
from stretto.offers.allocator.subjects.settings import AllocatorSettings
from stretto.offers.allocator.values.kinds import ResourceIdentity
from stretto.offers.allocator.values.resources import Resources, resources_of
from stretto.sim.offers.master import VirtualMaster

TASK_TICKS = 3
"""Ticks for which a task of question 4 runs."""


class QuestionFigure(msgspec.Struct, frozen=True):
    """One figure of the answer to a question."""

    #: Number of the question.
    question: int
    #: Nodes of the pool.
    nodes: int
    #: The counted quantity.
    what: str
    #: Figures by framework, or one figure.
    value: tuple[int, ...]


def node_of(number: int) -> AgentInfo:
    """A node of 4 CPUs and 4096 MB."""
    resources: Resources = resources_of(
        [
            (ResourceIdentity("cpus"), 4_000),
            (ResourceIdentity("mem"), 4_096_000),
            (ResourceIdentity("ports"), ((31000, 32000),)),
        ]
    )
    return AgentInfo(f"n{number:05d}", f"host{number}", resources)


class QuestionPool:
    """A pool with frameworks ``0``, ``1``, ... in roles ``r0``, ``r1``, ..."""

    def __init__(
        self, settings: AllocatorSettings, nodes: int, weights: Sequence[float], seed: int
    ) -> None:
        """Create one framework for each weight; no node is offered yet."""
        self.master = VirtualMaster(make_allocator(Rng(seed), settings))
        allocator = self.master.allocator
        for number in range(nodes):
            allocator.add_agent(node_of(number))
        allocator.set_weights({f"r{i}": weight for i, weight in enumerate(weights)})
        for i in range(len(weights)):
            allocator.add_framework(FrameworkInfo(f"{i}", frozenset({f"r{i}"})))
        self._frameworks = len(weights)

    def tick(self) -> CycleResult:
        """Run one batch cycle a second later."""
        self.master.advance(1.0)
        return self.master.cycle(batch=True)

    def split(self, result: CycleResult) -> tuple[int, ...]:
        """Return the number of offered nodes by framework."""
        counts = Counter(int(each.framework) for each in result.offers)
        return tuple(counts[i] for i in range(self._frameworks))

    def accept_all(self, framework: int | None = None, cpus: int = 4_000) -> None:
        """Accept each offer with one task; the rest of the offer returns without a filter."""
        for offer in list(self.master.offers.values()):
            if framework in (None, int(offer.holding.framework)):
                task = _part(offer.resources, cpus)
                self.master.accept(offer, [task] if task else [], None)

    def used(self) -> tuple[int, ...]:
        """Return the number of running tasks by framework."""
        counts = Counter(int(each.holding.framework) for each in self.master.tasks.values())
        return tuple(counts[i] for i in range(self._frameworks))


def _part(offered: Resources, cpus: int) -> Resources:
    """Return a number of thousandths of a CPU with their share of the memory."""
    part = resources_of([(ResourceIdentity("cpus"), cpus), (ResourceIdentity("mem"), cpus * 1024)])
    return part if offered.contains(part) else resources_of([])


def answers(settings: AllocatorSettings, nodes: int, seed: int) -> Iterator[QuestionFigure]:
    """Yield all figures for one size of the pool."""
    yield from _first(settings, nodes, seed)
    yield from _second(settings, nodes, seed)
    yield from _third(settings, nodes, seed)
    yield from _fourth(settings, nodes, seed)
    yield from _fifth(settings, nodes, seed)


def _first(settings: AllocatorSettings, nodes: int, seed: int) -> Iterator[QuestionFigure]:
    pool = QuestionPool(settings, nodes, (1, 1), seed)
    yield QuestionFigure(1, nodes, "nodes offered in one cycle", pool.split(pool.tick()))


def _second(settings: AllocatorSettings, nodes: int, seed: int) -> Iterator[QuestionFigure]:
    pool = QuestionPool(settings, nodes, (1, 1), seed)
    yield QuestionFigure(2, nodes, "nodes divided in one cycle", (_divided(pool.tick()),))
    for _ in range(4):
        pool.accept_all(cpus=1_000)
        pool.tick()
    shared: dict[str, set[str]] = {}
    for task in pool.master.tasks.values():
        shared.setdefault(task.holding.agent, set()).add(task.holding.framework)
    several = sum(len(each) > 1 for each in shared.values())
    yield QuestionFigure(2, nodes, "nodes with tasks of both after four cycles", (several,))
    limited = QuestionPool(settings, nodes, (1, 1), seed)
    limited.master.allocator.set_quota("r0", RoleQuota(limits={"cpus": 1_500}))
    divided = (_divided(limited.tick()),)
    yield QuestionFigure(2, nodes, "nodes divided under a limit of 1.5 CPUs for the first", divided)


def _divided(result: CycleResult) -> int:
    holders = Counter(each.agent for each in result.offers if not each.contested)
    return sum(count > 1 for count in holders.values())


def _third(settings: AllocatorSettings, nodes: int, seed: int) -> Iterator[QuestionFigure]:
    pool = QuestionPool(settings, nodes, (1, 2), seed)
    what = "nodes offered in one cycle with weights 1:2"
    yield QuestionFigure(3, nodes, what, pool.split(pool.tick()))


def _fourth(settings: AllocatorSettings, nodes: int, seed: int) -> Iterator[QuestionFigure]:
    pool = QuestionPool(settings, nodes, (1, 2), seed)
    pool.master.allocator.suppress("1")
    pool.tick()
    pool.accept_all()
    yield QuestionFigure(4, nodes, "nodes used while the second is idle", pool.used())
    pool.master.allocator.revive("1")
    pool.tick()
    pool.accept_all()
    yield QuestionFigure(4, nodes, "nodes used after the second returned", pool.used())
    for _ in range(TASK_TICKS):
        _end_a_third(pool)
        pool.tick()
        pool.accept_all()
    yield QuestionFigure(4, nodes, "nodes used after all old tasks ended", pool.used())


def _end_a_third(pool: QuestionPool) -> None:
    """End the oldest third of the tasks, so that all tasks are new after `TASK_TICKS` ticks."""
    running = list(pool.master.tasks.values())
    for task in running[: -(-len(running) // TASK_TICKS)]:
        pool.master.finish(task)


def _fifth(settings: AllocatorSettings, nodes: int, seed: int) -> Iterator[QuestionFigure]:
    pool = QuestionPool(settings, nodes, (1, 1), seed)
    pool.tick()
    declined = [o for o in pool.master.offers.values() if o.holding.framework == "0"]
    for offer in declined:
        pool.master.decline(offer, 5.0)
    yield QuestionFigure(5, nodes, "nodes declined by the first", (len(declined),))
    due = pool.master.allocator.is_due
    at_once = pool.split(pool.master.cycle()) if due else (0, 0)
    yield QuestionFigure(5, nodes, "of these offered again at once", at_once)
    later = pool.split(pool.tick())
    yield QuestionFigure(5, nodes, "of these offered again in the next cycle", later)
