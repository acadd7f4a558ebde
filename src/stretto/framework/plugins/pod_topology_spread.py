"""PodTopologySpread: matching pods are spread over the values of a node label.

Hard constraints refuse exactly as in kube-scheduler: nodes that lack one of the labels, or that the
pod's policies exclude, count for no constraint; terminating pods are not counted. The score of the
soft constraints is absolute (``docs/parity/kube-scheduler.md``): the mean of ``100·k / (k + e)``,
where k is maxSkew and e is the number of pods above the emptiest domain (on a host key: the number
on the host); 0 without the label.
"""

from collections.abc import Hashable, Iterable, Mapping
from typing import Any, ClassVar, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from stretto.base.errors import InputError
from stretto.framework.contract.arguments import arguments, mapping, one_of, sequence, text, whole
from stretto.framework.contract.rule import (
    TOP_SCORE,
    BoolArray,
    Fail,
    FilterRule,
    IntArray,
    Neighbours,
    Refusal,
    Restrict,
    Rule,
    Scope,
    ScoreRule,
    SlotArray,
    Subject,
    View,
)
from stretto.state.classes.table import PodClass
from stretto.state.classes.terms import (
    HARD,
    NO_POPULATION,
    SOFT,
    SYSTEM_DEFAULTS,
    DefaultSpread,
    SpreadConstraint,
)
from stretto.state.work.units import Cure

Ints = npt.NDArray[np.int64]

NAME: Final = "PodTopologySpread"
UNEVEN: Final = "node(s) didn't match pod topology spread constraints"
NO_LABEL: Final = "node(s) didn't match pod topology spread constraints (missing required label)"

MAX_SKEW: Final = (1 << 31) - 1
"""Largest maxSkew, as in Kubernetes."""

_PODS: Final = Cure.POD_LEFT | Cure.POD_PLACED | Cure.POD_LABELS | Cure.POD_CHANGED
_NODES: Final = Cure.NODE_ADDED | Cure.NODE_LEFT | Cure.NODE_LABELS


class PodTopologySpreadRule(FilterRule, ScoreRule):
    """Refuses values with too many pods, and prefers values with few."""

    NAME: ClassVar[str] = NAME
    SCOPE: ClassVar[Scope] = Scope.DOMAIN
    FUSED: ClassVar[bool] = True
    SUBJECT: ClassVar[Subject] = Subject.OTHER_PODS
    WEIGHT: ClassVar[int] = 2
    CURES: ClassVar[Cure] = _PODS | _NODES | Cure.NODE_TAINTS

    def __init__(self, args: Mapping[str, Any]) -> None:
        """Read ``defaultingType`` and ``defaultConstraints`` in kube-scheduler's form."""
        super().__init__(args)
        #: Constraints of pods without constraints of their own.
        self.defaults: tuple[DefaultSpread, ...] = _read_defaults(args)

    def signature(self, pod: PodClass) -> Hashable | None:
        """The constraints; ``None`` without any."""
        wants = pod.terms
        if not (wants.hard or wants.soft or wants.malformed):
            return None
        return (wants.epoch, wants.hard, wants.soft, wants.from_defaults, wants.malformed)

    def cures(self, pod: PodClass) -> Cure:
        """Events that change a count or the smallest count; taints if a policy honours them."""
        wants = pod.terms
        if wants.malformed:
            return Cure.POD_CHANGED
        if not wants.hard:
            return Cure.NONE
        by_taints = any(each.by_taints for each in wants.hard)
        return _PODS | _NODES | (Cure.NODE_TAINTS if by_taints else Cure.NONE)

    def prepare(self, pod: PodClass, view: View) -> Restrict | Fail | None:
        """Refuse the pod everywhere if its constraints are malformed."""
        if pod.terms.malformed:
            return Fail(f"get constraints from pod: {pod.terms.malformed}")
        return None

    def filter(self, pod: PodClass, view: View, slots: SlotArray) -> BoolArray:
        """bool[k]: true where no hard constraint is violated."""
        if pod.terms.malformed:
            return np.zeros(len(slots), np.bool_)
        passes = np.ones(len(slots), np.bool_)
        for refusal in self.refusals(pod, view, slots):
            passes &= ~refusal.mask
        return passes

    def refusals(self, pod: PodClass, view: View, slots: SlotArray) -> list[Refusal]:
        """Refusals: each node under the first constraint that it violates."""
        look, wants = view.look, pod.terms
        if look is None or wants.malformed:
            return []
        bare, uneven = np.zeros(look.size, np.bool_), np.zeros(look.size, np.bool_)
        for each in wants.hard:
            domain = look.domain(each.key)
            before = bare | uneven
            bare |= (domain == 0) & ~before
            uneven |= _too_many(pod, look, each) & ~before & (domain > 0)
        masks = ((NO_LABEL, bare[slots], False), (UNEVEN, uneven[slots], True))
        return [Refusal(text, mask, resolvable=r) for text, mask, r in masks if mask.any()]

    def score(self, pod: PodClass, view: View, slots: SlotArray) -> IntArray:
        """int32[k]: higher for fewer pods above the emptiest domain."""
        total = np.zeros(len(slots), np.int64)
        soft = pod.terms.soft
        if view.look is not None:
            for each in soft:
                total += _evenness(pod, view.look, each)[slots] // len(soft)
        return total.astype(np.int32)


