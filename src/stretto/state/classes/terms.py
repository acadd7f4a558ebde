"""Compiled terms about other pods: affinity, anti-affinity and topology spread.

Terms have two directions: a pod's own terms select running pods, and the terms of running pods
select the pod. Both refer to *populations*, sets of pods that are counted by slot
(``state.affinity.index``): pods that match a selector, or pods that have a term. The terms of a
class, and the populations that count its pods, are its ``ClassTerms``, in population numbers.

An empty selector selects everything, a missing one nothing, as the API defines. Only kube-parity
reproduces the exceptions of kube-scheduler (``framework.model``).
"""

from collections.abc import Mapping
from enum import IntEnum
from typing import Final, NamedTuple

from stretto.api.types.pod import PodAffinity, PodAffinityTerm, PodSpec, TopologySpreadConstraint
from stretto.api.wire import selectors
from stretto.api.wire.labels import HOSTNAME_LABEL, ZONE_LABEL
from stretto.api.wire.selectors import EVERYTHING, Operator, Selector, SelectorRule

HARD: Final = "DoNotSchedule"
SOFT: Final = "ScheduleAnyway"
NO_POPULATION: Final = -1
"""Population number for "no pods count"."""


class PodReach(NamedTuple):
    """The pods that one term selects."""

    #: Named namespaces; ``None`` for all.
    namespaces: frozenset[str] | None
    #: Selector of additional namespaces.
    beyond: Selector
    #: Selector of the pods.
    selector: Selector

    def covers(self, namespace: str, namespace_labels: Mapping[str, str]) -> bool:
        """Return whether pods of a namespace may be selected."""
        if self.namespaces is None or namespace in self.namespaces:
            return True
        return self.beyond.matches(namespace_labels)


class Population(NamedTuple):
    """Pods that match all of some terms."""

    #: The terms.
    reaches: tuple[PodReach, ...]
    #: True if terminating pods count.
    include_terminating: bool


class TermEffect(IntEnum):
    """Effect of a running pod's term on new pods."""

    #: Required affinity; adds to the score of selected pods.
    AFFINITY = 0
    #: Required anti-affinity: excludes selected pods.
    ANTI = 1
    #: Preferred affinity.
    PREFERRED = 2
    #: Preferred anti-affinity.
    PREFERRED_ANTI = 3


class CarriedTerm(NamedTuple):
    """A term of running pods, and the population of the pods that have it."""

    #: Effect of the term.
    stated: TermEffect
    #: The pods that it selects.
    reach: PodReach
    #: The node label that defines the topology domain.
    key: str
    #: Weight; negative for anti-affinity.
    weight: int


class SpreadConstraint(NamedTuple):
    """One topology spread constraint."""

    #: The pods that count, or ``NO_POPULATION``.
    population: int
    #: The node label.
    key: str
    #: Maximum skew between two domains.
    skew: int
    #: 1 if the pod counts itself.
    own: int
    #: Minimum number of domains; with fewer, the minimum count is 0.
    least: int
    #: True if only nodes that match the pod's node affinity count.
    by_affinity: bool
    #: True if only nodes whose taints the pod tolerates count.
    by_taints: bool


class DefaultSpread(NamedTuple):
    """A default constraint of the cluster, for pods without constraints."""

    #: The node label.
    key: str
    #: Maximum skew between two domains.
    skew: int
    #: True if the constraint is hard (DoNotSchedule); otherwise it is soft (ScheduleAnyway).
    hard: bool = False


class RunningTermScoring(NamedTuple):
    """Effect of the terms of running pods on the score of a pod that they select."""

    #: Weight of required affinity; 0 for none.
    required: int = 1
    #: True if the terms count only for pods with preferences of their own.
    mutual: bool = False


SYSTEM_DEFAULTS: Final = (DefaultSpread(HOSTNAME_LABEL, 3), DefaultSpread(ZONE_LABEL, 5))
"""Kubernetes' system defaults: a skew of 3 over hosts and of 5 over zones, both soft."""


