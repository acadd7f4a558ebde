"""Adapter from recorded inputs of Koordinator's load-aware placement to the load models."""

from typing import Any

import msgspec

from stretto.base.errors import InputError
from stretto.capacity.load import estimate as estimates
from stretto.capacity.model.classes import Band
from stretto_lab.conformance.capacity.pods import PodInput
from stretto_lab.models.koordinator.load import rules as load_rules
from stretto_lab.models.koordinator.load.rules import (
    DEFAULT_THRESHOLDS,
    DEFAULT_WEIGHTS,
    Expired,
    IncomingPod,
    LoadedNode,
    LoadRules,
    Thresholds,
)
from stretto_lab.models.koordinator.load.usage import (
    REPORT_INTERVAL,
    AssignedPod,
    NodeReport,
    Percentile,
    ReportedUse,
)

Fields = dict[str, Any]
"""The members of an input or of a result."""
Amounts = dict[str, int]

_NEVER = float("inf")
_ENDED = ("Failed", "Succeeded")


class BareNode(msgspec.Struct, frozen=True):
    """A node of the family ``ko_estimator``."""

    #: Allocatable amounts.
    allocatable: Amounts = {}
    #: Amounts before amplification, if given.
    raw_allocatable: Amounts = {}


class EstimatorInput(msgspec.Struct, frozen=True):
    """The input of the family ``ko_estimator``."""

    #: The pod.
    pod: PodInput
    #: The node.
    node: BareNode
    #: Factors in percent.
    estimate_factors: Amounts = {}
    #: True if the pod's own factors apply.
    allow_custom_estimation: bool = False


class PercentileArgs(msgspec.Struct, frozen=True):
    """Percentiles of filter and score."""

    #: Limits of the filter.
    filter_thresholds: Amounts = {}
    #: Percentile of the filter.
    filter_type: str = ""
    #: Its duration.
    filter_duration_s: float = 0
    #: Percentile of the score.
    score_type: str = ""
    #: Its duration.
    score_duration_s: float = 0


class LoadArgs(msgspec.Struct, frozen=True):
    """Arguments of the plugin; a node overrides the limits."""

    #: Limits in percent.
    thresholds: Amounts = {}
    #: Limits for online pods.
    prod_thresholds: Amounts = {}
    #: Percentiles.
    aggregated: PercentileArgs | None = None
    #: Weights of the score.
    weights: Amounts = {}
    #: Weight of the scarcest resource.
    dominant_weight: int = 0
    #: True if online pods are scored by online usage.
    score_by_prod_usage: bool = False
    #: True if online usage includes the system's.
    prod_usage_includes_system: bool = False
    #: Seconds until a report expires.
    expiration_s: float = 180
    #: True if expired reports are judged first.
    filter_expired: bool = True
    #: True if pods are placed by expired reports.
    schedule_when_expired: bool = False
    #: Factors of estimates.
    estimate_factors: Amounts = {}
    #: True if the pods' own factors and seconds apply.
    allow_custom_estimation: bool = False
    #: Seconds in which estimates count.
    estimate_s_after_scheduled: float | None = None
    #: Seconds in which estimates count after initialization.
    estimate_s_after_initialized: float | None = None


class AssignedInput(PodInput, frozen=True, kw_only=True):
    """A pod on a node."""

    #: Seconds since it was scheduled.
    scheduled_ago_s: float = 0
    #: Seconds since its containers were initialized.
    initialized_ago_s: float | None = None
    #: Its own seconds after scheduling.
    custom_s_after_scheduled: float | None = None
    #: Its own seconds after initialization.
    custom_s_after_initialized: float | None = None
    #: Phase.
    phase: str = "Running"


class NewPodInput(PodInput, frozen=True, kw_only=True):
    """The pod to place."""

    #: True if a DaemonSet owns it.
    daemonset: bool = False


class PercentilesInput(msgspec.Struct, frozen=True):
    """Percentiles over a time."""

    #: Seconds.
    duration_s: float
    #: Usage by percentile.
    usage: dict[str, Amounts] = {}


class ReportedPodInput(msgspec.Struct, frozen=True):
    """Measured usage of a pod."""

    #: Name.
    name: str
    #: Usage; ``None`` if the report has none.
    usage: Amounts = {}
    #: Band in the report.
    priority: str = ""


class ReportInput(msgspec.Struct, frozen=True):
    """The report of a node."""

    #: Seconds since the report; ``None`` for a report without time.
    age_s: float | None = None
    #: Usage of the node.
    usage: Amounts = {}
    #: Usage outside pods.
    system_usage: Amounts = {}
    #: Percentiles.
    aggregated: tuple[PercentilesInput, ...] = ()
    #: Pods.
    pods: tuple[ReportedPodInput, ...] = ()
    #: Seconds between reports.
    report_interval_s: float = REPORT_INTERVAL
    #: True if the report has no usage of the node.
    no_node_metric: bool = False

    def report(self) -> NodeReport:
        """The report as input of the models; later percentiles of a duration complete it."""
        percentiles: dict[float, dict[str, Amounts]] = {}
        for each in self.aggregated:
            known = {name: usage for name, usage in each.usage.items() if usage}
            percentiles.setdefault(each.duration_s, {}).update(known)
        return NodeReport(
            None if self.no_node_metric else self.usage,
            self.system_usage,
            percentiles,
            {
                each.name: ReportedUse(each.usage, each.priority == "koord-prod")
                for each in self.pods
            },
            _NEVER if self.age_s is None else self.age_s,
            self.report_interval_s,
        )


