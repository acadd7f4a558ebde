"""The neutral form of a fleet: what every trace, generator and scenario is brought to first.

Traces differ in columns, units and words; a placement study differs in none of them. So each
loader ends in these few frozen structs, and one module (``objects``) turns them into Kubernetes
objects. Studies that need arrays instead of objects read the structs directly.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

WHOLE_GPU: Final = 1000
"""Milli of a whole GPU."""
MAX_CPU_MILLI: Final = 10_000_000
"""10,000 cores: ten times the biggest machine on sale; more is a mistake of unit."""
MAX_MEMORY_MIB: Final = 1 << 30
"""One PiB; more is bytes written where MiB were meant."""
MAX_GPUS: Final = 16
"""GPUs of one node: as many as the ledger tells apart."""
TRACE_MAX_PODS: Final = 10_000
"""Pods a trace's node may hold: the traces know no such limit, so it must never bind."""

_NOTHING: Final[Mapping[str, str]] = {}


class FleetTaint(msgspec.Struct, frozen=True, gc=False):
    """A mark on a node that keeps away pods which do not tolerate it."""

    #: Key, such as ``dedicated``.
    key: str
    #: Value; may be empty.
    value: str = ""
    #: ``NoSchedule``, ``PreferNoSchedule`` or ``NoExecute``.
    effect: str = "NoSchedule"


class FleetNode(msgspec.Struct, frozen=True, gc=False):
    """A machine that offers room."""

    #: Name, unique in the fleet.
    name: str
    #: CPU offered, in thousandths of a core.
    cpu_milli: int
    #: Memory offered, in MiB.
    memory_mib: int
    #: Number of GPUs.
    gpus: int = 0
    #: Model of all its GPUs; empty without GPUs.
    gpu_model: str = ""
    #: Further labels (zone, model and hostname are added when the object is made).
    labels: Mapping[str, str] = _NOTHING
    #: Zone; empty when the fleet knows none.
    zone: str = ""
    #: Taints.
    taints: tuple[FleetTaint, ...] = ()
    #: How many pods it may hold.
    max_pods: int = TRACE_MAX_PODS


class FleetPod(msgspec.Struct, frozen=True, gc=False):
    """A piece of work that asks for room."""

    #: Name, unique in the fleet.
    name: str
    #: CPU asked for, in thousandths of a core.
    cpu_milli: int
    #: Memory asked for, in MiB.
    memory_mib: int
    #: How many distinct GPUs.
    gpus: int = 0
    #: Milli of each GPU: 1..1000, below 1000 (a share) only with one GPU; 0 without GPUs.
    gpu_milli: int = 0
    #: GPU models it may use; empty for any.
    gpu_models: tuple[str, ...] = ()
    #: Quality of service in the trace's own word; empty when unknown.
    qos: str = ""
    #: Second of its arrival; ``None`` when the trace has no times.
    arrival_s: float | None = None
    #: Second at which it leaves, placed or not; ``None`` when it stays or ``duration_s`` rules.
    departure_s: float | None = None
    #: Seconds that it runs once started; ``None`` when it stays or ``departure_s`` rules.
    duration_s: float | None = None
    #: Unit that it is admitted with; empty when it is alone.
    group: str = ""
    #: Priority; higher goes first.
    priority: int = 0
    #: What else the trace says of it, by the trace's column names.
    extra: Mapping[str, str] = _NOTHING

    @property
    def gpu_milli_total(self) -> int:
        """Milli over all GPUs that it asks for."""
        return self.gpus * self.gpu_milli


class Fleet(msgspec.Struct, frozen=True):
    """Machines and work, with where they come from."""

    #: The machines.
    nodes: tuple[FleetNode, ...]
    #: The work, in the order of the trace.
    pods: tuple[FleetPod, ...]
    #: Where the data comes from, in one line.
    source: str = ""
    #: Licence of the data; empty when it is the user's own.
    licence: str = ""

    @property
    def gpu_milli(self) -> int:
        """Milli over all GPUs of all nodes."""
        return WHOLE_GPU * sum(node.gpus for node in self.nodes)
