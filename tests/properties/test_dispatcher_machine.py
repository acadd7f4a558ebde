"""After any events in any order, every pending pod is in exactly one place."""

from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from stretto.control.queues.config import QueueConfig
from stretto.state.queues.shape import SiblingPolicy
from stretto.state.rows.lifecycle import PodEvent, PodState, UnitState, step_pods
from stretto.state.work.claims import ConflictCause
from stretto.state.work.units import Cure, Dispatch, Setback, SetbackReason, Unit, UnitKind
from tests.unit.control.dispatcher.fake_cluster import Desk, owned_by

QUEUES = (QueueConfig("prio", "Priority"), QueueConfig("strict", "FIFO", blocking=True))
CURES = st.sampled_from([Cure.NONE, Cure.POD_LEFT, Cure.NODE_ADDED, Cure.ANY])
ANSWERS = st.sampled_from(["no", "place", "refuse", "store", "back", "unclassed"])


def traits() -> st.SearchStrategy[dict[str, Any]]:
    unit = st.one_of(
        st.just({}),
        st.sampled_from([{"group": "g1"}, {"group": "g2"}]),
        st.sampled_from([{"owner": owned_by(kind, kind)} for kind in ("ReplicaSet", "Job")]),
    )
    common = st.fixed_dictionaries(
        {"priority": st.integers(0, 2), "class_id": st.integers(0, 2)},
        optional={
            "queue": st.sampled_from(["prio", "strict", "other"]),
            "duration": st.sampled_from([0, 3, 3.5, 60]),
        },
    )
    return st.builds(lambda one, other: {**one, **other}, unit, common)