class LoadNodeInput(msgspec.Struct, frozen=True):
    """A node of the family ``ko_loadaware``."""

    #: Name.
    name: str
    #: Allocatable amounts.
    allocatable: Amounts = {}
    #: Amounts before amplification, if given.
    raw_allocatable: Amounts = {}
    #: Pods on the node.
    assigned: tuple[AssignedInput, ...] = ()
    #: Report.
    metric: ReportInput | None = None
    #: Limits of this node.
    custom: LoadArgs = LoadArgs()


class LoadInput(msgspec.Struct, frozen=True):
    """The input of the family ``ko_loadaware``."""

    #: Arguments of the plugin.
    args: LoadArgs
    #: The pod.
    pod: NewPodInput
    #: Nodes.
    nodes: tuple[LoadNodeInput, ...]


def estimator(given: Fields) -> Fields:
    """``ko_estimator``: the expected usage of a pod, and the amounts of a node."""
    fields = msgspec.convert(given, EstimatorInput)
    factors = {**estimates.DEFAULT_FACTORS, **fields.estimate_factors}
    pod = _estimate(fields.pod, factors, custom=fields.allow_custom_estimation)
    return {"pod": pod, "node": {**fields.node.allocatable, **fields.node.raw_allocatable}}


def load_aware(given: Fields) -> Fields:
    """``ko_loadaware``: filter and score of each node."""
    fields = msgspec.convert(given, LoadInput)
    args, rules = fields.args, _rules(fields.args)
    try:
        rules.check()
        load_rules.check_factors(args.estimate_factors)
    except InputError:
        return {"invalid": True}
    pod = IncomingPod(_estimated(fields.pod, args), fields.pod.band() is Band.PROD)
    nodes = []
    for each in fields.nodes:
        node = _node(each, args)
        verdict = "" if fields.pod.daemonset else _verdict(each, node, pod, rules)
        nodes.append(
            {"node": each.name, "filter": verdict, "score": load_rules.score(node, pod, rules)}
        )
    return {"nodes": nodes}


def _rules(args: LoadArgs) -> LoadRules:
    aggregated = args.aggregated or PercentileArgs()
    return LoadRules(
        _limits(args, Thresholds(dict(DEFAULT_THRESHOLDS))),
        _weights(args),
        args.dominant_weight,
        Percentile(aggregated.score_type, aggregated.score_duration_s),
        args.score_by_prod_usage,
        args.prod_usage_includes_system,
        args.expiration_s,
        _expired(args),
    )


def _expired(args: LoadArgs) -> Expired:
    if not args.filter_expired:
        return Expired.JUDGE
    return Expired.PASS if args.schedule_when_expired else Expired.REJECT


def _weights(args: LoadArgs) -> Amounts:
    """Weights; the defaults apply only if the scarcest resource has no weight."""
    if not args.weights and not args.dominant_weight:
        return dict(DEFAULT_WEIGHTS)
    return args.weights


def _limits(args: LoadArgs, base: Thresholds) -> Thresholds:
    """``base``, with each group in ``args`` replaced as a whole.

    A group of percentiles without thresholds or without a percentile is ignored.
    """
    latest = args.thresholds or base.latest
    prod = args.prod_thresholds or base.prod
    given = args.aggregated
    if given is None or not (given.filter_type and given.filter_thresholds):
        return Thresholds(latest, prod, base.percentile, base.of)
    of = Percentile(given.filter_type, given.filter_duration_s)
    return Thresholds(latest, prod, given.filter_thresholds, of)


def _verdict(given: LoadNodeInput, node: LoadedNode, pod: IncomingPod, rules: LoadRules) -> str:
    found = load_rules.reject(node, pod, _limits(given.custom, rules.thresholds), rules)
    if found is None:
        return ""
    if not found.resource:
        return "Unschedulable: node(s) nodeMetric expired"
    kind = "aggregated usage" if found.percentile else "usage"
    return f"Unschedulable: node(s) {found.resource} {kind} exceed threshold"


def _node(given: LoadNodeInput, args: LoadArgs) -> LoadedNode:
    assigned = tuple(_assigned(each, args) for each in given.assigned if each.phase not in _ENDED)
    report = None if given.metric is None else given.metric.report()
    return LoadedNode({**given.allocatable, **given.raw_allocatable}, report, assigned)


def _assigned(pod: AssignedInput, args: LoadArgs) -> AssignedPod:
    after_scheduled, after_initialized = (
        args.estimate_s_after_scheduled or 0,
        args.estimate_s_after_initialized or 0,
    )
    if args.allow_custom_estimation:
        if pod.custom_s_after_scheduled is not None:
            after_scheduled = pod.custom_s_after_scheduled
        if pod.custom_s_after_initialized is not None:
            after_initialized = pod.custom_s_after_initialized
    return AssignedPod(
        pod.name,
        _estimated(pod, args),
        pod.band() is Band.PROD,
        pod.scheduled_ago_s,
        pod.initialized_ago_s,
        after_scheduled,
        after_initialized,
    )


def _estimated(pod: PodInput, args: LoadArgs) -> Amounts:
    factors = {**estimates.DEFAULT_FACTORS, **args.estimate_factors}
    return _estimate(pod, factors, custom=args.allow_custom_estimation)


def _estimate(pod: PodInput, factors: Amounts, *, custom: bool) -> Amounts:
    """The expected usage of a pod, with its own factors if ``custom``."""
    if custom:
        factors = {**factors, **pod.custom_factors}
    return estimates.estimate(pod.requests(), pod.limits(), factors, pod.band())
