"""Recorded scores of Volcano's plugins binpack and usage, by ``models.volcano``."""

import re
from collections.abc import Mapping
from math import inf
from typing import Any, Final

import msgspec

from stretto.api.wire import quantity
from stretto.base.errors import InputError
from stretto.capacity.model.profiles import CapacityProfile
from stretto_lab.models.volcano.packing import PackingWeights, packing_score
from stretto_lab.models.volcano.shadow import (
    MIB,
    MeasuredNode,
    ShadowEstimate,
    ShadowTask,
    ShadowWeights,
    TaskPhase,
    TwoResources,
    UsageRules,
    shadow_load,
    takes_tasks,
    usage_score,
)

Fields = dict[str, Any]
"""The members of an input or of a result."""

CHARGED: Final = frozenset(("Allocated", "Binding", "Bound"))
"""States of tasks that have an allocation."""
_DURATION: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h)")
_UNIT_S: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def binpack(given: Fields) -> Fields:
    """``vo_binpack``: the packing score of each node."""
    arguments = given.get("arguments") or {}
    listed = arguments.get("binpack.resources")
    names = map(str.strip, listed.split(",")) if isinstance(listed, str) else ()
    weights = {name: _weight(arguments, f"binpack.resources.{name}") for name in names if name}
    weights |= {name: _weight(arguments, f"binpack.{name}") for name in ("cpu", "memory")}
    rules = PackingWeights(weights, _whole(arguments, "binpack.weight", 1, least=-inf))
    scores = {
        node["name"]: packing_score(
            given["requests"], node["used"], node["allocatable"], rules, CapacityProfile.VOLCANO
        )
        for node in given["nodes"]
    }
    return {"scores": scores}


def _weight(arguments: Mapping[str, Any], name: str) -> float:
    """A weight; negative weights count as 1."""
    return _whole(arguments, name, 1)


class UsageTask(msgspec.Struct, frozen=True):
    """A task of ``vo_usage``."""

    #: Its state.
    status: str
    #: Requests.
    requests: dict[str, int] = {}
    #: Limits.
    limits: dict[str, int] = {}
    #: Seconds since it started.
    started_ago_s: float | None = None

    def task(self) -> ShadowTask:
        """The task as input of the models."""
        phase = TaskPhase.COMING if self.status in CHARGED else TaskPhase.STARTED
        return ShadowTask(_two(self.requests), _two(self.limits), phase, self.started_ago_s)


class UsageNode(msgspec.Struct, frozen=True):
    """A node of ``vo_usage``."""

    #: Its name.
    name: str
    #: Allocatable amounts.
    capacity: dict[str, int]
    #: Used percentage.
    cpu_usage_percent: float
    #: Used percentage.
    memory_usage_percent: float
    #: Seconds since the metrics were measured.
    metrics_age_s: float
    #: Tasks on it.
    tasks: tuple[UsageTask, ...] = ()
    #: Tasks that are placed on the node, in order.
    allocate_now: tuple[UsageTask, ...] = ()

    def node(self) -> MeasuredNode:
        """The node as input of the models."""
        used = TwoResources(self.cpu_usage_percent / 100, self.memory_usage_percent / 100)
        return MeasuredNode(_two(self.capacity), used, self.metrics_age_s)


def usage(given: Fields) -> Fields:
    """``vo_usage``: predicate, load that is not measured yet, and score of each node."""
    rules = _usage_rules(given.get("arguments") or {}, given.get("metrics_interval", ""))
    nodes = msgspec.convert(given["nodes"], tuple[UsageNode, ...])
    return {"nodes": [_judged(each, rules) for each in nodes]}


def _judged(recorded: UsageNode, rules: UsageRules) -> Fields:
    node = recorded.node()
    present = [e.task() for e in recorded.tasks if e.status in CHARGED or e.status == "Running"]
    shadow = shadow_load(node, present, rules)
    found = {
        "node": recorded.name,
        "pass": takes_tasks(node, rules),
        "score": usage_score(node, shadow, rules),
        "shadow_cpu": shadow.cpu,
        "shadow_memory": shadow.memory,
    }
    if recorded.allocate_now:
        after = shadow_load(node, [e.task() for e in recorded.allocate_now], rules, shadow)
        found |= {
            "score_after": usage_score(node, after, rules),
            "shadow_cpu_after": after.cpu,
            "shadow_memory_after": after.memory,
        }
    return found


def _usage_rules(arguments: Fields, interval: str) -> UsageRules:
    """The rules of plugin arguments; values outside their range select the default."""
    estimator = arguments.get("estimator") or {}
    thresholds = arguments.get("thresholds") or {}
    plain, estimate = UsageRules(), ShadowEstimate()
    best_effort = estimate.best_effort
    return UsageRules(
        ShadowEstimate(
            _number(estimator, "request_ratio", estimate.request_ratio, 0, 1),
            _number(estimator, "burst_ratio", estimate.burst_ratio, 0, 1),
            _number(estimator, "risk_threshold", estimate.risk_threshold, 0, 1),
            _number(estimator, "risk_factor", estimate.risk_factor, 1),
            TwoResources(
                _amount("cpu", estimator.get("be_cpu"), best_effort.cpu),
                _amount("memory", estimator.get("be_mem"), best_effort.memory),
            ),
        ),
        ShadowWeights(_whole(arguments, "cpu.weight", 1), _whole(arguments, "memory.weight", 1)),
        _whole(arguments, "usage.weight", plain.weight),
        TwoResources(
            _whole(thresholds, "cpu", plain.thresholds.cpu, 100),
            _whole(thresholds, "mem", plain.thresholds.memory, 100),
        ),
        interval_s=_seconds(interval) or plain.interval_s,
    )


def _number(
    given: Mapping[str, Any], name: str, default: float, least: float = 0, most: float = inf
) -> float:
    value = given.get(name)
    return value if isinstance(value, int | float) and least <= value <= most else default


def _whole(
    given: Mapping[str, Any], name: str, default: float, most: float = inf, least: float = 0
) -> float:
    """A whole number in its range; other values select the default."""
    value = given.get(name)
    return _number(given, name, default, least, most) if isinstance(value, int) else default


def _amount(resource: str, written: object, default: float) -> float:
    """An amount: a quantity, or a number of milli-CPU or MiB."""
    if isinstance(written, int) and written >= 0:
        return written * (1 if resource == "cpu" else MIB)
    try:
        found = quantity.amount(resource, written if isinstance(written, str) else "", resource)
    except InputError:
        return default
    return found if found >= 0 else default


def _seconds(written: str) -> float:
    """Seconds in a Go duration; 0 if it is unreadable."""
    parts = _DURATION.findall(written)
    if "".join(number + unit for number, unit in parts) != written:
        return 0.0
    return sum(float(number) * _UNIT_S[unit] for number, unit in parts)


def _two(amounts: Mapping[str, int]) -> TwoResources:
    return TwoResources(amounts.get("cpu", 0), amounts.get("memory", 0))
