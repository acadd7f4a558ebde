"""What pods want of other pods: terms of affinity and constraints of spreading, compiled.

Two directions. A pod's own terms mean running pods; the terms that running pods state mean the pod.
Both speak of *populations*, sets of pods that are counted by slot (``state.affinity.index``): pods
that a selector means, or pods that state a term. What all pods of a class want, and where they
count themselves, is its ``ClassTerms``, in numbers of populations.

Kept as kube-scheduler has it: a namespace selector of the pod's own that an empty label set meets
means every namespace, and an empty selector of a spread constraint counts nobody but the pod.
"""

from collections.abc import Mapping
from enum import IntEnum
from typing import Final, NamedTuple

from stretto.api.types.pod import PodAffinity, PodAffinityTerm, PodSpec, TopologySpreadConstraint
from stretto.api.wire import selectors
from stretto.api.wire.selectors import EVERYTHING, Operator, Selector, SelectorRule

HARD: Final = "DoNotSchedule"
SOFT: Final = "ScheduleAnyway"
HOSTNAME: Final = "kubernetes.io/hostname"
ZONE: Final = "topology.kubernetes.io/zone"
NOBODY: Final = -1
"""In place of a population: no pod counts."""


class PodReach(NamedTuple):
    """The pods that one term means."""

    #: Namespaces named; ``None`` for every one.
    namespaces: frozenset[str] | None
    #: Labels of further namespaces.
    beyond: Selector
    #: Labels of the pods.
    selector: Selector

    def covers(self, namespace: str, namespace_labels: Mapping[str, str]) -> bool:
        """Whether pods of a namespace may be meant."""
        if self.namespaces is None or namespace in self.namespaces:
            return True
        return self.beyond.matches(namespace_labels)


class Population(NamedTuple):
    """Pods that all of some terms mean."""

    #: The terms.
    reaches: tuple[PodReach, ...]
    #: Whether pods count whose deletion was asked for.
    include_terminating: bool


class TermEffect(IntEnum):
    """How a running pod's term speaks."""

    #: Required affinity; counts in the score of who is meant.
    AFFINITY = 0
    #: Required anti-affinity: who is meant must stay away.
    ANTI = 1
    #: Preferred affinity.
    PREFERRED = 2
    #: Preferred anti-affinity.
    PREFERRED_ANTI = 3


class CarriedTerm(NamedTuple):
    """A term, and with it the population of the pods that state it."""

    #: How it speaks.
    stated: TermEffect
    #: Whom it means.
    reach: PodReach
    #: The node label whose value is the neighbourhood.
    key: str
    #: How much it counts, negative against.
    weight: int


class SpreadConstraint(NamedTuple):
    """One constraint of spreading."""

    #: The pods that count, or ``NOBODY``.
    population: int
    #: The node label.
    key: str
    #: By how many pods two values may differ.
    skew: int
    #: 1 where the pod counts itself.
    own: int
    #: With fewer values than this the least count is taken as 0.
    least: int
    #: Whether only nodes within the pod's node affinity count.
    by_affinity: bool
    #: Whether only nodes whose taints the pod tolerates count.
    by_taints: bool


class DefaultSpread(NamedTuple):
    """A constraint of the cluster, for pods that state none."""

    #: The node label.
    key: str
    #: By how many pods two values may differ.
    skew: int
    #: Whether it must hold; otherwise it should.
    hard: bool = False


class RunningTermScoring(NamedTuple):
    """How the terms that running pods state count in the score of a pod that they mean."""

    #: What required affinity counts; 0 for nothing.
    required: int = 1
    #: Whether they count only for pods that have preferences of their own.
    mutual: bool = False


SYSTEM_DEFAULTS: Final = (DefaultSpread(HOSTNAME, 3), DefaultSpread(ZONE, 5))
"""Kubernetes' own: a skew of 3 over hosts and of 5 over zones, both wishes."""


class ClassTerms(NamedTuple):
    """What the pods of a class want of others, and where they count."""

    #: Numbering of populations that it speaks in.
    epoch: int = 0
    #: Keys of required affinity; each must have a pod of ``company``.
    near: tuple[str, ...] = ()
    #: Pods that meet all required terms.
    company: int = NOBODY
    #: Whether the pod meets its own required terms, so that it may be the first.
    selects_itself: bool = False
    #: Required anti-affinity: (key, population that must not be there).
    far: tuple[tuple[str, int], ...] = ()
    #: Required anti-affinity of running pods that means the pod, likewise.
    shut: tuple[tuple[str, int], ...] = ()
    #: Hard spreading.
    hard: tuple[SpreadConstraint, ...] = ()
    #: Preferences of either side: (key, population, weight, negative against).
    wishes: tuple[tuple[str, int, int], ...] = ()
    #: Soft spreading.
    soft: tuple[SpreadConstraint, ...] = ()
    #: Whether ``soft`` are the cluster's defaults, which bind nobody to labels that nodes lack.
    from_defaults: bool = False
    #: Populations that a pod of the class belongs to.
    counted: tuple[int, ...] = ()
    #: What is wrong with the terms; empty where nothing is.
    malformed: str = ""

    @property
    def strict(self) -> bool:
        """Whether other pods may keep its pods from nodes, or must be there."""
        return bool(self.near or self.far or self.shut or self.hard or self.malformed)

    @property
    def judged(self) -> bool:
        """Whether anything is asked of nodes for other pods' sake."""
        return self.strict or bool(self.wishes or self.soft)


