"""Checks of a scenario's values: ranges, names and quantities, with the path of the key."""

from collections.abc import Sequence
from typing import Final

from stretto.api.wire.names import dns_label, dns_subdomain, label_key, label_value
from stretto.api.wire.quantity import amount, format_amount
from stretto.base.errors import InputError, did_you_mean
from stretto.inputs.neutral.fleet import MAX_CPU_MILLI, MAX_GPUS, MAX_MEMORY_MIB, WHOLE_GPU
from stretto.inputs.neutral.pod_fields import check_spec
from stretto.inputs.neutral.shapes import MAX_NODES
from stretto.inputs.neutral.strict import one_of
from stretto.inputs.objects.pod_templates import MAX_CLASSES, MAX_UNIT
from stretto.inputs.scenario.format_keys import trace_names, trace_of
from stretto.inputs.scenario.schema import (
    ArrivalSpec,
    DemandSpec,
    FleetSpec,
    NodeShapeSpec,
    PodsSpec,
    Quantity,
    Scenario,
    SyntheticPods,
    TraceFields,
    WorkloadSpec,
)
from stretto.inputs.scenario.workloads import MAX_ARRIVALS
from stretto.inputs.traces.openb.protocol import MAX_ARRIVE_PCT

MAX_NAME_BYTES: Final = 150
"""Maximum length of a name in bytes: a file name has at most 255, and a record adds the time."""
MAX_SHARDS: Final = 64
"""Maximum number of shards in one process; they share one interpreter, so more are useless."""
FLEET_SOURCES: Final = ("synthetic", "manifests", "shapes", "like", "trace")
"""Sources of nodes, apart from trace formats."""
WORK_SOURCES: Final = ("synthetic", "manifests", "pods", "trace", "demand")
"""Sources of work, apart from trace formats."""
ARRIVALS: Final = ("at", "rate", "every", "diurnal")
"""Arrival patterns."""
_MAX_TIME_S: Final = 1e10


def check_scenario(scenario: Scenario) -> None:
    """Refuse invalid values of all sources."""
    where = scenario.where
    _check_name(scenario.name, f"{where}: name")
    _within(scenario.seed, (0, 2**63 - 1), f"{where}: seed")
    _within(scenario.shards, (1, MAX_SHARDS), f"{where}: shards")
    _within(scenario.speed, (0, 1e9), f"{where}: speed")
    dns_label(scenario.namespace, f"{where}: namespace")
    if scenario.arrive_pct is not None:
        _within(scenario.arrive_pct, (1e-3, MAX_ARRIVE_PCT), f"{where}: arrive_pct")
        traces = [trace for each in scenario.workloads if (trace := trace_of(each))]
        filled = [trace for trace in traces if trace.format.fills]
        if len(filled) != 1:
            expected = "exactly one openb workload to fill the fleet with"
            raise InputError(f"{where}: arrive_pct", len(filled), expected, "or leave the key out")
    _check_fleet(scenario.fleet, f"{where}: fleet")
    for index, workload in enumerate(scenario.workloads):
        _check_workload(workload, f"{where}: workloads[{index}]")
    for index, queue in enumerate(scenario.queues):
        name, place = queue.get("name"), f"{where}: queues[{index}].name"
        if not isinstance(name, str):
            raise InputError(place, name, "the queue's name", "add a name")
        dns_subdomain(name, place)
    _check_parents([(str(queue["name"]), queue.get("parent")) for queue in scenario.queues], where)


def _check_name(name: str, where: str) -> None:
    """Refuse a name that is not a valid folder name: reports are written to that folder."""
    usable = name.isprintable() and "/" not in name and name not in (".", "..")
    if not usable or len(name.encode()) > MAX_NAME_BYTES:
        expected = f"a name for a folder: at most {MAX_NAME_BYTES} bytes, printable, without '/'"
        raise InputError(where, name, expected, "shorten it, or leave it out")


def _check_parents(queues: Sequence[tuple[str, object]], where: str) -> None:
    """Refuse unknown parents of queues, and cycles."""
    above = dict(queues)
    for index, (name, parent) in enumerate(queues):
        place = f"{where}: queues[{index}].parent"
        way = [name]
        while parent:
            if not isinstance(parent, str) or parent not in above:
                hint = did_you_mean(parent, above, "add it, or drop the key")
                raise InputError(place, parent, "the name of another queue", hint)
            way.append(str(parent))
            if parent == name:
                raise InputError(place, " -> ".join(way), "queues without a cycle", "drop one")
            if len(way) > len(above):
                break
            parent = above[str(parent)]


