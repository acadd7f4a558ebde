"""The world: all clients except Stretto.

It creates and changes nodes and pods, and binds some pods itself. Its changes depend on the seed
and on its earlier changes, never on the plane; it only reads from the store if a pod has a node. In
some seeds controllers also recreate the pods that the plane evicts. It writes to the store behind
the faults.
"""

from collections.abc import Callable
from typing import Final

import msgspec

from stretto.api.wire.kinds import CUSTOM_NODE_RESOURCE, NODE, POD, POD_GROUP
from stretto.base.rng import Rng
from stretto.stores.store import Bind, Deletion, Patch, Record, Replies, Store, WriteOutcome
from stretto_lab.chaos.draws.faults import FaultDraw
from stretto_lab.chaos.draws.overcommit import CHANGES as OVERCOMMIT_CHANGES
from stretto_lab.chaos.draws.overcommit import OvercommitDraw
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
from stretto_lab.chaos.draws.preemption import CHANGES as PREEMPTION_CHANGES
from stretto_lab.chaos.draws.preemption import PreemptionDraw
from stretto_lab.chaos.draws.queues import QueueDraw
from stretto_lab.chaos.setup import START, ChaosSetup

MOST_PODS: Final = 48
"""Number of pods above which each new pod deletes another; small worlds cause more conflicts."""
ZONES: Final = "abc"


class WorldPod(msgspec.Struct, frozen=True):
    """A pod of the world."""

    #: Its name.
    name: str
    #: Its request.
    request: PodRequest
    #: Its owner, group and attributes.
    role: PodRole


class WorldGroup(msgspec.Struct):
    """A PodGroup of the world, perhaps not created yet."""

    #: Pods that must fit together.
    min_member: int
    #: Request of its pods.
    request: PodRequest
    #: True if it exists.
    exists: bool = False
    #: True if it changed after its pods were created, so that gang laws skip it.
    disturbed: bool = False
    #: Pods created for it.
    made: int = 0