NO_CLASS_TERMS: Final = ClassTerms()
"""What most classes want: nothing of others."""


class PodTerms(NamedTuple):
    """The terms that a pod states, in one namespace."""

    #: Required affinity: (key, pods meant).
    affinity: tuple[tuple[str, PodReach], ...] = ()
    #: Required anti-affinity, likewise.
    anti: tuple[tuple[str, PodReach], ...] = ()
    #: Preferences: (key, pods meant, weight, negative against).
    wishes: tuple[tuple[str, PodReach, int], ...] = ()
    #: What it says to others.
    carried: tuple[CarriedTerm, ...] = ()


NO_TERMS: Final = PodTerms()


def has_pod_terms(spec: PodSpec) -> bool:
    """Whether a spec says anything of other pods."""
    affinity = spec.affinity
    return bool(spec.topology_spread_constraints) or (
        affinity is not None
        and (affinity.pod_affinity is not None or affinity.pod_anti_affinity is not None)
    )


def pod_terms(spec: PodSpec, namespace: str) -> PodTerms:
    """The terms of a spec.

    Raises:
        InputError: a selector cannot be read; its path is named.
    """
    affinity = spec.affinity
    if affinity is None or (affinity.pod_affinity is None and affinity.pod_anti_affinity is None):
        return NO_TERMS
    near = affinity.pod_affinity or PodAffinity()
    against = affinity.pod_anti_affinity or PodAffinity()
    carried = [
        *(_carried(TermEffect.AFFINITY, each, namespace, 1) for each in near.required),
        *(_carried(TermEffect.ANTI, each, namespace, 1) for each in against.required),
        *(
            _carried(TermEffect.PREFERRED, each.pod_affinity_term, namespace, each.weight)
            for each in near.preferred
        ),
        *(
            _carried(TermEffect.PREFERRED_ANTI, each.pod_affinity_term, namespace, -each.weight)
            for each in against.preferred
        ),
    ]
    wishes = [
        each for each in carried if each.stated in (TermEffect.PREFERRED, TermEffect.PREFERRED_ANTI)
    ]
    return PodTerms(
        tuple((each.key, _own(each)) for each in carried if each.stated is TermEffect.AFFINITY),
        tuple((each.key, _own(each)) for each in carried if each.stated is TermEffect.ANTI),
        tuple((each.key, _own(each), each.weight) for each in wishes),
        tuple(dict.fromkeys(carried)),
    )


def spread_selector(constraint: TopologySpreadConstraint, labels: Mapping[str, str]) -> Selector:
    """The pods that a constraint of a pod with these labels counts.

    Raises:
        InputError: its selector cannot be read; its path is named.
    """
    selector = selectors.label_selector(constraint.label_selector, "labelSelector")
    keys = [key for key in constraint.match_label_keys if key in labels]
    if keys and not selector.nothing:
        return both(exactly({key: labels[key] for key in keys}), selector)
    return selector


def spread_population(selector: Selector, namespace: str) -> Population | None:
    """Who counts for a constraint with this selector; ``None`` for nobody."""
    if selector == EVERYTHING or selector.nothing:
        return None
    reach = PodReach(frozenset((namespace,)), selectors.NOTHING, selector)
    return Population((reach,), include_terminating=False)


def exactly(labels: Mapping[str, str]) -> Selector:
    """The selector of objects that have all these labels."""
    rules = (SelectorRule(key, Operator.IN, (value,)) for key, value in labels.items())
    return Selector(tuple(sorted(rules, key=str)))


def both(one: Selector, other: Selector) -> Selector:
    """The selector of objects that meet two others."""
    return Selector(tuple(sorted({*one.rules, *other.rules}, key=str)))


def _carried(stated: TermEffect, term: PodAffinityTerm, namespace: str, weight: int) -> CarriedTerm:
    names = frozenset(term.namespaces)
    if not names and term.namespace_selector is None:
        names = frozenset((namespace,))
    reach = PodReach(
        names,
        selectors.label_selector(term.namespace_selector, "namespaceSelector"),
        selectors.label_selector(term.label_selector, "labelSelector"),
    )
    return CarriedTerm(stated, reach, term.topology_key, weight)


def _own(term: CarriedTerm) -> PodReach:
    """Whom a term means when its own pod asks."""
    reach = term.reach
    return reach._replace(namespaces=None) if reach.beyond.matches({}) else reach
