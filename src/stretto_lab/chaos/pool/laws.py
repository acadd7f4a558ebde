"""Laws over pods and tasks in one pool, from the objects in the store and sent messages."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from stretto.api.wire.kinds import POD, QUEUE
from stretto.base.amounts import add_amounts, positive_rest
from stretto.offers.nodes.agents import node_of
from stretto.state.queries.invariants import check_all
from stretto.state.rows.lifecycle import PodState
from stretto.stores.render import render
from stretto.stores.store import EventType
from stretto_lab.chaos.pool.capacity import (
    COLUMNS,
    Amounts,
    capacity_of,
    fits,
    in_thousandths,
)
from stretto_lab.chaos.pool.frameworks import ENDED
from stretto_lab.chaos.pool.holdings import Held, held_of, queue_of
from stretto_lab.chaos.pool.objects import PoolPod, pod_of
from stretto_lab.chaos.pool.world import PoolWorld

RUN: Final = frozenset({"TASK_STARTING", "TASK_RUNNING", "TASK_FINISHED"})
"""States that only the pod of a task reports."""
_CLAIMED: Final = (PodState.NOMINATED, PodState.ASSUMED)


class PoolLaws:
    """Checks of one pool after every step."""

    def __init__(self, world: PoolWorld) -> None:
        """Initialize with the present state."""
        self.checked = 0
        self._world = world
        self._excess: dict[tuple[str, str], tuple[int, int]] = {}
        self._consumed: dict[str, Amounts] = {}
        self._watch = world.inner.watch(POD, 0)
        self._pods: dict[str, set[str]] = {}
        self._former: dict[str, tuple[int, int]] = {}
        self._started: set[tuple[str, int]] = set()
        self._offers: set[str] = set()

    def breaches(self) -> Iterator[str]:
        """Violated laws, each with details."""
        self.checked += 1
        world = self._world
        if world.pool.plane.pump.synced:
            yield from (each.what for each in check_all(world.pool.plane.cluster))
            yield from world.pool.plane.dispatcher.audit()
        present = world.pods()
        pods = [each for each in present if each.holds]
        yield from self._starts()
        yield from self._reports()
        held = list(held_of(world.master.state, pods, self._started))
        yield from self._nodes(pods, held)
        yield from self._queues(present, held)
        yield from self._spared()
        if world.is_restless:
            yield "law 8: cycles of the allocator make one another due without end"

    def _nodes(self, pods: list[PoolPod], held: list[Held]) -> Iterator[str]:
        """Law 1: no claim exceeds the capacity of a node, as far as the ledger has read it."""
        used: dict[str, Amounts] = {}
        for pod in pods:
            add_amounts(used.setdefault(pod.node, {}), pod.requests.items())
        for each in held:
            add_amounts(used.setdefault(each.node, {}), each.amounts.items())
        cluster = self._world.pool.plane.cluster
        before, self._excess = self._excess, {}
        for name, slot in cluster.nodes.by_name.items():
            has, taken = capacity_of(cluster, slot), used.get(name, {})
            for resource in {*has, *taken} - {"pods"}:
                most = has.get(resource, int(resource.startswith("port ")))
                key, excess = (cluster.nodes.uids[slot], resource), taken.get(resource, 0) - most
                self._excess[key] = most, excess
                known = before.get(key)
                was_known = known is not None and known[0] == most
                if excess > 0 and known is not None and was_known and excess > max(known[1], 0):
                    yield f"law 1: {name} has {most} {resource}, {excess} too much is held"

    def _queues(self, pods: list[PoolPod], held: list[Held]) -> Iterator[str]:
        """Law 5: no grant exceeds the limit of a queue, as far as the scheduler has read the queue.

        A pod counts from its claim on, also while its victims end. A process that has just started
        has read nothing, and grants of its predecessor are not granted again. A reservation for a
        role counts for that role, even if a role below it uses the reservation.
        """
        if not self._world.pool.plane.pump.synced:
            return
        cluster = self._world.pool.plane.cluster
        queues = cluster.queues
        used: dict[str, Amounts] = {}
        charged: list[tuple[str, Mapping[str, int]]] = [
            part
            for pod in pods
            if (pod.holds and pod.node in cluster.nodes.by_name) or self._is_claimed(pod)
            for part in _charged_parts(pod)
        ]
        charged += [(queue_of(each.role), each.amounts) for each in held]
        for name, more in charged:
            path = [name]
            while path[-1] in queues and queues[path[-1]].spec.parent:
                path.append(queues[path[-1]].spec.parent)
            for queue_name in path:
                add_amounts(used.setdefault(queue_name, {}), more.items())
        for name, queue in queues.items():
            for resource, most in in_thousandths(queue.spec.limit, name).items():
                consumed = used.get(name, {}).get(resource, 0)
                before = self._consumed.get(name, {}).get(resource, 0)
                if consumed > max(most, before):
                    yield f"law 5: queue {name} holds {consumed} {resource}, its limit is {most}"
        self._consumed = used

    def _is_claimed(self, pod: PoolPod) -> bool:
        """True if a pod without a node has a claim on one."""
        pods = self._world.pool.plane.cluster.pods
        row = None if pod.node else pods.row(pod.uid)
        return row is not None and pods.state[row] in _CLAIMED

    def _starts(self) -> Iterator[str]:
        """Law 3: each task is started at most once per launch."""
        launches = self._launches()
        for task, number in launches.items():
            if self._former.get(task, (0, 0))[0] != number:
                self._former[task] = number, len(self._pods.get(task, ()))
        for event in self._watch.poll():
            if event.type is EventType.ADDED:
                for task, launch in pod_of(event.record).tasks:
                    self._started.add((task, launch))
                    self._pods.setdefault(task, set()).add(event.record.uid)
                    if len(self._pods[task]) > launches.get(task, 1):
                        yield f"law 3: task {task} has had {len(self._pods[task])} pods"

    def _launches(self) -> dict[str, int]:
        """Number of launches by task."""
        return {k: n for each in self._world.frameworks for k, n in each.launches.items()}

    def _reports(self) -> Iterator[str]:
        """Law 3: a task that runs or has finished was started by the pod of its last launch."""
        for client in self._world.frameworks:
            for task, state in client.tasks.items():
                had = self._former.get(task, (0, 0))[1]
                if state in RUN and len(self._pods.get(task, ())) == had:
                    yield f"law 3: task {task} is {state}, and its launch has had no pod"

    def _spared(self) -> Iterator[str]:
        """Law 8: capacity of rescinded offers is not offered while it is reserved for a pod.

        Reserved resources of an offer are not checked, because no pod can use them.
        """
        master = self._world.master.state
        present = {offer.id: offer for offer in master.offers}
        for offer_id in present.keys() - self._offers:
            offer = present[offer_id]
            agent = master.agents.get(offer.agent_id)
            name = node_of(agent.pid) if agent is not None else None
            is_free = any(not each.kind.reservations for each in offer.resources)
            if is_free and name in self._world.pool.nodes.spared:
                yield f"law 8: node {name} is offered while it is spared for a pod"
        self._offers = set(present)

    def healed(self) -> Iterator[str]:
        """Law 3 after the end of all faults: no task is lost or left over."""
        world = self._world
        alive = Counter(task for pod in world.pods() if pod.holds for task, _ in pod.tasks)
        yield from (f"law 3: task {task} has {n} pods" for task, n in alive.items() if n > 1)
        for client in world.frameworks:
            for task, state in client.tasks.items():
                if state not in ENDED and task not in alive:
                    yield f"law 3: task {task} is {state} and has no pod"
                if state not in ENDED and task in client.killed:
                    yield f"law 3: task {task} was killed and is {state}"
        yield from self._charged()
        yield from (
            f"law 3: pod {each.name} waits, and nothing is in its way"
            for each in self._heads()
            if self._fits(each)
        )

    def _holdings(self) -> list[Held]:
        """Amounts that frameworks hold at present."""
        world = self._world
        held = [each for each in world.pods() if each.holds]
        return list(held_of(world.master.state, held, self._started))

    def _charged(self) -> Iterator[str]:
        """Law 1: queues are charged for exactly the amounts that frameworks hold."""
        plane = self._world.pool.plane
        cluster, usage = plane.cluster, plane.dispatcher.reclaimer.usage
        if usage is None:
            return
        columns = {cluster.ledger.resources.column(name): name for name in COLUMNS}
        held: dict[str, Amounts] = {}
        for each in self._holdings():
            add_amounts(held.setdefault(queue_of(each.role), {}), each.amounts.items())
        for queue in {*held, *usage.offered}:
            charged = dict(usage.offered.get(queue, ()))
            for column, name in columns.items():
                most = held.get(queue, {}).get(name, 0)
                if charged.get(column, 0) != most:
                    got = charged.get(column, 0)
                    yield f"law 1: queue {queue} is charged {got} {name}, {most} is held"

    def _heads(self) -> list[PoolPod]:
        """The first waiting pod of each queue, because queues are first come, first served."""
        waiting = [each for each in self._world.pods() if not each.node]
        heads: dict[str, PoolPod] = {}
        for pod in sorted(waiting, key=lambda each: int(each.name[1:])):
            heads.setdefault(pod.queue, pod)
        return list(heads.values())

    def _fits(self, pod: PoolPod) -> bool:
        """True if a pod fits on a node and within every limit."""
        world = self._world
        queues = [json.loads(render(each)) for each in world.inner.list(QUEUE).records]
        if any(each["spec"].get("limit") for each in queues):
            return False
        held = [each for each in world.pods() if each.holds]
        reserved = self._holdings()
        for node in world.nodes():
            name = node["metadata"]["name"]
            used = [each.requests for each in held if each.node == name]
            kept = [each.amounts for each in reserved if each.node == name and each.amounts]
            used += [*kept, {"pods": 1}] if kept else []  # a slot for the first task of a claim
            if fits(pod.requests, used, node["status"]["allocatable"]):
                return True
        return False


def _charged_parts(pod: PoolPod) -> Iterator[tuple[str, Amounts]]:
    """Amounts of its queue and of the reservations of other roles that a pod uses."""
    rest = dict(pod.requests)
    for role, used in pod.reserved.items():
        yield queue_of(role), used
        rest = positive_rest(rest, used)
    yield pod.queue, rest