def _check_fleet(fleet: FleetSpec, where: str) -> None:
    """Check the fleet."""
    source = one_of(fleet, (*trace_names(fleet), *FLEET_SOURCES), where)
    _within(fleet.zones, (0, 1000), f"{where}.zones")
    if fleet.limit is not None:
        _within(fleet.limit, (1, MAX_NODES), f"{where}.limit")
    if source == "manifests":
        _some(fleet.manifests or (), f"{where}.manifests")
        for name in ("filter", "limit", "zones"):
            if value := getattr(fleet, name):
                expected = "no such key together with manifests, which are used unchanged"
                raise InputError(f"{where}.{name}", value, expected)
    _some(fleet.shapes, f"{where}.shapes")
    for index, shape in enumerate(fleet.shapes or ()):
        _check_shape(shape, f"{where}.shapes[{index}]")


def _check_shape(shape: NodeShapeSpec, where: str) -> None:
    """Check one node shape."""
    _within(shape.count, (1, MAX_NODES), f"{where}.count")
    _amount("cpu", shape.cpu, (1, MAX_CPU_MILLI), f"{where}.cpu")
    _amount("memory", shape.memory, (1 << 20, MAX_MEMORY_MIB << 20), f"{where}.memory")
    _within(shape.gpus, (0, MAX_GPUS), f"{where}.gpus")
    _within(shape.pods, (1, 100_000), f"{where}.pods")
    label_value(shape.model or "-", f"{where}.model")
    label_value(shape.zone, f"{where}.zone")
    if shape.name:
        dns_subdomain(shape.name, f"{where}.name")
    _check_labels(shape.labels, f"{where}.labels")
    for index, taint in enumerate(shape.taints):
        _check_labels({taint.key: taint.value}, f"{where}.taints[{index}]")


def _check_workload(workload: WorkloadSpec, where: str) -> None:
    """Check one workload."""
    source = one_of(workload, (*trace_names(workload), *WORK_SOURCES), where)
    if workload.name:
        dns_subdomain(workload.name, f"{where}.name")
    if workload.limit is not None:
        _within(workload.limit, (1, MAX_ARRIVALS), f"{where}.limit")
        if source in WORK_SOURCES:
            expected = f"no such key together with {source}: it is for traces"
            raise InputError(f"{where}.limit", workload.limit, expected)
    if workload.arrival is not None:
        _check_arrival(workload.arrival, f"{where}.arrival")
    _some(workload.manifests, f"{where}.manifests")
    if workload.pods is not None:
        _check_pods(workload.pods, f"{where}.pods")
    if workload.synthetic is not None:
        _check_synthetic(workload.synthetic, f"{where}.synthetic")
    if workload.demand is not None:
        _check_demand(workload, workload.demand, where)
    if workload.fields is not None:
        if source in WORK_SOURCES and source != "trace":
            expected = f"no such key together with {source}: it is for traces"
            hint = "write the fields in pods" if source == "pods" else "drop the key"
            raise InputError(f"{where}.fields", None, expected, hint)
        _check_fields(workload.fields, f"{where}.fields")


def _check_demand(workload: WorkloadSpec, demand: DemandSpec, where: str) -> None:
    """Check the demand for a service."""
    dns_subdomain(demand.policy, f"{where}.demand.policy")
    _within(demand.per_replica, (1e-9, 1e12), f"{where}.demand.per_replica")
    if workload.arrival is not None:
        expected = "no such key together with demand: its series has the times"
        raise InputError(f"{where}.arrival", None, expected, "drop the key")


def _check_fields(fields: TraceFields, where: str) -> None:
    """Check the fields of the pods of a trace."""
    _check_labels(fields.labels, f"{where}.labels")
    for key in fields.annotations:
        label_key(key, f"{where}.annotations")
    check_spec(fields.spec, f"{where}.spec")


