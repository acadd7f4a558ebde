"""Public builders and a harness of small clusters, for tests, plugins and notebooks.

    harness = Harness(nodes=[make_node("n1", cpu="4")])
    harness.submit(make_pod("web", cpu="500m"))
    harness.settle()
    assert harness.node_of("web") == "n1"

The harness runs a real plane over a memory store in virtual time. Objects are JSON bytes, in the
format of a store.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from stretto.api.wire.kinds import CUSTOM_NODE_RESOURCE, NODE, POD, POD_GROUP, Kind
from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.framework.profile.profile import Profile, load_profile
from stretto.inputs.objects.objects import (
    GPU,
    GPU_MILLI,
    GPU_MODEL_LABEL,
    GPU_MODELS,
    GROUP,
    SCHEDULER_NAME,
    requirements,
)
from stretto.plane.config import PlaneConfig
from stretto.plane.plane import Plane
from stretto.sim.submission.admission import StoreAdmission
from stretto.state.classes.annotations import MEMORY_ENHANCEMENT, QOS_LEVEL
from stretto.state.queries.invariants import InvariantBreach, check_all
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.store import Deletion, Store, WriteOutcome

GROUP_NAME = GROUP
"""Annotation and label that make a pod a member of a PodGroup."""


def make_node(
    name: str, *, cpu: str = "8", memory: str = "32Gi", gpus: int = 0, **more: Any
) -> bytes:
    """A node as JSON.

    ``more`` accepts ``model`` (of its GPUs), ``zone``, ``labels``, ``annotations``, ``taints``
    (list of mappings), ``unschedulable``, ``pods`` (allocatable pods, 110) and ``resources``
    (additional allocatable amounts).
    """
    labels = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        **more.get("labels", {}),
    }
    if "zone" in more:
        labels["topology.kubernetes.io/zone"] = more["zone"]
    if "model" in more:
        labels[GPU_MODEL_LABEL] = more["model"]
    amounts = {"cpu": cpu, "memory": memory, "pods": str(more.get("pods", 110))}
    if gpus:
        amounts[GPU] = str(gpus)
    amounts |= more.get("resources", {})
    spec: dict[str, Any] = {"taints": more.get("taints", [])}
    if more.get("unschedulable"):
        spec["unschedulable"] = True
    meta: dict[str, Any] = {"name": name, "labels": labels}
    if "annotations" in more:
        meta["annotations"] = more["annotations"]
    return _encode("v1", "Node", meta, spec, {"allocatable": amounts})


POD_OPTIONS: Final = frozenset(
    (
        "annotations",
        "gpu_milli",
        "gpu_models",
        "group",
        "labels",
        "namespace",
        "node",
        "owner",
        "ports",
        "priority",
        "resources",
        "scheduler",
        "spec",
    )
)
"""Options of ``make_pod`` in addition to its named parameters."""


def make_pod(
    name: str, *, cpu: str = "100m", memory: str = "128Mi", gpus: int = 0, **more: Any
) -> bytes:
    """A pending pod as JSON.

    ``more`` accepts ``namespace``, ``gpu_milli``, ``gpu_models``, ``group`` (PodGroup name),
    ``owner`` (mapping of an ownerReference), ``priority``, ``node`` (of a bound pod), ``ports``
    (host ports), ``labels``, ``annotations``, ``resources`` (additional requests,
    with the limits that extended resources need), ``scheduler``
    and ``spec`` (merged).

    Raises:
        TypeError: an option does not exist.
    """
    if unknown := more.keys() - POD_OPTIONS:
        raise TypeError(f"make_pod: {sorted(unknown)}: expected options of {sorted(POD_OPTIONS)}")
    labels, notes = dict(more.get("labels", {})), dict(more.get("annotations", {}))
    if "group" in more:
        labels[GROUP_NAME] = notes[GROUP_NAME] = more["group"]
    if "gpu_milli" in more:
        notes[GPU_MILLI] = str(more["gpu_milli"])
    if "gpu_models" in more:
        notes[GPU_MODELS] = more["gpu_models"]
    requests = {"cpu": cpu, "memory": memory, **more.get("resources", {})}
    if gpus:
        requests[GPU] = str(gpus)
    ports = [{"containerPort": p, "hostPort": p} for p in more.get("ports", ())]
    container = {"name": "main", "resources": requirements(requests), "ports": ports}
    spec: dict[str, Any] = {
        "schedulerName": more.get("scheduler", SCHEDULER_NAME),
        "containers": [container],
        **more.get("spec", {}),
    }
    if "priority" in more:
        spec["priority"] = more["priority"]
    if "node" in more:
        spec["nodeName"] = more["node"]
    meta: dict[str, Any] = {
        "name": name,
        "namespace": more.get("namespace", "default"),
        "labels": labels,
        "annotations": notes,
    }
    if "owner" in more:
        meta["ownerReferences"] = [more["owner"]]
    return _encode("v1", "Pod", meta, spec, {})


def make_report(
    name: str, numas: Sequence[Mapping[str, str]], *, sockets: int = 2, **more: Any
) -> bytes:
    """A node agent's report (CustomNodeResource) as JSON, with NUMA nodes evenly over sockets.

    ``numas`` contains the allocatable amounts of each NUMA node. ``more`` accepts ``gpus`` (GPU
    numbers of each), ``held`` (allocations of each: consumer to amounts), ``used`` (measured CPU
    and memory), ``at`` (RFC 3339 time of the measurement), ``created``, ``zone`` (merged into each)
    and ``pool`` (amounts for best-effort pods).
    """
    per_socket = -(-len(numas) // sockets)
    zones = []
    for number, amounts in enumerate(numas):
        gpus = more.get("gpus", [()] * len(numas))[number]
        held = more.get("held", [{}] * len(numas))[number]
        zone = {
            "type": "Numa",
            "name": str(number),
            "resources": {"allocatable": dict(amounts), "capacity": dict(amounts)},
            "children": [{"type": "GPU", "name": str(g), "resources": {}} for g in gpus],
            "allocations": [{"consumer": c, "requests": dict(r)} for c, r in held.items()],
            **more.get("zone", {}),
        }
        zones.append(zone)
    status: dict[str, Any] = {
        "topologyZone": [
            {"type": "Socket", "name": str(s), "resources": {}, "children": part}
            for s in range(sockets)
            if (part := zones[s * per_socket : (s + 1) * per_socket])
        ]
    }
    if "pool" in more:
        status["resources"] = {"allocatable": dict(more["pool"]), "capacity": dict(more["pool"])}
    if "used" in more:
        usage = {"genericUsage": more["used"]}
        status["nodeMetricStatus"] = {"updateTime": more.get("at", ""), "nodeMetric": usage}
    kind = CUSTOM_NODE_RESOURCE
    meta = {"name": name}
    if "created" in more:
        meta["creationTimestamp"] = more["created"]
    return _encode(kind.api_version, kind.kind, meta, {}, status)


def numa_notes(*, exclusive: bool = False, **more: str) -> dict[str, str]:
    """Annotations of a pod with dedicated cores and NUMA binding."""
    flags = {"numa_binding": "true", "numa_exclusive": "true" if exclusive else "false"}
    memory = msgspec.json.encode(flags).decode()
    return {QOS_LEVEL: "dedicated_cores", MEMORY_ENHANCEMENT: memory, **more}


def make_group(name: str, min_member: int, namespace: str = "default", **spec: Any) -> bytes:
    """A PodGroup as JSON; ``spec`` contains additional fields by their JSON names."""
    meta = {"name": name, "namespace": namespace}
    version = "scheduling.godel.kubewharf.io/v1alpha1"
    return _encode(version, "PodGroup", meta, {"minMember": min_member, **spec}, {})


class Harness:
    """A plane over a store in virtual time, with queries for tests."""

    def __init__(
        self,
        nodes: Sequence[bytes] = (),
        *,
        profile: str | Profile = "default",
        config: Mapping[str, Any] | None = None,
        store: Store | None = None,
    ) -> None:
        """Start with nodes; ``config`` overrides fields of ``PlaneConfig``."""
        #: Virtual time.
        self.clock = ManualClock()
        #: The store; in memory unless one is given.
        self.store: Store = store or MemoryStore(self.clock, Rng(0))
        chosen = load_profile(profile) if isinstance(profile, str) else profile
        #: The plane.
        self.plane = Plane(
            PlaneConfig(profile=chosen, **dict(config or {})), self.store, self.clock
        )
        self._admission = StoreAdmission(self.store)
        self.create(NODE, *nodes)

    def create(self, kind: Kind, *bodies: bytes) -> None:
        """Create objects, which pass admission as on an API server.

        Raises:
            InputError: a field is invalid.
            ForbiddenError: admission refuses an object.
            AssertionError: the store refused an object.
        """
        self.put(kind, *self._admission.admitted(kind, bodies))

    def put(self, kind: Kind, *bodies: bytes) -> None:
        """Create objects as they are, without admission: also those that a server would refuse.

        Raises:
            AssertionError: the store refused an object.
        """
        for reply in self.store.create(kind, bodies):
            if reply.outcome is not WriteOutcome.OK:
                raise AssertionError(f"the store refused an object: {reply.message}")

    def replace(self, kind: Kind, body: bytes) -> None:
        """Delete an object and create another of the same name."""
        meta = msgspec.json.decode(body)["metadata"]
        space = meta.get("namespace", "")
        self.store.delete(kind, [Deletion(space, meta["name"])])
        self.create(kind, body)

    def create_nodes(self, *nodes: bytes) -> None:
        """Create nodes."""
        self.create(NODE, *nodes)

    def submit(self, *pods: bytes) -> None:
        """Create pods."""
        self.create(POD, *pods)

    def group(self, name: str, min_member: int, **spec: Any) -> None:
        """Create a PodGroup."""
        self.create(POD_GROUP, make_group(name, min_member, **spec))

    def delete(self, name: str, namespace: str = "default") -> None:
        """Delete a pod."""
        self.store.delete(POD, [Deletion(namespace, name)])

    def settle(self, seconds: float = 0.0) -> None:
        """Step until the plane is idle, and again at each deadline in the next ``seconds``."""
        self.plane.run_until_idle()
        end = self.clock.monotonic() + seconds
        while self.clock.monotonic() < end:
            due = self.plane.next_due()
            self.clock.advance(max(min(due, end) - self.clock.monotonic(), 0.001))
            self.plane.run_until_idle()

    def node_of(self, name: str, namespace: str = "default") -> str:
        """Node of a pod in the store; empty while it is pending."""
        record = self.store.get(POD, namespace, name)
        return record.node if record is not None else ""

    def notes_of(self, name: str, namespace: str = "default") -> dict[str, str]:
        """Annotations of a pod in the store, including those of its bind."""
        record = self.store.get(POD, namespace, name)
        return dict(record.annotations or {}) if record is not None else {}

    def placements(self, namespace: str = "default") -> dict[str, str]:
        """Node of each pod of a namespace, by pod name; empty for pending pods."""
        records = self.store.list(POD).records
        return {r.name: r.node for r in records if r.namespace == namespace}

    def placed(self, *pods: bytes) -> dict[str, str]:
        """Create pods, settle, and return all placements.

        Raises:
            AssertionError: an invariant is violated.
        """
        self.submit(*pods)
        self.settle()
        if found := self.breaches():
            raise AssertionError(f"violated invariants: {found}")
        return self.placements()

    def breaches(self) -> list[InvariantBreach]:
        """Violated invariants of the cluster state; empty if there are none."""
        return check_all(self.plane.cluster)


def _encode(
    version: str,
    kind: str,
    meta: Mapping[str, Any],
    spec: Mapping[str, Any],
    status: Mapping[str, Any],
) -> bytes:
    """An object as JSON, without empty parts."""
    parts = {"metadata": meta, "spec": spec, "status": status}
    return msgspec.json.encode(
        {"apiVersion": version, "kind": kind, **{k: v for k, v in parts.items() if v}}
    )