def default_spread(
    filters: Iterable[Rule], scores: Iterable[tuple[Rule, int]]
) -> tuple[DefaultSpread, ...]:
    """Default constraints of a profile's rules, if they have an effect."""
    weighed = [
        rule for rule, weight in scores if weight and isinstance(rule, PodTopologySpreadRule)
    ]
    rules = [*(rule for rule in filters if isinstance(rule, PodTopologySpreadRule)), *weighed]
    return tuple(each for each in rules[0].defaults if each.hard or weighed) if rules else ()


def _read_defaults(args: Mapping[str, Any]) -> tuple[DefaultSpread, ...]:
    """Read the constraints for pods without any: Kubernetes' own, or a list."""
    given = arguments(args, ("defaultingType", "defaultConstraints"), NAME)
    where = f"args of {NAME}"
    kinds = ("System", "List")
    kind = one_of(given.get("defaultingType", "System"), kinds, f"{where}: defaultingType")
    listed = sequence(given.get("defaultConstraints"), f"{where}: defaultConstraints")
    if kind == "System":
        if listed:
            expected = "no list, or defaultingType: List"
            raise InputError(f"{where}: defaultConstraints", list(listed), expected)
        return SYSTEM_DEFAULTS
    keys = ("maxSkew", "topologyKey", "whenUnsatisfiable")
    found = []
    for i, item in enumerate(listed):
        place = f"{where}: defaultConstraints[{i}]"
        each = mapping(item, keys, place)
        action = one_of(each.get("whenUnsatisfiable"), (HARD, SOFT), f"{place}.whenUnsatisfiable")
        key = text(each.get("topologyKey"), f"{place}.topologyKey")
        skew = whole(each.get("maxSkew"), 1, MAX_SKEW, f"{place}.maxSkew")
        found.append(DefaultSpread(key, skew, action == HARD))
    return tuple(found)


class DomainCounts(NamedTuple):
    """Counts of one hard constraint."""

    #: int64[domain]: number of matching pods by value.
    sums: Ints
    #: bool[domain]: values that count.
    present: BoolArray
    #: Number of matching pods up to which a domain accepts one more.
    limit: int

    @property
    def too_many(self) -> BoolArray:
        """bool[domain]: values that accept no further pods."""
        return np.asarray(self.sums > self.limit)


def domain_counts(pod: PodClass, look: Neighbours, each: SpreadConstraint) -> DomainCounts:
    """Pods that a hard constraint counts, and the maximum of a domain."""
    counting = look.counting(pod, each, pod.terms.hard)
    sums, present = look.sums(each.population, each.key, counting), look.present(each.key, counting)
    enough = int(present.sum()) >= max(each.least, 1)
    least = int(sums[present].min()) if enough else 0
    return DomainCounts(sums, present, each.skew + least - each.own)


def _too_many(pod: PodClass, look: Neighbours, each: SpreadConstraint) -> BoolArray:
    """bool[slot]: true where one more pod would violate a hard constraint."""
    return np.asarray(domain_counts(pod, look, each).too_many[look.domain(each.key)])


def _evenness(pod: PodClass, look: Neighbours, each: SpreadConstraint) -> Ints:
    """int64[slot]: 0..100 for one soft constraint."""
    domain = look.domain(each.key)
    if each.population != NO_POPULATION and look.is_host(each.key):
        above = look.pods(each.population)
    else:
        counting = look.counting(pod, each, () if pod.terms.from_defaults else pod.terms.soft)
        sums = look.sums(each.population, each.key, counting)
        present = look.present(each.key, counting)
        least = int(sums[present].min()) if present.any() else 0
        above = np.maximum(sums - least, 0)[domain]
    return np.asarray(np.where(domain > 0, TOP_SCORE * each.skew // (each.skew + above), 0))
