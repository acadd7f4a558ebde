"""The fault simulator of one pool finds planted bugs."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from stretto.api.wire.kinds import POD, QUEUE
from stretto.offers.allocator.allocator import Allocator
from stretto.offers.nodes import totals, writes
from stretto.offers.nodes.charges import SharedLedger, TaskRow
from stretto.offers.nodes.commands import HANDLERS
from stretto.offers.nodes.pods import QUEUE as QUEUE_LABEL
from stretto.offers.nodes.roles import QueueRoles
from stretto.offers.nodes.tasks import TaskPods
from stretto.offers.nodes.totals import NodeTotals
from stretto.offers.nodes.updates import TaskUpdates
from stretto.offers.nodes.writes import PodWrites
from stretto.state.cluster.offers import OfferClaims
from stretto.stores.store import Patch, WriteOutcome
from stretto.testing import make_pod
from stretto_lab.chaos.pool.holdings import held_of
from stretto_lab.chaos.pool.laws import PoolLaws
from stretto_lab.chaos.pool.play import PoolPlay
from stretto_lab.chaos.pool.shapes import QUEUES, SCHEDULER
from stretto_lab.chaos.pool.world import PoolWorld
from stretto_lab.chaos.seeds import run_seed, run_seeds
from tests.support.mesos import scalar
from tests.support.offered_nodes import PoolBench, node
from tests.unit.offers.nodes.test_pool import refined, reserve

STEPS = 60
Plant = Callable[[pytest.MonkeyPatch], Any]


def never(*_: Any, **__: Any) -> None:
    """Do nothing."""


PLANTS: dict[str, Plant] = {
    "a claim is never charged": lambda m: m.setattr(OfferClaims, "replace", lambda *_: False),
    "offers do not count for queues": lambda m: m.setattr(SharedLedger, "charge_queues", never),
    "pods do not count for roles": lambda m: m.setattr(SharedLedger, "count_pods", never),
    "limits of queues are not those of roles": lambda m: m.setattr(
        QueueRoles, "settle", lambda *_: False
    ),
    "changed holdings are not seen": lambda m: m.setattr(
        Allocator, "take_changed", lambda _: set()
    ),
    "what is taken for a pod is offered in turn": lambda m: m.setattr(
        NodeTotals, "_set_total", offered_while_spared(NodeTotals._set_total)
    ),
    "a repeated creation has another name": lambda m: m.setattr(
        PodWrites, "_create", renaming(PodWrites._create)
    ),
    "a pod is never deleted": lambda m: m.setattr(PodWrites, "_delete", never),
    "a lost creation is not repeated": lambda m: m.setattr(writes, "is_temporary", lambda _: False),
    "what is left of a former task is kept": lambda m: m.setattr(TaskPods, "_forget", never),
    "a pod is that of any task with its id": lambda m: m.setattr(
        TaskPods, "_is_past", lambda *_: False
    ),
    "a pod stands for more than its tasks hold": lambda m: m.setattr(totals, "TaskRow", doubled),
    "an update is sent once": lambda m: m.setattr(TaskUpdates, "add", never),
    "acknowledgements are ignored": lambda m: m.setitem(
        HANDLERS, "StatusUpdateAcknowledgementMessage", never
    ),
}


def offered_while_spared(kept: Callable[..., None]) -> Callable[..., None]:
    def settle(self: Any, agent: Any, slot: int, rows: Any, *, is_offered: bool) -> None:
        kept(self, agent, slot, rows, is_offered=True)

    return settle


def doubled(row: int, queue: str, held: dict[str, int]) -> TaskRow:
    """A pod of tasks, as if they held twice as much."""
    return TaskRow(row, queue, {name: 2 * amount for name, amount in held.items()})


def renaming(kept: Callable[..., Iterator[Any]]) -> Callable[..., Iterator[Any]]:
    """Creations whose pods have another name when they are repeated."""

    def create(self: Any, now: float, is_wanted: Any) -> Iterator[Any]:
        yield from kept(self, now, is_wanted)
        waiting = self._creations.items
        for name, creation in waiting.items():
            body = creation.body.replace(name[1].encode(), f"{name[1]}-again".encode())
            waiting[name] = creation._replace(body=body)

    return create


def test_one_pool_breaks_no_law() -> None:
    assert [each for each in run_seeds(PoolPlay, range(2), 40) if each.breach] == []


def test_the_same_seed_makes_the_same_decisions() -> None:
    assert run_seed(PoolPlay, 5, 20) == run_seed(PoolPlay, 5, 20)


@pytest.mark.slow
@pytest.mark.parametrize("name", PLANTS)
def test_planted_bugs_are_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    PLANTS[name](monkeypatch)
    assert any(run_seed(PoolPlay, seed, 2 * STEPS).breach for seed in range(12))


def idle_world() -> tuple[PoolWorld, PoolLaws]:
    """A settled world of two nodes with 8 CPUs, without frameworks and limits, and its laws."""
    world = PoolWorld(1)
    world.disconnect()
    for name in QUEUES[:3]:
        world.inner.patch(QUEUE, [Patch("", name, {"spec": {"limit": None, "guarantee": None}})])
    world.settle()
    return world, PoolLaws(world)


def add_pod(world: PoolWorld, name: str, cpu: str, priority: int = 0) -> None:
    labels = {QUEUE_LABEL: "b"}
    pod = make_pod(name, cpu=cpu, labels=labels, scheduler=SCHEDULER, priority=priority)
    assert world.inner.create(POD, [pod])[0].outcome is WriteOutcome.OK


def limit(world: PoolWorld, cpu: str) -> None:
    world.inner.patch(QUEUE, [Patch("", "b", {"spec": {"limit": {"cpu": cpu}}})])


def test_what_a_former_process_granted_is_not_granted_again() -> None:
    world, laws = idle_world()
    add_pod(world, "p1", "500m")
    world.settle()
    assert list(laws.breaches()) == []
    limit(world, "100m")
    world.crash()
    assert list(laws.breaches()) == []
    world.settle()
    assert list(laws.breaches()) == []


def test_a_claim_is_made_when_its_victims_are_chosen() -> None:
    world, laws = idle_world()
    for name in ("p1", "p2"):
        add_pod(world, name, "7")
    world.settle()
    add_pod(world, "p3", "4", priority=100)
    world.plane_step()
    assert list(laws.breaches()) == []
    limit(world, "100m")
    world.settle()
    assert list(laws.breaches()) == []


def test_a_pod_behind_one_that_fits_nowhere_may_wait() -> None:
    world, laws = idle_world()
    add_pod(world, "p1", "100")
    add_pod(world, "p2", "500m")
    world.settle()
    assert list(laws.healed()) == []


def contested_reservation() -> PoolBench:
    """A node whose reservation is offered to two frameworks, but for the part of an ended task."""
    bench = PoolBench(node("n1"))
    framework = bench.subscribe(**refined("a"))
    bench.settle()
    reserve(bench, framework, 3)
    bench.call(framework, "REVIVE")
    bench.settle()
    mine = {"type": "DYNAMIC", "role": "a", "principal": "p"}
    bench.start(framework, "t", resources=[scalar("cpus", 1) | {"reservations": [mine]}])
    bench.set_phase(bench.pods()[0]["metadata"]["name"], "Succeeded")
    rival = bench.subscribe(**refined("a"))
    bench.wait(10)
    bench.call(rival, "DECLINE", offer_ids=[bench.offer()["id"]], filters={"refuse_seconds": 0})
    bench.wait(2)
    return bench


def test_a_reservation_that_two_frameworks_are_offered_is_held_once() -> None:
    master = contested_reservation().master.state
    assert [offer.contested for offer in master.offers] == [True, True]
    held = list(held_of(master, [], {"t"}))
    assert sum(each.amounts.get("cpu", 0) for each in held) == 4000