class ChaosWorld:
    """Nodes, pods and PodGroups, as created."""

    def __init__(self, setup: ChaosSetup, store: Store, fault_draw: FaultDraw) -> None:
        """Create an empty world; ``begin`` fills it."""
        #: The store without faults.
        self.store = store
        #: Shapes of the existing nodes.
        self.nodes: dict[str, NodeShapeDraw] = {}
        #: Uids of the existing nodes.
        self.node_uids: dict[str, str] = {}
        #: Versions of their last change.
        self.node_versions: dict[str, int] = {}
        #: Every pod ever created, by uid.
        self.members: dict[str, WorldPod] = {}
        #: Existing pods: name to uid.
        self.pods: dict[str, str] = {}
        #: PodGroups by name.
        self.groups: dict[str, WorldGroup] = {}
        #: Name of the first pod of each line of recreated pods, by uid of every pod.
        self.origins: dict[str, str] = {}
        #: Uids of pods that other clients bound.
        self.foreign_bound: set[str] = set()
        #: Draws of preemption: rules, budgets, and pods with finalizers.
        self.preemption = PreemptionDraw(setup.seed)
        #: Draws of overcommit: pools, ratios, reports.
        self.overcommit = OvercommitDraw(setup.seed)
        #: Wall time by the world's own clock, in seconds since 1970.
        self.seconds = START
        #: Number of changes so far.
        self.changes = 0
        #: Draws of queues.
        self.queues = QueueDraw(setup.seed)
        self._setup = setup
        self._fault_draw = fault_draw
        self._rng = Rng(setup.seed)
        self._serial = 0
        self._deleted_nodes: dict[str, NodeShapeDraw] = {}
        self._kinds = [kind for kind, weight in setup.weights.items() if weight > 0]
        self._sums: list[float] = []
        for kind in self._kinds:
            self._sums.append(setup.weights[kind] + (self._sums[-1] if self._sums else 0.0))
        self._change: dict[str, Callable[[], object]] = {
            name: self._change_of(name) for name in setup.weights
        }

    def begin(self) -> None:
        """Create the first queues, nodes and pods."""
        self.queues.begin(self.store)
        for shape in self._setup.fleet:
            self._make_node(self._name("n"), shape)
        for number in range(self._setup.head_start):
            self._rng = Rng(self._setup.seed).child("begin", number)
            makers = (self.add_pod, self.add_pod, self.add_service, self.add_gang)
            self._rng.choice(makers)()

    def turn(self, step: int) -> float:
        """Apply the changes of a step; return the seconds that pass before it."""
        rng = Rng(self._setup.seed).child("turn", step)
        self.recreate_evicted()
        seconds = rng.choice(self._setup.ticks)
        self.seconds += seconds
        pace = self._setup.pace
        number = int(pace) + (rng.random() < pace - int(pace)) if self._kinds else 0
        if rng.random() < 0.02:
            number += 5
        for nth in range(number):
            if self._fault_draw.world():
                self._rng = rng.child(nth)
                self._change[self._pick()]()
                self.changes += 1
        return seconds

    def _change_of(self, name: str) -> Callable[[], object]:
        """The method for a change, here or in the draws of queues and preemption."""
        if name in PREEMPTION_CHANGES:
            return self.preemption.change(name, lambda: self.store)
        if name in OVERCOMMIT_CHANGES:
            return self.overcommit.change(name, self)
        if name.endswith("_queue"):
            verb = getattr(self.queues, name.removesuffix("_queue"))
            return lambda: verb(self.store, self._rng)
        return getattr(self, name)  # type: ignore[no-any-return]

    def _pick(self) -> str:
        drawn = self._rng.random() * self._sums[-1]
        return next(k for k, top in zip(self._kinds, self._sums, strict=True) if drawn <= top)

    def recreate_evicted(self) -> None:
        """Recreate the evicted pods that have a controller, if the seed has controllers.

        They have no finalizer, because no client would remove it after the faults.
        """
        for name, uid in list(self.pods.items()) if self.preemption.recreates else ():
            record = self.store.get(POD, "default", name)
            former = self.members[uid]
            made = former.role.owner or former.role.group
            if (record is not None and record.uid == uid) or not made or former.role.foreign:
                continue
            del self.pods[name]
            role = msgspec.structs.replace(former.role, node="", held=False)
            self._create_pod(self._name("r"), former.request, role, self.origins[uid])

    # ------------------------------------------------------------ pods are created

    def add_pod(self) -> None:
        """Create a single pod; some have a node already or another scheduler."""
        rng = self._rng
        node = rng.choice(list(self.nodes)) if self.nodes and rng.random() < 0.04 else ""
        role = PodRole(
            priority=rng.choice((0, 0, 0, 10)),
            gated=rng.random() < 0.08,
            foreign=rng.random() < 0.12,
            node=node,
        )
        self._make_pod(self._name("p"), rng.choice(self._setup.requests), role)

    def add_service(self) -> None:
        """Create the pods of one owner."""
        rng = self._rng
        together = rng.choice(("", "", "", "2", ALL_TOGETHER))
        role = PodRole(owner=self._name("s"), together=together, priority=rng.choice((0, 5)))
        request = rng.choice(self._setup.requests)
        for _ in range(rng.randint(1, 5)):
            self._make_pod(self._name("p"), request, role)

    def add_gang(self) -> None:
        """Create a gang; its PodGroup may follow later or be invalid."""
        rng = self._rng
        name, least = self._name("g"), rng.randint(2, 4)
        if rng.random() < 0.04:
            least = 0
        group = self.groups[name] = WorldGroup(least, rng.choice(self._setup.requests))
        if rng.random() < 0.7:
            self._make_group(name)
        for _ in range(least + rng.choice((-1, 0, 0, 0, 1, 2))):
            self._grow(name, group)

    def late_group(self) -> None:
        """Create a PodGroup after its pods."""
        late = [name for name, group in self.groups.items() if not group.exists]
        if late:
            self._make_group(self._rng.choice(late))

    def gang_grows(self) -> None:
        """Add a pod to a gang."""
        if self.groups:
            name = self._rng.choice(list(self.groups))
            self._grow(name, self.groups[name])

    # ------------------------------------------------------------ pods are deleted and changed

    def delete_pod(self) -> None:
        """Delete a pod."""
        if self.pods:
            self._delete(self._rng.choice(list(self.pods)))

    def finish_pod(self) -> None:
        """Finish a pod; only bound pods finish."""
        name = self._some_pod()
        record = self.store.get(POD, "default", name) if name else None
        if record is not None and record.node:
            status = {"status": {"phase": self._rng.choice(("Succeeded", "Failed"))}}
            self._disturb(name)
            self.store.patch_status(POD, [Patch("default", name, status)])

    def recreate_pod(self) -> None:
        """Delete a pod and create another of the same name."""
        name = self._some_pod()
        if not name or name in self.preemption.held:  # a finalizer still blocks its name
            return
        former = self.members[self.pods[name]]
        self._delete(name)
        other = self._rng.random() < 0.3
        request = (
            self._rng.choice(self._setup.requests)
            if other and not former.role.group
            else former.request
        )
        self._make_pod(name, request, msgspec.structs.replace(former.role, node=""))

    def ungate(self) -> None:
        """Remove the scheduling gates of a pod."""
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
        """Bind a pod of another scheduler, without a check of capacity."""
        waiting = [n for n, u in self.pods.items() if self.members[u].role.foreign]
        self._bind_by_others(
            [name for name in waiting if self.pods[name] not in self.foreign_bound]
        )

    def steal(self) -> None:
        """Bind a pod of Stretto by another client."""
        self._bind_by_others([n for n, u in self.pods.items() if not self.members[u].role.foreign])

    def collect_garbage(self) -> None:
        """Delete pods on deleted nodes, as the pod garbage collector does."""
        for name in list(self.pods):
            record = self.store.get(POD, "default", name)
            if record is not None and record.node and record.node not in self.nodes:
                self._delete(name)

    # ------------------------------------------------------------ nodes

    def add_node(self) -> None:
        """Add a node with a shape of the fleet."""
        if len(self.nodes) < 12:
            self._make_node(self._name("n"), self._rng.choice(self._setup.fleet))

    def remove_node(self) -> None:
        """Delete a node; its pods remain for the garbage collector."""
        if len(self.nodes) < 2:
            return
        name = self._some_node()
        self._deleted_nodes[name] = self.nodes.pop(name)
        del self.node_uids[name]
        self.store.delete(NODE, [Deletion("", name)])
        if self._rng.random() < 0.3:
            self.readd_node()

    def readd_node(self) -> None:
        """Recreate a deleted node with another capacity."""
        if self._deleted_nodes:
            name = self._rng.choice(list(self._deleted_nodes))
            shape = self._deleted_nodes.pop(name)
            cpu, cordoned = self._rng.choice((500, 1000, shape.cpu)), self._rng.random() < 0.1
            zone = self._rng.choice((shape.zone, ZONES[0]))
            shape = msgspec.structs.replace(shape, cpu=cpu, cordoned=cordoned, zone=zone)
            self._make_node(name, shape)

    def cordon(self) -> None:
        """Cordon or uncordon a node."""
        if name := self._some_node():
            now = not self.nodes[name].cordoned
            self._reshape(name, cordoned=now)
            patch = Patch("", name, {"spec": {"unschedulable": now or None}})
            self.node_versions[name] = self._made(self.store.patch(NODE, [patch])).version

    def relabel(self) -> None:
        """Change the pool label of a node."""
        if name := self._some_node():
            pool = self._rng.choice(("blue", "green"))
            self._reshape(name, pool=pool)
            self._label(name, "pool", pool)

    def rezone(self) -> None:
        """Change the zone label of a node."""
        if name := self._some_node():
            zone = self._rng.choice(ZONES)
            self._reshape(name, zone=zone)
            self._label(name, "topology.kubernetes.io/zone", zone)

    def resize_up(self) -> None:
        """Increase the allocatable amounts of a node."""
        if name := self._some_node():
            shape = self.nodes[name]
            self._reshape(name, cpu=shape.cpu + 500, memory=shape.memory + 512, pods=shape.pods + 1)
            amounts = {"cpu": f"{shape.cpu + 500}m", "memory": f"{shape.memory + 512}Mi"}
            amounts["pods"] = str(shape.pods + 1)
            patch = Patch("", name, {"status": {"allocatable": amounts}})
            self.node_versions[name] = self._made(self.store.patch_status(NODE, [patch])).version

    # ------------------------------------------------------------ PodGroups

    def change_group(self) -> None:
        """Change ``minMember`` of a PodGroup."""
        if name := self._some_group():
            group = self.groups[name]
            group.min_member, group.disturbed = self._rng.randint(1, 5), True
            patch = Patch("default", name, {"spec": {"minMember": group.min_member}})
            self.store.patch(POD_GROUP, [patch])

    def delete_group(self) -> None:
        """Delete a PodGroup but not its pods."""
        if name := self._some_group():
            self.groups[name].exists, self.groups[name].disturbed = False, True
            self.store.delete(POD_GROUP, [Deletion("default", name)])

    # ------------------------------------------------------------ internals

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
        if shape.reclaimed:  # the report of a former node of that name is stale
            self.store.delete(CUSTOM_NODE_RESOURCE, [Deletion("", name)])
            self._made(self.store.create(CUSTOM_NODE_RESOURCE, [report_json(name, shape)]))

    def _make_pod(self, name: str, request: PodRequest, role: PodRole) -> None:
        if len(self.pods) >= MOST_PODS:
            self._delete(self._some_pod())
        if not role.queue and not role.foreign:
            queue = self.queues.queue_of(role.group or role.owner or name)
            role = msgspec.structs.replace(role, queue=queue)
        self._create_pod(name, request, self.preemption.add_extras(role))

    def _create_pod(self, name: str, request: PodRequest, role: PodRole, origin: str = "") -> None:
        uid = self._made(self.store.create(POD, [pod_json(name, request, role)])).uid
        self.pods[name] = uid
        self.members[uid] = WorldPod(name, request, role)
        self.origins[uid] = origin or name
        self.preemption.made(name, uid, role)
        if role.node:
            self.foreign_bound.add(uid)
            self._disturb(name)

    def _make_group(self, name: str) -> None:
        group = self.groups[name]
        group.exists = True
        self.store.create(POD_GROUP, [group_json(name, group.min_member)])

    def _grow(self, name: str, group: WorldGroup) -> None:
        group.made += 1
        priority = self.preemption.priority_of_gang(name)
        self._make_pod(
            f"{name}-{group.made}", group.request, PodRole(group=name, priority=priority)
        )

    def _delete(self, name: str) -> None:
        self._disturb(name)
        del self.pods[name]
        self.store.delete(POD, [Deletion("default", name)])

    def _disturb(self, name: str) -> None:
        """Record that another client changed a gang."""
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
        self.foreign_bound.add(record.uid)
        self._disturb(name)
        self.store.bind([Bind("default", name, record.uid, node)])

    def _reshape(self, name: str, **changes: object) -> None:
        self.nodes[name] = msgspec.structs.replace(self.nodes[name], **changes)

    def _label(self, name: str, key: str, value: str) -> None:
        patch = Patch("", name, {"metadata": {"labels": {key: value}}})
        self.node_versions[name] = self._made(self.store.patch(NODE, [patch])).version

    @staticmethod
    def _made(replies: Replies) -> Record:
        """The record of a write, which the store must accept."""
        (reply,) = replies
        if reply.outcome is not WriteOutcome.OK or reply.record is None:
            raise AssertionError(f"the store refused what the world wrote: {reply.message}")
        return reply.record
