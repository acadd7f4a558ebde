"""NodeResourcesFit: enough of every resource, and a score by how full the node would be.

The filter checks each amount and one pod slot. The score follows ``scoringStrategy``, as in
kube-scheduler: LeastAllocated spreads, MostAllocated packs, RequestedToCapacityRatio follows a
shape over the used share. Formulas: ``framework.compiled.amounts``.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

import numpy as np

from stretto.base.errors import InputError
from stretto.framework.compiled.amounts import amount_score
from stretto.framework.compiled.tables import REQUESTS, CompiledScore, ScoreCode
from stretto.framework.contract import arguments as read
from stretto.framework.contract.requests import amount_of, scaled_requests
from stretto.framework.contract.rule import (
    BoolArray,
    Fail,
    FilterRule,
    IntArray,
    Refusal,
    Scope,
    ScoreRule,
    SlotArray,
    View,
)
from stretto.state.classes.table import PodClass
from stretto.state.rows.resources import PODS, ResourceColumns
from stretto.state.work.units import Cure

NAME: Final = "NodeResourcesFit"
INSUFFICIENT: Final = "Insufficient {}"
TOO_MANY_PODS: Final = "Too many pods"
TOO_MANY_RESOURCES: Final = f"requests more than {REQUESTS - 1} different resources"

STRATEGIES: Final[Mapping[str, ScoreCode]] = {
    "LeastAllocated": ScoreCode.LEAST,
    "MostAllocated": ScoreCode.MOST,
    "RequestedToCapacityRatio": ScoreCode.RATIO,
}
"""Scoring strategies by their name in kube-scheduler's arguments."""

_STRATEGY: Final = f"args of {NAME}: scoringStrategy"
_RATIO: Final = "requestedToCapacityRatio"
_IGNORED: Final = ("ignoredResources", "ignoredResourceGroups")


class NodeResourcesFitRule(FilterRule, ScoreRule):
    """Refuses nodes without the requested amounts, and scores by what stays free."""

    NAME: ClassVar[str] = NAME
    SCOPE: ClassVar[Scope] = Scope.SLOT
    CURES: ClassVar[Cure] = Cure.POD_LEFT | Cure.NODE_ADDED | Cure.NODE_GREW | Cure.POD_CHANGED
    FUSED: ClassVar[bool] = True

    def __init__(self, args: Mapping[str, Any]) -> None:
        """Read ``scoringStrategy: {type, resources, requestedToCapacityRatio}``."""
        super().__init__(args)
        given = read.arguments(args, ("scoringStrategy", *_IGNORED), NAME)
        for key in _IGNORED:
            if given.get(key):
                hint = "a resource that is not counted would be over-committed"
                raise InputError(f"args of {NAME}: {key}", given[key], "an empty list", hint)
        keys = ("type", "resources", _RATIO)
        strategy = read.mapping(given.get("scoringStrategy"), keys, _STRATEGY)
        kind = read.one_of(strategy.get("type", "LeastAllocated"), STRATEGIES, f"{_STRATEGY}.type")
        #: Formula of the score.
        self.code = STRATEGIES[kind]
        #: Resources with their weights.
        self.resources = read.resource_weights(strategy.get("resources"), f"{_STRATEGY}.resources")
        #: Points of the shape; empty for other strategies.
        self.shape: read.Shape = ()
        ratio = read.mapping(strategy.get(_RATIO), ("shape",), f"{_STRATEGY}.{_RATIO}")
        if self.code is ScoreCode.RATIO:
            self.shape = read.shape(ratio.get("shape"), f"{_STRATEGY}.{_RATIO}.shape")
        elif ratio:
            expected = "nothing, unless the type is RequestedToCapacityRatio"
            raise InputError(f"{_STRATEGY}.{_RATIO}", ratio, expected)

    def prepare(self, pod: PodClass, view: View) -> Fail | None:
        """Refuse a class that requests more resources than the kernels support."""
        return Fail(TOO_MANY_RESOURCES) if _too_many(pod) else None

    def filter(self, pod: PodClass, view: View, slots: SlotArray) -> BoolArray:
        """bool[k]: true where every amount and a pod slot are free."""
        columns = view.columns
        passes = np.full(len(slots), not _too_many(pod), np.bool_)
        for column, amount in scaled_requests(pod, view).items():
            if column >= len(columns.free):
                passes[:] = False
            else:
                passes &= columns.free[column, slots] >= amount
        return passes

    def refusals(self, pod: PodClass, view: View, slots: SlotArray) -> list[Refusal]:
        """One reason per resource; unresolvable if even the empty node has too little."""
        columns, found = view.columns, []
        if _too_many(pod):
            everywhere = np.ones(len(slots), np.bool_)
            return [Refusal(TOO_MANY_RESOURCES, everywhere, resolvable=False)]
        for column, amount in sorted(scaled_requests(pod, view).items(), key=_pods_first):
            reason = _reason(columns.ledger.resources.names[column])
            if column >= len(columns.free):
                found.append(Refusal(reason, np.ones(len(slots), np.bool_), resolvable=False))
                continue
            short = columns.free[column, slots] < amount
            never = columns.alloc[column, slots] < amount
            found.append(Refusal(reason, short & ~never))
            found.append(Refusal(reason, short & never, resolvable=False))
        return [each for each in found if each.mask.any()]

    def lacks(self, pod: PodClass, view: View, slot: int) -> Sequence[tuple[str, int, int]]:
        """(resource, requested, free) in exact units of each resource that a slot lacks."""
        ledger = view.columns.ledger
        names, steps = ledger.resources.names, ledger.resources.steps
        found = []
        for column, amount in sorted([*pod.requests, (PODS, 1)], key=_pods_first):
            known = column < len(view.columns.free)
            free = int(view.columns.free[column, slot]) * steps[column] if known else 0
            if -(-amount // steps[column]) * steps[column] > free:
                found.append((names[column], amount, free))
        return found

    def score(self, pod: PodClass, view: View, slots: SlotArray) -> IntArray:
        """int32[k]: the strategy's score."""
        amounts = [amount_of(pod, view, name, slots) for name, _ in self.resources]
        return amount_score(self.compiled(view.columns.ledger.resources), amounts)

    def compiled(self, resources: ResourceColumns) -> CompiledScore:
        """The strategy with its columns, weights and shape."""
        return CompiledScore(
            self.code,
            tuple(resources.column(name) for name, _ in self.resources),
            tuple(float(weight) for _, weight in self.resources),
            self.shape,
        )


def _too_many(pod: PodClass) -> bool:
    """True if a class requests more resources than the kernels support, with its pod slot."""
    return len(pod.requests) + 1 > REQUESTS


def _pods_first(entry: tuple[int, int]) -> tuple[bool, int]:
    """Sort key: kube-scheduler names the pod slots first, then the resources."""
    return entry[0] != PODS, entry[0]


def _reason(name: str) -> str:
    """Kubernetes' reason for too little of a resource."""
    return TOO_MANY_PODS if name == "pods" else INSUFFICIENT.format(name)
