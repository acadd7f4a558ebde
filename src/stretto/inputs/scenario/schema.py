"""The scenario file as structs: every key that ``stretto run`` and ``simulate`` understand.

``docs/reference/scenario.md`` says the same in prose; a test compares the two. Ranges and paths are
checked by ``scenario``, unknown keys and choices by ``strict``; what is here is only the shape.
"""

from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import msgspec

from stretto.inputs.objects.objects import NAMESPACE
from stretto.inputs.scenario.workloads import DAY_S

Quantity: TypeAlias = str | int | float
"""An amount as Kubernetes writes it: ``500m``, ``2``, ``1.5Gi``."""

Texts: TypeAlias = dict[str, str]
"""Labels or annotations."""

_NO_TEXTS: Final[Texts] = {}


# ---------------------------------------------------------------- machines


class OpenbNodes(msgspec.Struct, frozen=True, kw_only=True):
    """A node list in openb format."""

    #: The CSV file, relative to the scenario.
    nodes: str


class SyntheticFleet(msgspec.Struct, frozen=True, kw_only=True):
    """Machines of four shapes, made from the seed."""

    #: How many nodes.
    count: int
    #: Over how many zones.
    zones: int = 10


class TaintSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A taint of nodes."""

    #: Key of the taint.
    key: str
    #: Value of the taint.
    value: str = ""
    #: What it does to pods that do not tolerate it.
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] = "NoSchedule"


class NodeShapeSpec(msgspec.Struct, frozen=True, kw_only=True):
    """Equal nodes."""

    #: How many nodes.
    count: int = 1
    #: What their names begin with; empty numbers all shapes through as ``node-...``.
    name: str = ""
    #: CPU of each.
    cpu: Quantity
    #: Memory of each.
    memory: Quantity
    #: GPUs of each.
    gpus: int = 0
    #: Model of the GPUs.
    model: str = "GPU"
    #: Zone of all of them; empty leaves it open.
    zone: str = ""
    #: Labels of each.
    labels: Texts = _NO_TEXTS
    #: Taints of each.
    taints: tuple[TaintSpec, ...] = ()
    #: Pods that each may hold.
    pods: int = 110


class FleetSpec(msgspec.Struct, frozen=True, kw_only=True):
    """The machines: exactly one source, and what is done to it."""

    #: The openb fleet that ships with Stretto, or a node list in its format.
    openb: Literal["bundled"] | OpenbNodes | None = None
    #: Machines made from the seed.
    synthetic: SyntheticFleet | None = None
    #: Files or folders of Kubernetes objects, Nodes among them.
    manifests: tuple[str, ...] | None = None
    #: Shapes with counts.
    shapes: tuple[NodeShapeSpec, ...] | None = None
    #: Shapes in one word, such as ``64cpu-256gib:200``.
    like: str | None = None
    #: Keep only nodes with these values, such as ``model=G2,gpu=8``.
    filter: str = ""
    #: Keep only the first so many of them.
    limit: int | None = None
    #: Put nodes that name no zone into so many zones in turn; 0 leaves them without.
    zones: int = 0


# ---------------------------------------------------------------- work


class OpenbPods(msgspec.Struct, frozen=True, kw_only=True):
    """A pod list in openb format."""

    #: The CSV file, relative to the scenario.
    pods: str


class PhillyJobs(msgspec.Struct, frozen=True, kw_only=True):
    """A job list in philly format."""

    #: The CSV file, relative to the scenario.
    jobs: str


class AzureVms(msgspec.Struct, frozen=True, kw_only=True):
    """A VM list in azure-vm format."""

    #: The CSV file (or .csv.gz), relative to the scenario.
    vms: str
    #: Which end of a lifetime bin is meant.
    lifetime: Literal["min", "mid", "max"] = "min"
    #: Whether the VMs of a batch are a gang.
    gangs: bool = False


class SyntheticPods(msgspec.Struct, frozen=True, kw_only=True):
    """Realistic pods of many classes, made from the seed."""

    #: How many pods.
    count: int
    #: Of how many classes.
    classes: int = 200
    #: Share of the classes with host ports, node selectors, affinity or tolerations.
    constrained: float = 0.3
    #: Pods per unit; 1 makes each a unit of its own.
    units: int = 1
    #: Whether units are PodGroups; otherwise their pods share an owner.
    gangs: bool = False


class PodsSpec(msgspec.Struct, frozen=True, kw_only=True):
    """Equal pods."""

    #: How many pods.
    count: int = 1
    #: CPU of each.
    cpu: Quantity = "100m"
    #: Memory of each.
    memory: Quantity = "128Mi"
    #: GPUs of each.
    gpus: int = 0
    #: Milli of each GPU; below 1000 (a share) only with one GPU.
    gpu_milli: int = 1000
    #: GPU models that they may use; empty for any.
    gpu_models: tuple[str, ...] = ()
    #: Pods per gang: so many become one PodGroup, and the next ones another. 0 is no gang.
    gang: int = 0
    #: How many pods of a gang must fit; absent means all.
    min_member: int | None = None
    #: Priority; higher goes first.
    priority: int = 0
    #: Seconds that each runs once started; absent means that it stays.
    duration: float | None = None
    #: Kind of the controller that owns them; empty leaves them alone.
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
    """A rate that goes up and down."""

    #: Arrivals per second when it is quietest.
    low: float
    #: Arrivals per second when it is busiest.
    high: float
    #: Seconds from one quiet time to the next.
    period: float = DAY_S


class ArrivalSpec(msgspec.Struct, frozen=True, kw_only=True):
    """When the pods of a workload arrive: exactly one way."""

    #: All at this second.
    at: float | None = None
    #: At random, so many a second on average.
    rate: float | None = None
    #: One every so many seconds.
    every: float | None = None
    #: At random, with a rate that swings over the day.
    diurnal: DiurnalRate | None = None
    #: Second at which ``rate``, ``every`` or ``diurnal`` begins.
    start: float = 0.0


class WorkloadSpec(msgspec.Struct, frozen=True, kw_only=True):
    """Work of one source: exactly one, and what is done to it."""

    #: What the names of its objects begin with; traces keep their own names without it.
    name: str = ""
    #: The openb pods that ship with Stretto, or a pod list in their format.
    openb: Literal["bundled"] | OpenbPods | None = None
    #: A job list in philly format.
    philly: PhillyJobs | None = None
    #: A VM list in azure-vm format.
    azure_vm: AzureVms | None = msgspec.field(default=None, name="azure-vm")
    #: Pods of many classes, made from the seed.
    synthetic: SyntheticPods | None = None
    #: Files or folders of Kubernetes objects.
    manifests: tuple[str, ...] | None = None
    #: Equal pods.
    pods: PodsSpec | None = None
    #: When they arrive; absent takes a trace's own times, and the start where there are none.
    arrival: ArrivalSpec | None = None
    #: Order of a trace: as in the file, or drawn from the seed; absent shuffles what is filled up.
    order: Literal["file", "shuffle"] | None = None
    #: Whether a trace's own times count; without them all of it arrives at the start and stays.
    times: bool = True
    #: Only the first so many pods, jobs or VMs of a trace.
    limit: int | None = None
    #: What manifests do with owners that are not in the input.
    missing_owners: Literal["refuse", "keep"] = "refuse"


# ---------------------------------------------------------------- all of it


class ScenarioFile(msgspec.Struct, frozen=True, kw_only=True):
    """A cluster, the work that comes to it, and how it is scheduled."""

    #: What reports call it; empty takes the file's name.
    name: str = ""
    #: Where all chance comes from.
    seed: int = 0
    #: The machines.
    fleet: FleetSpec
    #: The work.
    workloads: tuple[WorkloadSpec, ...] = ()
    #: Cut or repeat the openb workload until it asks for so many percent of the fleet's GPUs.
    arrive_pct: float | None = None
    #: Scheduling profile: a name, a file, or the mapping itself (KubeSchedulerConfiguration).
    profile: str | dict[str, Any] | None = None
    #: Scoring policy by its short name, such as ``fgd`` or ``best-fit``; absent leaves the profile.
    policy: str | None = None
    #: How many scheduler shards run.
    shards: int = 1
    #: Queues: each a name and the fields of a Queue's spec.
    queues: tuple[dict[str, Any], ...] = ()
    #: Namespace of the pods that name none.
    namespace: str = NAMESPACE
    #: Seconds of the scenario per second of ``stretto run``; 0 is as fast as it goes.
    speed: float = 1.0


class Scenario(ScenarioFile, frozen=True, kw_only=True):
    """A scenario that was read from a file."""

    #: Path of the file.
    source: str

    @property
    def where(self) -> str:
        """How messages name the scenario."""
        return f"scenario {self.source}"

    def path(self, text: str) -> Path:
        """A path of the scenario, taken from its folder."""
        return Path(self.source).parent / text