class ClassTerms(NamedTuple):
    """Terms of a class about other pods, and the populations that count its pods."""

    #: Population numbering to which it refers.
    epoch: int = 0
    #: Topology keys of required affinity; each domain needs a pod of ``affinity_population``.
    affinity_keys: tuple[str, ...] = ()
    #: Population of the pods that match all required affinity terms.
    affinity_population: int = NO_POPULATION
    #: True if the pod matches its own required affinity terms, so that it may be the first.
    selects_itself: bool = False
    #: Required anti-affinity: (key, excluded population).
    anti_affinity: tuple[tuple[str, int], ...] = ()
    #: Required anti-affinity of running pods that selects the pod: (key, excluded population).
    running_anti_affinity: tuple[tuple[str, int], ...] = ()
    #: Hard spread constraints.
    hard: tuple[SpreadConstraint, ...] = ()
    #: Preferences of both directions: (key, population, weight; negative for anti-affinity).
    preferences: tuple[tuple[str, int, int], ...] = ()
    #: Soft spread constraints.
    soft: tuple[SpreadConstraint, ...] = ()
    #: True if ``soft`` are the cluster's defaults, which ignore nodes that lack the labels.
    from_defaults: bool = False
    #: Populations that count pods of the class.
    counted: tuple[int, ...] = ()
    #: Error in the terms; empty if there is none.
    malformed: str = ""

    @property
    def strict(self) -> bool:
        """True if other pods can make nodes ineligible for its pods."""
        return bool(
            self.affinity_keys
            or self.anti_affinity
            or self.running_anti_affinity
            or self.hard
            or self.malformed
        )

    @property
    def judged(self) -> bool:
        """True if its placement depends on other pods."""
        return self.strict or bool(self.preferences or self.soft)


NO_CLASS_TERMS: Final = ClassTerms()
"""Terms of most classes: none."""


class PodTerms(NamedTuple):
    """Terms of a pod in its namespace."""

    #: Required affinity: (key, selected pods).
    affinity: tuple[tuple[str, PodReach], ...] = ()
    #: Required anti-affinity: (key, selected pods).
    anti: tuple[tuple[str, PodReach], ...] = ()
    #: Preferences: (key, selected pods, weight; negative for anti-affinity).
    preferences: tuple[tuple[str, PodReach, int], ...] = ()
    #: Terms with effect on other pods.
    carried: tuple[CarriedTerm, ...] = ()


NO_TERMS: Final = PodTerms()


def has_pod_terms(spec: PodSpec) -> bool:
    """Return whether a spec has terms about other pods."""
    affinity = spec.affinity
    return bool(spec.topology_spread_constraints) or (
        affinity is not None
        and (affinity.pod_affinity is not None or affinity.pod_anti_affinity is not None)
    )


def pod_terms(spec: PodSpec, namespace: str) -> PodTerms:
    """The terms of a spec.

    Raises:
        InputError: a selector is invalid; the message contains its path.
    """
    affinity = spec.affinity
    if affinity is None or (affinity.pod_affinity is None and affinity.pod_anti_affinity is None):
        return NO_TERMS
    affinity_keys = affinity.pod_affinity or PodAffinity()
    against = affinity.pod_anti_affinity or PodAffinity()
    carried = [
        *(_carried(TermEffect.AFFINITY, each, namespace, 1) for each in affinity_keys.required),
        *(_carried(TermEffect.ANTI, each, namespace, 1) for each in against.required),
        *(
            _carried(TermEffect.PREFERRED, each.pod_affinity_term, namespace, each.weight)
            for each in affinity_keys.preferred
        ),
        *(
            _carried(TermEffect.PREFERRED_ANTI, each.pod_affinity_term, namespace, -each.weight)
            for each in against.preferred
        ),
    ]
    preferences = [
        each for each in carried if each.stated in (TermEffect.PREFERRED, TermEffect.PREFERRED_ANTI)
    ]
    return PodTerms(
        tuple((each.key, _own(each)) for each in carried if each.stated is TermEffect.AFFINITY),
        tuple((each.key, _own(each)) for each in carried if each.stated is TermEffect.ANTI),
        tuple((each.key, _own(each), each.weight) for each in preferences),
        tuple(dict.fromkeys(carried)),
    )


def spread_selector(constraint: TopologySpreadConstraint, labels: Mapping[str, str]) -> Selector:
    """Selector of the pods that a constraint counts, for a pod with these labels.

    Raises:
        InputError: the selector is invalid; the message contains its path.
    """
    selector = selectors.label_selector(constraint.label_selector, "labelSelector")
    keys = [key for key in constraint.match_label_keys if key in labels]
    if keys and not selector.nothing:
        return both(exactly({key: labels[key] for key in keys}), selector)
    return selector


def spread_population(selector: Selector, namespace: str) -> Population | None:
    """The population that a constraint with this selector counts; ``None`` for none."""
    if selector.nothing:
        return None
    reach = PodReach(frozenset((namespace,)), selectors.NOTHING, selector)
    return Population((reach,), include_terminating=False)


def exactly(labels: Mapping[str, str]) -> Selector:
    """Selector of objects that have all these labels."""
    rules = (SelectorRule(key, Operator.IN, (value,)) for key, value in labels.items())
    return Selector(tuple(sorted(rules, key=str)))


def both(one: Selector, other: Selector) -> Selector:
    """Selector of objects that match two others."""
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
    """The pods that a term selects, from its own pod's view."""
    reach = term.reach
    return reach._replace(namespaces=None) if reach.beyond == EVERYTHING else reach