class DispatcherMachine(RuleBasedStateMachine):
    queues: tuple[QueueConfig, ...] = QUEUES
    between = SiblingPolicy.WEIGHT

    def __init__(self) -> None:
        super().__init__()
        self.desk = Desk(
            *self.queues,
            shards=2,
            min_members={"Job": 2},
            blocking_window=3,
            between=self.between,
        )
        self.inbox: list[tuple[Dispatch, list[int]]] = []
        self.born = 0

    # ------------------------------------------------------------ the cluster

    @initialize(sizes=st.lists(st.integers(1, 3), min_size=2, max_size=2))
    def begin(self, sizes: list[int]) -> None:
        for name, size in zip(("g1", "g2"), sizes, strict=True):
            self.desk.group(name, size, 60)

    @rule(notes=traits(), count=st.integers(1, 4), gated=st.booleans())
    def arrive(self, notes: dict[str, Any], count: int, gated: bool) -> None:
        names = [f"p{self.born + i}" for i in range(count)]
        self.born += count
        self.desk.arrive(*names, gated=gated and count == 1, **notes)

    @rule(notes=traits(), count=st.integers(1, 2))
    def found_on_nodes(self, notes: dict[str, Any], count: int) -> None:
        """Pods that were bound before the first list, and a pending one."""
        names = [f"p{self.born + i}" for i in range(count + 1)]
        self.born += count + 1
        waits = self.desk.born(names[0], class_id=1)
        self.desk.absorb(arrivals=waits + self.desk.born(*names[1:], state=PodState.BOUND, **notes))

    @rule(name=st.sampled_from(["g1", "g2"]), size=st.integers(0, 4), uid=st.booleans())
    def group(self, name: str, size: int, uid: bool) -> None:
        self.desk.group(name, size, 60, uid=f"{name}-{uid}")

    @rule(name=st.sampled_from(["g1", "g2"]))
    def ungroup(self, name: str) -> None:
        self.desk.ungroup(name)

    @rule(data=st.data(), notes=traits(), gated=st.booleans())
    def change(self, data: st.DataObject, notes: dict[str, Any], gated: bool) -> None:
        waiting = self.named(PodState.PENDING, PodState.GATED, PodState.UNSCHEDULABLE)
        if waiting:
            name = data.draw(st.sampled_from(waiting))
            notes = {k: v for k, v in notes.items() if k not in ("priority", "class_id")}
            self.desk.change(name, gated=gated, **notes)

    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        self.desk.delete(*self.some(data, sorted(self.desk.rows)))

    @rule(data=st.data())
    def bound_by_another_client(self, data: st.DataObject) -> None:
        waits = (PodState.PENDING, PodState.UNSCHEDULABLE, PodState.BACKOFF, PodState.DISPATCHED)
        self.desk.bind(*self.some(data, self.named(*waits)))

    # ------------------------------------------------------------ handing out

    @rule(capacity=st.sampled_from([[9, 9], [0, 6], [3, 1], [2, 0]]))
    def dispatch(self, capacity: list[int]) -> None:
        self.desk.now += 0.1
        blocked = self.blocked_rank()
        work = self.desk.work(capacity)
        serial = self.desk.pods.serial
        for each in (each for one in work for each in one):
            self.inbox.append((each, serial[list(each.rows)].tolist()))
            unit = each.unit
            assert 1 <= each.at_least <= len(each.rows)
            assert each.rows == unit.away
            if unit.kind is UnitKind.POD_GROUP and not unit.scheduled:
                assert len(unit.bound) + each.at_least >= unit.min_member
            assert unit.queue != "strict" or self.may_evict(each, blocked)
        self.check_order(work)

    def may_evict(self, sent: Dispatch, blocked: float) -> bool:
        """Return whether the strict queue may send a unit before the failed ones are placed."""
        return sent.blocking and sent.unit.rank < blocked

    def check_order(self, work: list[list[Dispatch]]) -> None:
        for queue in self.desk.dispatcher._places.queues:
            ranks = [[d.unit.rank for d in one if d.unit.queue == queue.name] for one in work]
            assert all(one == sorted(one) for one in ranks)
            left = min((unit.rank for unit in queue.order), default=None)
            if left is not None:
                assert all(rank < left for one in ranks for rank in one)

    def blocked_rank(self) -> float:
        failed = (UnitState.BACKOFF, UnitState.UNSCHEDULABLE)
        units = [unit for unit in self.desk.units if unit.queue == "strict"]
        return min((unit.rank for unit in units if unit.state in failed), default=float("inf"))

    # ------------------------------------------------------------ answers

    @precondition(lambda self: self.inbox)
    @rule(data=st.data(), answer=ANSWERS, first=st.booleans())
    def answer(self, data: st.DataObject, answer: str, first: bool) -> None:
        """A shard answers for some of its pods, possibly late and for deleted pods."""
        index = 0 if first else len(self.inbox) - 1
        dispatch, serials = self.inbox[index]
        count = data.draw(st.integers(1, len(dispatch.rows)))
        rows, rest = dispatch.rows[:count], dispatch.rows[count:]
        if rest:
            left = Dispatch(dispatch.unit, rest, 1)
            self.inbox[index] = (left, serials[count:])
        else:
            del self.inbox[index]
        self.give(answer, dispatch, rows, serials[:count])

    def give(
        self, answer: str, dispatch: Dispatch, rows: tuple[int, ...], serials: list[int]
    ) -> None:
        desk, unit = self.desk, dispatch.unit
        if answer == "place":
            index = np.array(rows, np.int64)
            same = desk.pods.serial[index] == np.array(serials)
            index = index[same & (desk.pods.state[index] == PodState.DISPATCHED)]
            step_pods(desk.pods.state, index, PodEvent.ASSUME)
            desk.dispatcher.answers.placed(index, desk.now)
        elif answer in ("refuse", "store"):
            by_store = answer == "store"
            cause = ConflictCause.STORE_REFUSED if by_store else ConflictCause.DOES_NOT_FIT
            desk.dispatcher.answers.settle([(unit, rows, cause)], desk.now)
        else:
            why = SetbackReason.GIVEN_BACK if answer == "back" else SetbackReason.NO_PLACE
            class_id = -1 if answer == "unclassed" else int(desk.pods.class_id[rows[0]])
            cures = Cure.NONE if len(rows) == 3 else Cure.POD_LEFT
            desk.dispatcher.answers.set_back([Setback(unit, rows, class_id, cures, why)], desk.now)

    @precondition(lambda self: self.inbox)
    @rule(answer=ANSWERS, wake=CURES)
    def answer_all(self, answer: str, wake: Cure) -> None:
        """All shards give the same answer; an event may precede it."""
        self.desk.wake(wake, 2)
        for dispatch, serials in self.inbox:
            self.give(answer, dispatch, dispatch.rows, serials)
        self.inbox = []

    @rule(data=st.data(), good=st.booleans())
    def store_answers(self, data: st.DataObject, good: bool) -> None:
        names = self.some(data, self.named(PodState.ASSUMED))
        if good:
            self.desk.bind(*names)
        else:
            self.desk.reject(*names)

    @rule(number=st.integers(0, 1), again=st.booleans())
    def kill_shard(self, number: int, again: bool) -> None:
        self.desk.dispatcher.remove_shard(number, self.desk.now)
        if again or number == 0:
            self.desk.dispatcher.add_shard(number)

    @rule(cures=CURES, fits=st.integers(0, 3))
    def wake(self, cures: Cure, fits: int) -> None:
        self.desk.wake(cures, fits)

    @rule(seconds=st.sampled_from([0.5, 5.0, 61.0, 400.0]))
    def pass_time(self, seconds: float) -> None:
        self.desk.pass_time(seconds)

    # ------------------------------------------------------------ laws

    @invariant()
    def no_law_is_broken(self) -> None:
        assert self.desk.dispatcher.audit() == []

    @invariant()
    def every_pod_that_wants_a_node_is_in_a_unit(self) -> None:
        on_nodes = (PodState.BOUND, PodState.GATED)
        for name, row in self.desk.rows.items():
            unit = self.desk.units.by_row[row]
            assert unit is not None or self.desk.state(name) in on_nodes
            assert unit is None or row in unit.pending or row in unit.bound

    def teardown(self) -> None:
        """Once all goes well, all that can be placed is placed."""
        desk = self.desk
        desk.dispatcher.add_shard(0)
        for dispatch, serials in self.inbox:
            self.give("back", dispatch, dispatch.rows, serials)
        for _ in range(60):
            desk.pass_time(11.0)
            desk.wake(Cure.ANY)
            self.inbox = []
            for each in (each for one in desk.work([50, 0]) for each in one):
                self.give("place", each, each.rows, desk.pods.serial[list(each.rows)].tolist())
            desk.bind(*self.named(PodState.ASSUMED))
            self.no_law_is_broken()
        stuck = [unit for unit in desk.units if unit.pending]
        assert {unit.state for unit in stuck} <= {UnitState.FORMING, UnitState.FAILED}

    # ------------------------------------------------------------ helpers

    def named(self, *states: PodState) -> list[str]:
        return sorted(name for name in self.desk.rows if self.desk.state(name) in states)

    def some(self, data: st.DataObject, names: list[str]) -> list[str]:
        if not names:
            return []
        return data.draw(st.lists(st.sampled_from(names), max_size=4, unique=True))


