"""Laws over pods and tasks in one pool, from the objects in the store and what the master sent."""

import json
from collections.abc import Iterator
from typing import Final

from stretto.api.wire.kinds import POD, QUEUE
from stretto.api.wire.quantity import amounts
from stretto.offers.nodes.agents import node_of
from stretto.offers.nodes.pods import TASKS
from stretto.offers.nodes.queues import ANY_ROLE
from stretto.state.queries.invariants import check_all
from stretto.state.rows.lifecycle import PodState
from stretto.stores.render import render
from stretto.stores.store import EventType
from stretto_lab.chaos.pool.frameworks import ENDED, Body
from stretto_lab.chaos.pool.world import PoolWorld

Amounts = dict[str, int]
"""Exact amounts by resource."""
LIVE: Final = ("Pending", "Running")
"""Phases in which a pod holds its requests."""
_CLAIMED: Final = (PodState.NOMINATED, PodState.ASSUMED)
_UNITS: Final = {"cpus": ("cpu", 1, 1), "mem": ("memory", 1 << 20, 1000)}
"""Resource, and factor and divisor from thousandths of an offered scalar."""


class PoolLaws:
    """Checks of one pool after every step."""

    def __init__(self, world: PoolWorld) -> None:
        """Start with the present state."""
        self.checked = 0
        self._world = world
        self._excess: dict[tuple[str, str, int], int] = {}
        self._consumed: dict[str, Amounts] = {}
        self._watch = world.inner.watch(POD, 0)
        self._pods: dict[str, set[str]] = {}
        self._offers: set[str] = set()

    def breaches(self) -> Iterator[str]:
        """Violated laws, each with what was found."""
        self.checked += 1
        world = self._world
        if world.pool.plane.pump.synced:
            yield from (each.what for each in check_all(world.pool.plane.cluster))
            yield from world.pool.plane.dispatcher.audit()
        pods = [each for each in world.pods() if _holds(each)]
        yield from self._starts()
        held = list(self._held(pods))
        yield from self._nodes(pods, held)
        yield from self._queues(pods, held)
        yield from self._spared()

    def _held(self, pods: list[Body]) -> Iterator[tuple[str, str, Amounts]]:
        """Node, role and amounts of each offer, and of each task that never had a pod."""
        master = self._world.master.state
        seen: set[tuple[str, tuple[tuple[str, int], ...]]] = set()
        names = {agent.id: node_of(agent.pid) or "" for agent in master.agents}
        for offer in master.offers:
            scalars = offer.resources.scalars()
            contest = (offer.agent_id, tuple(scalars.items()))
            if offer.contested and contest in seen:
                continue
            seen.add(contest)
            yield names.get(offer.agent_id, ""), offer.role, _exact(scalars)
        present = {key for pod in pods for key in _tasks_of(pod)}
        for agent in master.agents:
            for tasks in agent.tasks.values():
                for task in tasks.values():
                    if task.is_active and task.id not in present and task.id not in self._pods:
                        yield names[agent.id], task.role, _exact(task.resources.scalars())

    def _nodes(self, pods: list[Body], held: list[tuple[str, str, Amounts]]) -> Iterator[str]:
        """Law 1: no claim takes more of a node than it has, as far as the ledger has read it."""
        used: dict[str, Amounts] = {}
        for pod in pods:
            _add(used.setdefault(pod["spec"]["nodeName"], {}), _requests(pod))
        for name, _, more in held:
            _add(used.setdefault(name, {}), more)
        cluster = self._world.pool.plane.cluster
        for name, slot in cluster.nodes.by_name.items():
            for column, resource in enumerate(("cpu", "memory")):
                key = (cluster.nodes.uids[slot], resource, int(cluster.ledger.alloc[slot, column]))
                excess = used.get(name, {}).get(resource, 0) - key[2]
                before = self._excess.get(key)
                if excess > 0 and before is not None and excess > max(before, 0):
                    yield f"law 1: {name} has {key[2]} {resource}, {excess} too much is held"
                self._excess = {k: v for k, v in self._excess.items() if k[:2] != key[:2]}
                self._excess[key] = excess

    def _queues(self, pods: list[Body], held: list[tuple[str, str, Amounts]]) -> Iterator[str]:
        """Law 5: no grant takes a queue above its limit, as far as the scheduler has read it.

        A pod counts from its claim on, also while it waits for the end of its victims. A process
        that has just started has read nothing: what its predecessor granted is not granted again.
        """
        if not self._world.pool.plane.pump.synced:
            return
        cluster = self._world.pool.plane.cluster
        queues = cluster.queues
        pods = [each for each in pods if each["spec"]["nodeName"] in cluster.nodes.by_name]
        pods += [each for each in self._world.pods() if self._is_claimed(each)]
        used: dict[str, Amounts] = {}
        charged = [
            *((each["metadata"]["labels"]["stretto.dev/queue"], _requests(each)) for each in pods),
            *((_queue(role), more) for _, role, more in held),
        ]
        for name, more in charged:
            path = [name]
            while path[-1] in queues and queues[path[-1]].spec.parent:
                path.append(queues[path[-1]].spec.parent)
            for each in path:
                _add(used.setdefault(each, {}), more)
        for name, queue in queues.items():
            for resource, most in amounts(queue.spec.limit, name).items():
                consumed = used.get(name, {}).get(resource, 0)
                before = self._consumed.get(name, {}).get(resource, 0)
                if consumed > max(most, before):
                    yield f"law 5: queue {name} holds {consumed} {resource}, its limit is {most}"
        self._consumed = used

    def _is_claimed(self, pod: Body) -> bool:
        """Whether a pod without a node has a claim on one."""
        pods = self._world.pool.plane.cluster.pods
        row = pods.row(pod["metadata"]["uid"])
        return not pod["spec"].get("nodeName") and row is not None and pods.state[row] in _CLAIMED

    def _starts(self) -> Iterator[str]:
        """Law 3: each task is started at most once."""
        for event in self._watch.poll():
            if event.type is EventType.ADDED:
                for task in _tasks_of(json.loads(render(event.record))):
                    self._pods.setdefault(task, set()).add(event.record.uid)
                    if len(self._pods[task]) > 1:
                        yield f"law 3: task {task} has had {len(self._pods[task])} pods"

    def _spared(self) -> Iterator[str]:
        """Law 8: what was taken from frameworks for a pod is not offered in turn."""
        master = self._world.master.state
        present = {offer.id: offer.agent_id for offer in master.offers}
        for offer_id, agent_id in present.items():
            agent = master.agents.get(agent_id)
            name = node_of(agent.pid) if agent is not None else None
            if offer_id not in self._offers and name in self._world.pool.nodes.spared:
                yield f"law 8: node {name} is offered while it is spared for a pod"
        self._offers = set(present)

    def healed(self) -> Iterator[str]:
        """Law 3 after the end of all faults: no task is lost or left behind."""
        world = self._world
        alive = {task for pod in world.pods() if _holds(pod) for task in _tasks_of(pod)}
        for client in world.frameworks:
            for task, state in client.tasks.items():
                if state not in ENDED and task not in alive:
                    yield f"law 3: task {task} is {state} and has no pod"
        yield from (
            f"law 3: pod {each['metadata']['name']} waits, and nothing is in its way"
            for each in self._heads()
            if self._fits(each)
        )

    def _heads(self) -> list[Body]:
        """The first waiting pod of each queue: queues are first come, first served."""
        waiting = [each for each in self._world.pods() if not each["spec"].get("nodeName")]
        waiting.sort(key=lambda each: int(each["metadata"]["name"][1:]))
        heads: dict[str, Body] = {}
        for pod in waiting:
            heads.setdefault(pod["metadata"]["labels"]["stretto.dev/queue"], pod)
        return list(heads.values())

    def _fits(self, pod: Body) -> bool:
        """Whether a pod fits on a node and within every limit."""
        world = self._world
        queues = [json.loads(render(each)) for each in world.inner.list(QUEUE).records]
        if any(each["spec"].get("limit") for each in queues):
            return False
        used: dict[str, Amounts] = {}
        for each in world.pods():
            if _holds(each):
                _add(used.setdefault(each["spec"]["nodeName"], {}), _requests(each))
        for node in world.nodes():
            whole = amounts(node["status"]["allocatable"], "node")
            mine = used.get(node["metadata"]["name"], {})
            if all(mine.get(n, 0) + more <= whole.get(n, 0) for n, more in _requests(pod).items()):
                return True
        return False


def _holds(pod: Body) -> bool:
    phase = pod.get("status", {}).get("phase", "Pending")
    return bool(pod["spec"].get("nodeName")) and phase in LIVE


def _tasks_of(pod: Body) -> list[str]:
    listed = pod["metadata"].get("annotations", {}).get(TASKS)
    return [each["task_id"]["value"] for each in json.loads(listed)] if listed else []


def _requests(pod: Body) -> Amounts:
    found: Amounts = {"pods": 1}
    for container in pod["spec"]["containers"]:
        _add(found, amounts(container["resources"].get("requests", {}), "pod"))
    return found


def _exact(scalars: Amounts) -> Amounts:
    found: Amounts = {}
    for name, milli in scalars.items():
        if name in _UNITS:
            resource, factor, divisor = _UNITS[name]
            found[resource] = milli * factor // divisor
    return found


def _add(total: Amounts, more: Amounts) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, 0) + amount


def _queue(role: str) -> str:
    return "default" if role == ANY_ROLE else role.rpartition("/")[2]
