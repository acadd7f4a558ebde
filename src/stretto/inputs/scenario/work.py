"""The workloads of a scenario as initial objects and arrivals."""

from stretto.api.types.heads import ENDED, decode_object_head, decode_pod_head
from stretto.api.wire.kinds import POD, POD_GROUP, Kind
from stretto.inputs.objects.admission import InputContext
from stretto.inputs.objects.manifests import ManifestOptions, load_with_notes
from stretto.inputs.objects.pod_templates import PodTemplates, TemplateSpec
from stretto.inputs.objects.relations import InputObject
from stretto.inputs.scenario.arrivals import ObjectArrival, WorkContext, WorkloadArrivals, times_of
from stretto.inputs.scenario.demand import replica_demands
from stretto.inputs.scenario.equal_pods import check_models, equal_pods
from stretto.inputs.scenario.schema import SyntheticPods, WorkloadSpec
from stretto.inputs.scenario.trace_source import trace_arrivals


def make_work(spec: WorkloadSpec, context: WorkContext) -> WorkloadArrivals:
    """The objects and arrivals of one workload."""
    if spec.manifests is not None:
        return _from_manifests(spec, context)
    if spec.synthetic is not None:
        return WorkloadArrivals((), _synthetic(spec, spec.synthetic, context))
    if spec.pods is not None:
        check_models(spec.pods, context)
        return WorkloadArrivals((), list(equal_pods(spec, spec.pods, context)))
    if spec.demand is not None:
        demands = list(replica_demands(spec.demand, context.scenario))
        return WorkloadArrivals((), (), demands=demands)
    return WorkloadArrivals((), list(trace_arrivals(spec, context)))


def _from_manifests(spec: WorkloadSpec, context: WorkContext) -> WorkloadArrivals:
    """Pending pods arrive; all other objects exist from the start."""
    scenario = context.scenario
    keeps = spec.missing_owners == "keep"
    options = ManifestOptions(scenario.namespace, keeps, keeps_scaled=True)
    paths = [scenario.path(path) for path in spec.manifests or ()]
    before = InputContext(context.objects, charges_pods=False)
    found, notes = load_with_notes(paths, options, context.node_objects, before)
    waiting = [each for each in found if _waits(each)]
    times = times_of(spec.arrival, len(waiting), context.rng).tolist()
    return WorkloadArrivals(
        [(each.kind, each.body) for each in found if not _waits(each)],
        [
            ObjectArrival(time, each.kind, each.namespace, each.name, each.body)
            for time, each in zip(times, waiting, strict=True)
        ],
        notes,
        admitted=True,
    )


def _waits(item: InputObject) -> bool:
    """True if an object is a pod without a node that has not ended."""
    if item.kind is not POD:
        return False
    head = decode_pod_head(item.body)
    return not head.spec.node_name and head.status.phase not in ENDED


def _synthetic(
    spec: WorkloadSpec, wanted: SyntheticPods, context: WorkContext
) -> list[ObjectArrival]:
    """Pods from templates, unit by unit, each PodGroup before its pods."""
    zones = {node.zone for node in context.nodes if node.zone}
    shape = TemplateSpec(
        wanted.classes,
        wanted.constrained,
        wanted.units,
        wanted.gangs,
        max(1, len(zones)),
        context.scenario.namespace,
        spec.name or context.prefix,
    )
    source = PodTemplates(shape, context.rng.child("pods"))
    bodies = source.bodies(wanted.count)
    units = -(-len(bodies) // wanted.units)
    times = times_of(spec.arrival, units, context.rng).tolist()
    groups = [
        _arrival(time, POD_GROUP, body)
        for time, body in zip(times, source.group_bodies, strict=False)
    ]
    pods = [_arrival(times[row // wanted.units], POD, body) for row, body in enumerate(bodies)]
    return groups + pods


def _arrival(time: float, kind: Kind, body: bytes) -> ObjectArrival:
    """An arrival with the name in its body."""
    meta = decode_object_head(body).metadata
    return ObjectArrival(time, kind, meta.namespace, meta.name, body)
