"""The world: everybody but us. It makes nodes and pods, changes them, and binds some itself.

What it does depends on the seed and on what it did before, never on what the plane did (only
whether a pod has a node yet is asked of the store). It writes to the store behind the faults: other
people's networks are their own affair.
"""

from collections.abc import Callable
from typing import Final

import msgspec

from stretto.api.wire.kinds import CUSTOM_NODE_RESOURCE, NODE, POD, POD_GROUP
from stretto.base.rng import Rng
from stretto.stores.store import (
    Bind,
    Deletion,
    EmbeddedStore,
    Patch,
    Record,
    Replies,
    WriteOutcome,
)
from stretto_lab.chaos.draws.faults import FaultDraw
from stretto_lab.chaos.draws.pods import (
    ALL_TOGETHER,
    NodeShapeDraw,
    PodRequest,
    PodRole,
    group_json,
    node_json,
    pod_json,
    report_json,
)
from stretto_lab.chaos.draws.preemption import CHANGES as PUSHING
from stretto_lab.chaos.draws.preemption import PreemptionDraw
from stretto_lab.chaos.draws.queues import QueueDraw
from stretto_lab.chaos.setup import ChaosSetup

MOST_PODS: Final = 48
"""Pods beyond which one goes for each that comes: small worlds meet more often."""
ZONES: Final = "abc"


class WorldPod(msgspec.Struct, frozen=True):
    """A pod that the world has made."""

    #: Its name.
    name: str
    #: What it asks for.
    ask: PodRequest
    #: What it is part of.
    role: PodRole


class WorldGroup(msgspec.Struct):
    """A PodGroup that the world has made, or will."""

    #: Pods that must fit together.
    min_member: int
    #: What its pods ask for.
    ask: PodRequest
    #: Whether it exists.
    exists: bool = False
    #: Whether anything was changed after its pods came: then the laws of gangs say less.
    disturbed: bool = False
    #: Pods made for it so far.
    made: int = 0


