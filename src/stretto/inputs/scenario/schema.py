"""The scenario file as structs: every key apart from trace formats (``format_keys``).

``docs/reference/scenario.md`` describes the same keys; a test compares both. ``read`` checks ranges
and paths, ``strict`` checks keys and choices.
"""

from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import msgspec

from stretto.api.wire.kinds import DEFAULT_NAMESPACE
from stretto.inputs.scenario.workloads import DAY_S

Quantity: TypeAlias = str | int | float
"""A Kubernetes quantity: ``500m``, ``2``, ``1.5Gi``."""

Texts: TypeAlias = dict[str, str]
"""Labels or annotations."""

_NO_TEXTS: Final[Texts] = {}


# ---------------------------------------------------------------- nodes


class SyntheticFleet(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes of four shapes, generated from the seed."""

    #: Number of nodes.
    count: int
    #: Number of zones.
    zones: int = 10


class TaintSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A taint of nodes."""

    #: Key of the taint.
    key: str
    #: Value of the taint.
    value: str = ""
    #: Effect on pods that do not tolerate it.
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] = "NoSchedule"


class NodeShapeSpec(msgspec.Struct, frozen=True, kw_only=True):
    """Equal nodes."""

    #: Number of nodes.
    count: int = 1
    #: Name prefix; if empty, the nodes of all shapes are numbered as ``node-...``.
    name: str = ""
    #: CPU of each.
    cpu: Quantity
    #: Memory of each.
    memory: Quantity
    #: GPUs of each.
    gpus: int = 0
    #: Model of the GPUs.
    model: str = "GPU"
    #: Zone of all of them; empty for none.
    zone: str = ""
    #: Labels of each.
    labels: Texts = _NO_TEXTS
    #: Taints of each.
    taints: tuple[TaintSpec, ...] = ()
    #: Maximum number of pods of each.
    pods: int = 110


class FleetSpec(msgspec.Struct, frozen=True, kw_only=True):
    """The nodes: exactly one source (one of these keys, or a trace format), and selections.

    ``format_keys`` adds a key for each trace format.
    """

    #: Nodes generated from the seed.
    synthetic: SyntheticFleet | None = None
    #: Files or folders of Kubernetes objects that include Nodes.
    manifests: tuple[str, ...] | None = None
    #: Shapes with counts.
    shapes: tuple[NodeShapeSpec, ...] | None = None
    #: Shapes in short form, such as ``64cpu-256gib:200``.
    like: str | None = None
    #: A node list of a trace; its content determines the format.
    trace: str | None = None
    #: Keep only nodes with these values, such as ``model=G2,gpu=8``.
    filter: str = ""
    #: Keep only the first of them, up to this number.
    limit: int | None = None
    #: Distribute nodes without a zone over this number of zones; 0 leaves them without.
    zones: int = 0


# ---------------------------------------------------------------- work


class SyntheticPods(msgspec.Struct, frozen=True, kw_only=True):
    """Realistic pods of many classes, generated from the seed."""

    #: Number of pods.
    count: int
    #: Number of classes.
    classes: int = 200
    #: Share of the classes with host ports, node selectors, affinity or tolerations.
    constrained: float = 0.3
    #: Pods per unit; with 1 each pod is a unit.
    units: int = 1
    #: True if units are PodGroups; otherwise the pods of a unit share an owner.
    gangs: bool = False


class PodsSpec(msgspec.Struct, frozen=True, kw_only=True):
    """Equal pods."""

    #: Number of pods.
    count: int = 1
    #: CPU of each.
    cpu: Quantity = "100m"
    #: Memory of each.
    memory: Quantity = "128Mi"
    #: GPUs of each.
    gpus: int = 0
    #: Milli of each GPU; below 1000 (a share) only with one GPU.
    gpu_milli: int = 1000
    #: Allowed GPU models; empty for any.
    gpu_models: tuple[str, ...] = ()
    #: Pods per gang (PodGroup); 0 for no gangs.
    gang: int = 0
    #: Number of pods of a gang that must fit; absent means all.
    min_member: int | None = None
    #: Priority; the highest is scheduled first.
    priority: int = 0
    #: Run time of each in seconds; absent means that it does not end.
    duration: float | None = None
    #: The user's estimate of the run time in seconds; absent means ``duration``.
    estimate: float | None = None
    #: Kind of the controller that owns them; empty for no owner.
    owner: Literal["", "ReplicaSet", "StatefulSet", "Job"] = ""
    #: Further resources of each, such as ``example.com/nic: 1``.
    resources: dict[str, Quantity] = {}
    #: Quality of service, written as the label ``stretto.dev/qos``.
    qos: str = ""
    #: Labels of each.
    labels: Texts = _NO_TEXTS
    #: Annotations of each.
    annotations: Texts = _NO_TEXTS
    #: Any further fields of the pod's spec in Kubernetes' form, such as ``nodeSelector``.
    spec: dict[str, Any] = {}