def _check_synthetic(pods: SyntheticPods, where: str) -> None:
    """Check pods of many classes."""
    _within(pods.count, (1, MAX_ARRIVALS), f"{where}.count")
    _within(pods.classes, (1, MAX_CLASSES), f"{where}.classes")
    _within(pods.constrained, (0, 1), f"{where}.constrained")
    _within(pods.units, (1, MAX_UNIT), f"{where}.units")
    if pods.gangs and pods.count % pods.units:
        expected = f"a multiple of units, {pods.units}, so that each gang is whole"
        raise InputError(f"{where}.count", pods.count, expected)


def _check_arrival(arrival: ArrivalSpec, where: str) -> None:
    """Check the arrivals of a workload."""
    one_of(arrival, ARRIVALS, where)
    _within(arrival.start, (0, _MAX_TIME_S), f"{where}.start")
    if arrival.at is not None:
        _within(arrival.at, (0, _MAX_TIME_S), f"{where}.at")


def _check_pods(pods: PodsSpec, where: str) -> None:
    """Check equal pods."""
    _within(pods.count, (1, MAX_ARRIVALS), f"{where}.count")
    _amount("cpu", pods.cpu, (0, MAX_CPU_MILLI), f"{where}.cpu")
    _amount("memory", pods.memory, (0, MAX_MEMORY_MIB << 20), f"{where}.memory")
    _within(pods.gpus, (0, MAX_GPUS), f"{where}.gpus")
    low, why = (
        (1, "") if pods.gpus == 1 else (WHOLE_GPU, ", since only a pod with one GPU may share it")
    )
    _within(pods.gpu_milli, (low, WHOLE_GPU), f"{where}.gpu_milli", why)
    _within(pods.priority, (-(2**31), 2**31 - 1), f"{where}.priority")
    if pods.duration is not None:
        _within(pods.duration, (0, _MAX_TIME_S), f"{where}.duration")
    if pods.estimate is not None:
        _within(pods.estimate, (0, _MAX_TIME_S), f"{where}.estimate")
    for name, quantity in pods.resources.items():
        label_key(name, f"{where}.resources")
        _amount(name, quantity, (0, 10**15), f"{where}.resources.{name}")
    for index, model in enumerate(pods.gpu_models):
        label_value(model or "-", f"{where}.gpu_models[{index}]")
    label_value(pods.qos, f"{where}.qos")
    _check_labels(pods.labels, f"{where}.labels")
    for key in pods.annotations:
        label_key(key, f"{where}.annotations")
    check_spec(pods.spec, f"{where}.spec")
    _check_gang(pods, where)


def _check_gang(pods: PodsSpec, where: str) -> None:
    """Check that gangs are of equal size and that their minimum is reachable."""
    _within(pods.gang, (0, pods.count), f"{where}.gang", ", no more than count")
    if pods.gang and pods.count % pods.gang:
        raise InputError(f"{where}.count", pods.count, f"a multiple of gang, {pods.gang}")
    if pods.min_member is None:
        return
    if not pods.gang:
        hint = "set the number of pods in a gang"
        raise InputError(f"{where}.min_member", pods.min_member, "the key gang as well", hint)
    _within(pods.min_member, (1, pods.gang), f"{where}.min_member", ", the size of the gang")


def _check_labels(labels: dict[str, str], where: str) -> None:
    """Check labels by the rules of Kubernetes."""
    for key, value in labels.items():
        label_key(key, where)
        label_value(value, f"{where}.{key}")


def _within(value: float, bounds: tuple[float, float], where: str, why: str = "") -> None:
    """Refuse a number outside its bounds (and NaN)."""
    if not bounds[0] <= value <= bounds[1]:
        low, high = (int(each) if each == int(each) else each for each in bounds)
        raise InputError(where, value, f"{low}..{high}{why}" if low != high else f"{low}{why}")


def _amount(resource: str, quantity: Quantity, bounds: tuple[int, int], where: str) -> None:
    """Refuse an amount of a resource outside its bounds."""
    if not bounds[0] <= amount(resource, quantity, where) <= bounds[1]:
        low, high = (format_amount(resource, bound) for bound in bounds)
        raise InputError(where, quantity, f"{low}..{high}")


def _some(items: Sequence[object] | None, where: str) -> None:
    """Refuse an empty list."""
    if items is not None and not items:
        raise InputError(where, None, "at least one entry", "add one or drop the key")