class ChaosWorld:
    """Nodes, pods and PodGroups as their makers know them."""

    def __init__(self, setup: ChaosSetup, store: EmbeddedStore, fate: FaultDraw) -> None:
        """An empty world; ``begin`` fills it."""
        #: The store without faults.
        self.store = store
        #: Shapes of the nodes that exist.
        self.nodes: dict[str, NodeShapeDraw] = {}
        #: Uids of the nodes that exist.
        self.node_uids: dict[str, str] = {}
        #: Versions of their last change.
        self.node_versions: dict[str, int] = {}
        #: Every pod ever made, by uid.
        self.members: dict[str, WorldPod] = {}
        #: Pods that exist: name to uid.
        self.pods: dict[str, str] = {}
        #: PodGroups by name.
        self.groups: dict[str, WorldGroup] = {}
        #: Uids of pods whose place somebody else chose.
        self.taken: set[str] = set()
        #: Preemption: rules, budgets, and pods that do not go at once.
        self.pushing = PreemptionDraw(setup.seed)
        #: Its queues.
        self.tenants = QueueDraw(setup.seed)
        self._setup = setup
        self._fault_draw = fate
        self._rng = Rng(setup.seed)
        self._serial = 0
        self._gone: dict[str, NodeShapeDraw] = {}
        self._kinds = [kind for kind, weight in setup.weights.items() if weight > 0]
        self._sums: list[float] = []
        for kind in self._kinds:
            self._sums.append(setup.weights[kind] + (self._sums[-1] if self._sums else 0.0))
        self._change: dict[str, Callable[[], object]] = {
            name: self._change_of(name) for name in setup.weights
        }

    def begin(self) -> None:
        """The first queues, nodes and pods."""
        self.tenants.begin(self.store)
        for shape in self._setup.fleet:
            self._make_node(self._name("n"), shape)
        for number in range(self._setup.head_start):
            self._rng = Rng(self._setup.seed).child("begin", number)
            makers = (self.add_pod, self.add_pod, self.add_service, self.add_gang)
            self._rng.choice(makers)()

    def turn(self, step: int) -> float:
        """What happens at a step; returns how many seconds pass before it."""
        rng = Rng(self._setup.seed).child("turn", step)
        seconds = rng.choice(self._setup.ticks)
        pace = self._setup.pace
        number = int(pace) + (rng.random() < pace - int(pace)) if self._kinds else 0
        if rng.random() < 0.02:
            number += 5
        for nth in range(number):
            if self._fault_draw.world():
                self._rng = rng.child(nth)
                self._change[self._pick()]()
        return seconds

    def _change_of(self, name: str) -> Callable[[], object]:
        """What makes a change of that name: this world, its queues, or what preemption draws."""
        if name in PUSHING:
            return self.pushing.change(name, lambda: self.store)
        if name.endswith("_queue"):
            verb = getattr(self.tenants, name.removesuffix("_queue"))
            return lambda: verb(self.store, self._rng)
        return getattr(self, name)  # type: ignore[no-any-return]

    def _pick(self) -> str:
        drawn = self._rng.random() * self._sums[-1]
        return next(k for k, top in zip(self._kinds, self._sums, strict=True) if drawn <= top)

    # ------------------------------------------------------------ pods come

    def add_pod(self) -> None:
        """A pod by itself: mostly ours, now and then born on a node or somebody else's."""
        rng = self._rng
        node = rng.choice(list(self.nodes)) if self.nodes and rng.random() < 0.04 else ""
        role = PodRole(
            priority=rng.choice((0, 0, 0, 10)),
            gated=rng.random() < 0.08,
            foreign=rng.random() < 0.12,
            node=node,
        )
        self._make_pod(self._name("p"), rng.choice(self._setup.asks), role)

    def add_service(self) -> None:
        """Pods of one owner, mostly useful one by one."""
        rng = self._rng
        together = rng.choice(("", "", "", "2", ALL_TOGETHER))
        role = PodRole(owner=self._name("s"), together=together, priority=rng.choice((0, 5)))
        ask = rng.choice(self._setup.asks)
        for _ in range(rng.randint(1, 5)):
            self._make_pod(self._name("p"), ask, role)

    def add_gang(self) -> None:
        """A PodGroup and its pods; the group may come late, or contradict itself."""
        rng = self._rng
        name, least = self._name("g"), rng.randint(2, 4)
        if rng.random() < 0.04:
            least = 0
        group = self.groups[name] = WorldGroup(least, rng.choice(self._setup.asks))
        if rng.random() < 0.7:
            self._make_group(name)
        for _ in range(least + rng.choice((-1, 0, 0, 0, 1, 2))):
            self._grow(name, group)

    def late_group(self) -> None:
        """A PodGroup comes after its pods."""
        late = [name for name, group in self.groups.items() if not group.exists]
        if late:
            self._make_group(self._rng.choice(late))

    def gang_grows(self) -> None:
        """One more pod of a gang."""
        if self.groups:
            name = self._rng.choice(list(self.groups))
            self._grow(name, self.groups[name])

    # ------------------------------------------------------------ pods go and change

    def delete_pod(self) -> None:
        """A pod is deleted."""
        if self.pods:
            self._delete(self._rng.choice(list(self.pods)))

    def finish_pod(self) -> None:
        """A pod ends by itself, as only pods on nodes do."""
        name = self._some_pod()
        record = self.store.get(POD, "default", name) if name else None
        if record is not None and record.node:
            status = {"status": {"phase": self._rng.choice(("Succeeded", "Failed"))}}
            self._disturb(name)
            self.store.patch_status(POD, [Patch("default", name, status)])

    def recreate_pod(self) -> None:
        """A pod is deleted and another of its name made at once."""
        name = self._some_pod()
        if not name or name in self.pushing.held:  # its name is not free before it has gone
            return
        former = self.members[self.pods[name]]
        self._delete(name)
        other = self._rng.random() < 0.3
        ask = self._rng.choice(self._setup.asks) if other and not former.role.group else former.ask
        self._make_pod(name, ask, msgspec.structs.replace(former.role, node=""))

    def ungate(self) -> None:
        """The gates of a pod are opened."""
        gated = [n for n, uid in self.pods.items() if self.members[uid].role.gated]
        if not gated:
            return
        name = self._rng.choice(gated)
        uid = self.pods[name]
        self.store.patch(POD, [Patch("default", name, {"spec": {"schedulingGates": None}})])
        member = self.members[uid]
        role = msgspec.structs.replace(member.role, gated=False)
        self.members[uid] = msgspec.structs.replace(member, role=role)

    def foreign_bind(self) -> None:
        """Another scheduler places one of its pods, without asking whether there is room."""
        waiting = [n for n, u in self.pods.items() if self.members[u].role.foreign]
        self._bind_by_others([name for name in waiting if self.pods[name] not in self.taken])

    def steal(self) -> None:
        """Somebody binds a pod that is ours."""
        self._bind_by_others([n for n, u in self.pods.items() if not self.members[u].role.foreign])

    def collect_garbage(self) -> None:
        """Pods on nodes that are gone are deleted, as Kubernetes does after a while."""
        for name in list(self.pods):
            record = self.store.get(POD, "default", name)
            if record is not None and record.node and record.node not in self.nodes:
                self._delete(name)

    # ------------------------------------------------------------ nodes

    def add_node(self) -> None:
        """A node comes, of a shape that is there."""
        if len(self.nodes) < 12:
            self._make_node(self._name("n"), self._rng.choice(self._setup.fleet))

    def remove_node(self) -> None:
        """A node goes; its pods stay behind for the garbage collector."""
        if len(self.nodes) < 2:
            return
        name = self._some_node()
        self._gone[name] = self.nodes.pop(name)
        del self.node_uids[name]
        self.store.delete(NODE, [Deletion("", name)])
        if self._rng.random() < 0.3:
            self.readd_node()

    def readd_node(self) -> None:
        """A node of a name that was there comes back: another node, with more or less room."""
        if self._gone:
            name = self._rng.choice(list(self._gone))
            shape = self._gone.pop(name)
            cpu, cordoned = self._rng.choice((500, 1000, shape.cpu)), self._rng.random() < 0.1
            zone = self._rng.choice((shape.zone, ZONES[0]))
            shape = msgspec.structs.replace(shape, cpu=cpu, cordoned=cordoned, zone=zone)
            self._make_node(name, shape)

    def cordon(self) -> None:
        """A node takes no more pods, or takes them again."""
        if name := self._some_node():
            now = not self.nodes[name].cordoned
            self._reshape(name, cordoned=now)
            patch = Patch("", name, {"spec": {"unschedulable": now or None}})
            self.node_versions[name] = self._made(self.store.patch(NODE, [patch])).version

    def relabel(self) -> None:
        """A node changes its pool."""
        if name := self._some_node():
            pool = self._rng.choice(("blue", "green"))
            self._reshape(name, pool=pool)
            self._label(name, "pool", pool)

    def rezone(self) -> None:
        """A node's zone was wrong and is put right."""
        if name := self._some_node():
            zone = self._rng.choice(ZONES)
            self._reshape(name, zone=zone)
            self._label(name, "topology.kubernetes.io/zone", zone)

    def resize_up(self) -> None:
        """A node gets more to give."""
        if name := self._some_node():
            shape = self.nodes[name]
            self._reshape(name, cpu=shape.cpu + 500, memory=shape.memory + 512, pods=shape.pods + 1)
            amounts = {"cpu": f"{shape.cpu + 500}m", "memory": f"{shape.memory + 512}Mi"}
            amounts["pods"] = str(shape.pods + 1)
            patch = Patch("", name, {"status": {"allocatable": amounts}})
            self.node_versions[name] = self._made(self.store.patch_status(NODE, [patch])).version

    # ------------------------------------------------------------ PodGroups

    def change_group(self) -> None:
        """A PodGroup wants more or fewer."""
        if name := self._some_group():
            group = self.groups[name]
            group.min_member, group.disturbed = self._rng.randint(1, 5), True
            patch = Patch("default", name, {"spec": {"minMember": group.min_member}})
            self.store.patch(POD_GROUP, [patch])

    def delete_group(self) -> None:
        """A PodGroup goes and leaves its pods."""
        if name := self._some_group():
            self.groups[name].exists, self.groups[name].disturbed = False, True
            self.store.delete(POD_GROUP, [Deletion("default", name)])

    # ------------------------------------------------------------ how it is done

    def _name(self, prefix: str) -> str:
        self._serial += 1
        return f"{prefix}{self._serial}"

    def _some_pod(self) -> str:
        return self._rng.choice(list(self.pods)) if self.pods else ""

    def _some_node(self) -> str:
        return self._rng.choice(list(self.nodes)) if self.nodes else ""

    def _some_group(self) -> str:
        there = [name for name, group in self.groups.items() if group.exists]
        return self._rng.choice(there) if there else ""

    def _make_node(self, name: str, shape: NodeShapeDraw) -> None:
        made = self._made(self.store.create(NODE, [node_json(name, shape)]))
        self.nodes[name] = shape
        self.node_uids[name] = made.uid
        self.node_versions[name] = made.version
        if shape.reclaimed:  # the report of a former node of that name is too old to count
            self.store.delete(CUSTOM_NODE_RESOURCE, [Deletion("", name)])
            self._made(self.store.create(CUSTOM_NODE_RESOURCE, [report_json(name, shape)]))

    def _make_pod(self, name: str, ask: PodRequest, role: PodRole) -> None:
        if len(self.pods) >= MOST_PODS:
            self._delete(self._some_pod())
        if not role.queue and not role.foreign:
            queue = self.tenants.queue_of(role.group or role.owner or name)
            role = msgspec.structs.replace(role, queue=queue)
        role = self.pushing.add_extras(role)
        uid = self._made(self.store.create(POD, [pod_json(name, ask, role)])).uid
        self.pods[name] = uid
        self.members[uid] = WorldPod(name, ask, role)
        self.pushing.made(name, uid, role)
        if role.node:
            self.taken.add(uid)
            self._disturb(name)

    def _make_group(self, name: str) -> None:
        group = self.groups[name]
        group.exists = True
        self.store.create(POD_GROUP, [group_json(name, group.min_member)])

    def _grow(self, name: str, group: WorldGroup) -> None:
        group.made += 1
        self._make_pod(f"{name}-{group.made}", group.ask, PodRole(group=name))

    def _delete(self, name: str) -> None:
        self._disturb(name)
        del self.pods[name]
        self.store.delete(POD, [Deletion("default", name)])

    def _disturb(self, name: str) -> None:
        """Somebody else has laid hands on a gang."""
        group = self.members[self.pods[name]].role.group
        if group:
            self.groups[group].disturbed = True

    def _bind_by_others(self, names: list[str]) -> None:
        if not names or not self.nodes:
            return
        name, node = self._rng.choice(names), self._some_node()
        record = self.store.get(POD, "default", name)
        if record is None or record.node or record.uid != self.pods[name]:
            return
        self.taken.add(record.uid)
        self._disturb(name)
        self.store.bind([Bind("default", name, record.uid, node)])

    def _reshape(self, name: str, **changes: object) -> None:
        self.nodes[name] = msgspec.structs.replace(self.nodes[name], **changes)

    def _label(self, name: str, key: str, value: str) -> None:
        patch = Patch("", name, {"metadata": {"labels": {key: value}}})
        self.node_versions[name] = self._made(self.store.patch(NODE, [patch])).version

    @staticmethod
    def _made(replies: Replies) -> Record:
        """What the store has made of one write, which it must take."""
        (reply,) = replies
        if reply.outcome is not WriteOutcome.OK or reply.record is None:
            raise AssertionError(f"the store refused what the world wrote: {reply.message}")
        return reply.record