class DiurnalRate(msgspec.Struct, frozen=True, kw_only=True):
    """An arrival rate with a daily cycle."""

    #: Minimum rate in arrivals per second.
    low: float
    #: Maximum rate in arrivals per second.
    high: float
    #: Seconds from one minimum to the next.
    period: float = DAY_S


class ArrivalSpec(msgspec.Struct, frozen=True, kw_only=True):
    """Arrival pattern of a workload: exactly one of its keys."""

    #: All pods at this second.
    at: float | None = None
    #: Random arrivals with this average rate per second.
    rate: float | None = None
    #: One arrival per this number of seconds.
    every: float | None = None
    #: Random arrivals with a daily cycle.
    diurnal: DiurnalRate | None = None
    #: First second of ``rate``, ``every`` or ``diurnal``.
    start: float = 0.0


class TraceFields(msgspec.Struct, frozen=True, kw_only=True):
    """Fields that every pod of a trace gets; they replace those of the trace."""

    #: Labels, such as those that assign pods to a side of a tidal pool.
    labels: Texts = _NO_TEXTS
    #: Annotations.
    annotations: Texts = _NO_TEXTS
    #: Fields of the pod's spec in Kubernetes' form, such as ``nodeSelector``.
    spec: dict[str, Any] = {}


class DemandSpec(msgspec.Struct, frozen=True, kw_only=True):
    """The demand for a service over time: it sets the replicas of a ScalingPolicy."""

    #: Name of the policy, in the scenario's namespace.
    policy: str
    #: CSV file with the columns ``second`` and ``value``, in the order of time.
    series: str
    #: Load that one replica serves, in the unit of the values; replicas are rounded up.
    per_replica: float = 1.0


class WorkloadSpec(msgspec.Struct, frozen=True, kw_only=True):
    """Work of exactly one source (one of these keys, or a trace format), and its arrivals.

    ``format_keys`` adds a key for each trace format.
    """

    #: Name prefix of its objects; without it traces keep their own names.
    name: str = ""
    #: Pods of many classes, generated from the seed.
    synthetic: SyntheticPods | None = None
    #: Files or folders of Kubernetes objects.
    manifests: tuple[str, ...] | None = None
    #: Equal pods.
    pods: PodsSpec | None = None
    #: A trace; its content determines the format.
    trace: str | None = None
    #: The demand for a service, which sets the replicas of a ScalingPolicy.
    demand: DemandSpec | None = None
    #: Fields of the pods of a trace.
    fields: TraceFields | None = None
    #: Arrival pattern; absent uses the trace's own times, else the start.
    arrival: ArrivalSpec | None = None
    #: Order of a trace: as in the file, or random; absent shuffles only with ``arrive_pct``.
    order: Literal["file", "shuffle"] | None = None
    #: True to use a trace's own times; otherwise all pods arrive at the start and stay.
    times: bool = True
    #: Maximum number of pods, jobs or VMs of a trace.
    limit: int | None = None
    #: Treatment of owners that are not in the manifests.
    missing_owners: Literal["refuse", "keep"] = "refuse"


# ---------------------------------------------------------------- file


class ScenarioFile(msgspec.Struct, frozen=True, kw_only=True):
    """A cluster, its workloads and its scheduling."""

    #: Name in reports; empty for the file's name.
    name: str = ""
    #: Seed of all random numbers.
    seed: int = 0
    #: The nodes.
    fleet: FleetSpec
    #: The workloads.
    workloads: tuple[WorkloadSpec, ...] = ()
    #: Cut or repeat the openb workload until it requests this percentage of the fleet's GPUs.
    arrive_pct: float | None = None
    #: Scheduling profile: a name, a file, or the mapping itself (KubeSchedulerConfiguration).
    profile: str | dict[str, Any] | None = None
    #: Scoring policy, such as ``fgd`` or ``best-fit``; absent keeps the profile's.
    policy: str | None = None
    #: Number of scheduler shards.
    shards: int = 1
    #: Queues: a name and the fields of a Queue's spec each.
    queues: tuple[dict[str, Any], ...] = ()
    #: Namespace of pods without one.
    namespace: str = DEFAULT_NAMESPACE
    #: Seconds of the scenario per second of ``stretto run``; 0 for maximum speed.
    speed: float = 1.0


class Scenario(ScenarioFile, frozen=True, kw_only=True):
    """A scenario that was read from a file."""

    #: Path of the file.
    source: str

    @property
    def where(self) -> str:
        """Name of the scenario in messages."""
        return f"scenario {self.source}"

    def path(self, text: str) -> Path:
        """A path of the scenario, relative to its folder."""
        return Path(self.source).parent / text
