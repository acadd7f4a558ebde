"""The neutral form of a fleet, common to all traces, generators and scenarios.

Traces differ in columns, units and names. Each reader converts them to these frozen structs, and
one module (``objects``) converts the structs to Kubernetes objects. Studies that need arrays read
the structs directly.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

WHOLE_GPU: Final = 1000
"""Milli of a whole GPU."""
MAX_CPU_MILLI: Final = 10_000_000
"""10,000 cores: ten times the largest machine on sale; a larger value has a wrong unit."""
MAX_MEMORY_MIB: Final = 1 << 30
"""One PiB; a larger value is in bytes instead of MiB."""
MAX_GPUS: Final = 16
"""Maximum number of GPUs of a node: the number of device columns of the ledger."""
TRACE_MAX_PODS: Final = 10_000
"""Pod limit of a trace's node: traces have no such limit, so it must never apply."""

_NOTHING: Final[Mapping[str, str]] = {}


class FleetTaint(msgspec.Struct, frozen=True, gc=False):
    """A taint of a node: pods that do not tolerate it are rejected."""

    #: Key, such as ``dedicated``.
    key: str
    #: Value; may be empty.
    value: str = ""
    #: ``NoSchedule``, ``PreferNoSchedule`` or ``NoExecute``.
    effect: str = "NoSchedule"


class FleetNode(msgspec.Struct, frozen=True, gc=False):
    """A node."""

    #: Name, unique in the fleet.
    name: str
    #: Allocatable CPU in thousandths of a core.
    cpu_milli: int
    #: Allocatable memory in MiB.
    memory_mib: int
    #: Number of GPUs.
    gpus: int = 0
    #: Model of all its GPUs; empty without GPUs.
    gpu_model: str = ""
    #: Further labels (zone, model and hostname are added when the object is made).
    labels: Mapping[str, str] = _NOTHING
    #: Zone; empty if unknown.
    zone: str = ""
    #: Taints.
    taints: tuple[FleetTaint, ...] = ()
    #: Maximum number of pods.
    max_pods: int = TRACE_MAX_PODS


class FleetPod(msgspec.Struct, frozen=True, gc=False):
    """A pod."""

    #: Name, unique in the fleet.
    name: str
    #: Requested CPU in thousandths of a core.
    cpu_milli: int
    #: Requested memory in MiB.
    memory_mib: int
    #: Number of requested GPUs.
    gpus: int = 0
    #: Milli of each GPU: 1..1000, below 1000 (a share) only for one GPU; 0 without GPUs.
    gpu_milli: int = 0
    #: GPU models it may use; empty for any.
    gpu_models: tuple[str, ...] = ()
    #: Quality of service in the trace's notation; empty if unknown.
    qos: str = ""
    #: Second of its arrival; ``None`` when the trace has no times.
    arrival_s: float | None = None
    #: Second of its deletion, placed or not; ``None`` if it stays or ``duration_s`` applies.
    departure_s: float | None = None
    #: Run time in seconds; ``None`` if it stays or ``departure_s`` applies.
    duration_s: float | None = None
    #: The user's estimate of the run time in seconds; ``None`` for the run time itself.
    estimate_s: float | None = None
    #: Its gang; empty for a single pod.
    group: str = ""
    #: Priority; the highest is scheduled first.
    priority: int = 0
    #: Further values of the trace by column name.
    extra: Mapping[str, str] = _NOTHING
    #: Second of its start on ``node`` in the trace; ``None`` if the trace has no placement.
    start_s: float | None = None
    #: Node on which it ran in the trace; empty if unknown.
    node: str = ""
    #: Its controller, such as a deployment; empty for none.
    owner: str = ""
    #: Its PriorityClass; empty for none.
    priority_class: str = ""
    #: Its queue; empty for the default queue.
    queue: str = ""
    #: Further labels.
    labels: Mapping[str, str] = _NOTHING
    #: ``Never`` for a pod that evicts no pods of lower priority; empty for the default.
    preemption_policy: str = ""

    @property
    def gpu_milli_total(self) -> int:
        """Sum of the requested GPU milli."""
        return self.gpus * self.gpu_milli


class FleetNodeChange(msgspec.Struct, frozen=True, gc=False):
    """A node that is added, changed or removed while the pods of a trace run."""

    #: Second of the change.
    time_s: float
    #: Name of the node.
    name: str
    #: The node after the change; ``None`` if it is removed.
    node: FleetNode | None


class Fleet(msgspec.Struct, frozen=True):
    """Nodes and pods, with their origin."""

    #: The nodes.
    nodes: tuple[FleetNode, ...]
    #: The pods, in the order of the trace.
    pods: tuple[FleetPod, ...]
    #: Origin of the data, in one line.
    source: str = ""
    #: License of the data; empty for the user's own data.
    licence: str = ""
    #: Changes of the nodes by time.
    changes: tuple[FleetNodeChange, ...] = ()
    #: Sentences about omissions and assumptions.
    notes: tuple[str, ...] = ()

    @property
    def gpu_milli(self) -> int:
        """Milli over all GPUs of all nodes."""
        return WHOLE_GPU * sum(node.gpus for node in self.nodes)