class FairMachine(DispatcherMachine):
    """Turns by dominant share, shortest first, and backfill behind failed heads."""

    queues = (QueueConfig("prio", "ShortestFirst", 2.0), QueueConfig("strict", "Easy"))
    between = SiblingPolicy.DRF

    @rule(left=st.integers(0, 8), size=st.sampled_from([50, 100]))
    def others_use_the_pool(self, left: int, size: int) -> None:
        self.desk.pool.left, self.desk.pool.size = left, size

    def may_evict(self, sent: Dispatch, blocked: float) -> bool:
        return sent.blocking == (sent.unit.rank < blocked)

    def check_order(self, work: list[list[Dispatch]]) -> None:
        """Those that pass a failed head are out of order; no others are."""
        ahead = [[each for each in one if each.unit.queue != "strict"] for one in work]
        super().check_order(ahead)


class FairShareMachine(FairMachine):
    """Turns by one resource."""

    between = SiblingPolicy.FAIR_SHARE


class TreeMachine(FairMachine):
    """Queues in a tree, with limits at two levels, guarantees and a number of running units."""

    queues = (
        QueueConfig("org", "DRF", limit={"cpu": 9}, max_running_units=5),
        QueueConfig("prio", "ShortestFirst", blocking=False, parent="org", limit={"cpu": 6}),
        QueueConfig("strict", "Easy", parent="org", guarantee={"cpu": 6}),
        QueueConfig("other", "FifoSkip", max_running_units=3),
    )
    between = SiblingPolicy.WEIGHT

    def dispatch_within_limits(self, capacity: list[int]) -> None:
        usage = self.desk.dispatcher._places.usage
        assert usage is not None
        before, running = self.desk.over_limits(), {b.name: b.running for b in usage.tree}
        super().dispatch(capacity)
        for place, above in self.desk.over_limits().items():
            assert above == before.get(place), "an admission broke a limit"
        for branch in usage.tree:
            within = branch.running <= branch.most_units
            assert within or branch.running <= running[branch.name]

    @rule(capacity=st.sampled_from([[9, 9], [0, 6], [3, 1], [2, 0]]))
    def dispatch(self, capacity: list[int]) -> None:
        self.dispatch_within_limits(capacity)

    def check_order(self, work: list[list[Dispatch]]) -> None:
        """Limits admit what fits, so this class does not check the order."""

    def may_evict(self, sent: Dispatch, blocked: float) -> bool:
        return sent.blocking == (sent.unit.rank < blocked)

    def teardown(self) -> None:
        """Once all goes well and pods end, all that can be placed is placed."""
        desk = self.desk
        desk.dispatcher.add_shard(0)
        for dispatch, serials in self.inbox:
            self.give("back", dispatch, dispatch.rows, serials)
        for _ in range(80):
            desk.pass_time(11.0)
            desk.wake(Cure.ANY)
            for each in (each for one in desk.work([50, 0]) for each in one):
                self.give("place", each, each.rows, desk.pods.serial[list(each.rows)].tolist())
            desk.bind(*self.named(PodState.ASSUMED))
            self.no_law_is_broken()
            desk.delete(*self.named(PodState.BOUND))
        stuck = [unit for unit in desk.units if unit.pending and not self.is_too_large(unit)]
        assert {unit.state for unit in stuck} <= {UnitState.FORMING, UnitState.FAILED}

    def is_too_large(self, unit: Unit) -> bool:
        """Return whether it exceeds its queue, or is behind such a unit in a blocking queue."""
        usage = self.desk.dispatcher._places.usage
        assert usage is not None
        least = dict(usage.demand(unit).least)[0]
        queue = self.desk.dispatcher._places.queues.get(unit.queue)
        first = queue.order.peek() if queue.blocking else None
        return least > {"prio": 6, "strict": 9}.get(unit.queue, 99) or (
            first is not None and first is not unit and self.is_too_large(first)
        )


TestTreeMachine = TreeMachine.TestCase
TestDispatcherMachine = DispatcherMachine.TestCase
TestFairMachine = FairMachine.TestCase
TestFairShareMachine = FairShareMachine.TestCase
TestFairMachine.settings = TestFairShareMachine.settings = TestTreeMachine.settings = settings(
    settings.get_profile("quick"), max_examples=20, stateful_step_count=50
)
TestDispatcherMachine.settings = settings(
    settings.get_profile("quick"), max_examples=20, stateful_step_count=50
)
