"""Registry of populations and of the terms of each class.

A population gets its number when a term first refers to it. Membership is computed by tag: all tags
at once for a new population, all populations for a new tag (found by labels that their selectors
require). The terms of a class combine its own terms with those that select its tag, and are cached
until either changes.
"""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

import numpy as np

from stretto.api.types.pod import PodSpec, TopologySpreadConstraint
from stretto.api.wire.selectors import NOTHING, Operator, Selector, SelectorRule
from stretto.base.errors import InputError
from stretto.state.affinity.defaults import default_spread, may_be_selected
from stretto.state.affinity.tags import PodTags
from stretto.state.classes.table import PodClasses
from stretto.state.classes.terms import (
    HARD,
    NO_CLASS_TERMS,
    NO_POPULATION,
    SOFT,
    CarriedTerm,
    ClassTerms,
    DefaultSpread,
    PodReach,
    Population,
    RunningTermScoring,
    SpreadConstraint,
    TermEffect,
    pod_terms,
    spread_population,
    spread_selector,
)
from stretto.state.nodes.labels import BoolArray
from stretto.state.objects import ClusterObjects

CACHED: Final = 100_000
"""Maximum number of cached results; the cache is cleared when full."""

Pair = tuple[int, int]
"""Class id and tag."""


class _OwnTerms(NamedTuple):
    """Own terms of a class and tag."""

    #: Serial of the class.
    serial: int
    #: The terms, without the terms of other pods.
    terms: ClassTerms
    #: Populations of the terms that its pods have.
    carried: tuple[int, ...]


class _TagPopulations(NamedTuple):
    """Populations that refer to a tag."""

    #: Incremented on each change.
    version: int
    #: Populations that count its pods by their labels.
    counted: tuple[int, ...]
    #: Terms of running pods that select its pods.
    meant: tuple[int, ...]


_UNCONCERNED: Final = _TagPopulations(0, (), ())
"""No population refers to the tag."""


class TermRegistry:
    """Populations by number, and terms by class."""

    def __init__(self, classes: PodClasses, tags: PodTags, objects: ClusterObjects) -> None:
        """Start without populations."""
        #: Populations by number.
        self.populations: list[Population | CarriedTerm] = []
        #: Constraints of pods without their own.
        self.defaults: tuple[DefaultSpread, ...] = ()
        #: Scoring of running pods' terms.
        self.running_term_scoring = RunningTermScoring()
        #: Current numbering.
        self.epoch: int = 0
        self._classes = classes
        self._tags = tags
        self._objects = objects
        self._numbers: dict[Population | CarriedTerm, int] = {}
        self._by_pair: dict[tuple[str, str], list[int]] = {}
        self._others: list[int] = []
        self._populations_by_tag: dict[int, _TagPopulations] = {}
        self._own: dict[Pair, _OwnTerms] = {}
        self._classed: dict[Pair, tuple[int, int, int]] = {}
        # Classes by pair, and the state of the registry for which they are valid.
        self._settled: dict[Pair, int] = {}
        self._stamp = (0, 0)
        self._version = 0

    def configure(
        self, defaults: tuple[DefaultSpread, ...], running_term_scoring: RunningTermScoring
    ) -> None:
        """Set the default constraints and the scoring of running terms; before the first pod."""
        self.defaults = defaults
        self.running_term_scoring = running_term_scoring

    def clear(self, epoch: int) -> None:
        """Remove all populations; a new numbering starts."""
        self.epoch = epoch
        self.populations.clear()
        for table in (
            self._numbers,
            self._by_pair,
            self._populations_by_tag,
            self._own,
            self._classed,
        ):
            table.clear()
        self._others.clear()
        self._settled.clear()

    def forget(self, tags: Iterable[int]) -> None:
        """Drop cached results of tags: their namespace changed, or their numbers were reused."""
        dropped = set(tags)
        self._settled.clear()
        for tag in dropped:
            self._populations_by_tag.pop(tag, None)
        for pair in [pair for pair in self._own if pair[1] in dropped]:
            del self._own[pair]
        for pair in [pair for pair in self._classed if pair[1] in dropped]:
            del self._classed[pair]

    @property
    def selects_other_namespaces(self) -> bool:
        """True if some term selects namespaces by labels."""
        return any(
            reach.namespaces is None or reach.beyond != NOTHING
            for each in self.populations
            for reach in _reaches(each)
        )

    def excludes_terminating(self, population: int) -> bool:
        """Return whether a population excludes terminating pods."""
        found = self.populations[population]
        return isinstance(found, Population) and not found.include_terminating

    # ------------------------------------------------------------ registration

    def register(self, pairs: Iterable[Pair]) -> list[int]:
        """Number the populations to which these classes refer; returns the new ones."""
        first = len(self.populations)
        if len(self._own) > CACHED:
            self._own.clear()
        for pair in self._unassigned(pairs):
            known = self._own.get(pair)
            if known is None or known.serial != self._classes[pair[0]].serial:
                self._register_one(pair)
        return list(range(first, len(self.populations)))

    def update_members(self, fresh: Iterable[int]) -> BoolArray:
        """bool[tag]: tags that new populations select; their membership is updated."""
        concerned = np.zeros(len(self._tags), np.bool_)
        for number in fresh:
            meant = self._selected_tags(self.populations[number])
            concerned |= meant
            for tag in np.flatnonzero(meant).tolist():
                self._extend(tag, number)
        return concerned

    def classes_for(self, pairs: Iterable[Pair]) -> list[int]:
        """Classes of pods with these specs and tags."""
        for pair in self._unassigned(pairs := list(pairs)):
            self._settled[pair] = self._class_for(*pair)
        return list(map(self._settled.__getitem__, pairs))

    def _unassigned(self, pairs: Iterable[Pair]) -> list[Pair]:
        """Pairs whose class may have changed since it was last computed."""
        stamp = (self._version, self._classes.forgotten)
        if stamp != self._stamp or len(self._settled) > CACHED:
            self._stamp = stamp
            self._settled.clear()
        return [pair for pair in pairs if pair not in self._settled]

    def _class_for(self, class_id: int, tag: int) -> int:
        serial = self._classes[class_id].serial
        known = self._own.get((class_id, tag))
        own = (
            known
            if known is not None and known.serial == serial
            else self._register_one((class_id, tag))
        )
        tag_populations = self.tag_populations(tag)
        cached = self._classed.get((class_id, tag))
        if cached is not None and cached[:2] == (own.serial, tag_populations.version):
            return cached[2]
        if len(self._classed) > CACHED:
            self._classed.clear()
        derived = self._classes.derive(class_id, self._joined(own, tag_populations))
        self._classed[class_id, tag] = (own.serial, tag_populations.version, derived)
        return derived

    def tag_populations(self, tag: int) -> _TagPopulations:
        """Populations that refer to a tag."""
        found = self._populations_by_tag.get(tag)
        if found is not None:
            return found
        if not self.populations:
            return _UNCONCERNED
        labels, namespace = self._tags.labels_of(tag), self._tags.namespaces[tag]
        candidates = set(self._others)
        for pair in labels.items():
            candidates.update(self._by_pair.get(pair, ()))
        meant = [
            n for n in sorted(candidates) if self._selects(self.populations[n], namespace, labels)
        ]
        return self._set_members(tag, meant)

    # ------------------------------------------------------------ own terms

    def _register_one(self, pair: Pair) -> _OwnTerms:
        pod = self._classes[pair[0]]
        self._own[pair] = found = self._own_terms(pod.serial, pod.spec, pair[1])
        return found

    def _own_terms(self, serial: int, spec: PodSpec, tag: int) -> _OwnTerms:
        from_defaults = bool(self.defaults) and not spec.topology_spread_constraints
        from_defaults = from_defaults and may_be_selected(self._tags, tag, self._objects)
        if not from_defaults and not _has_terms(spec):
            return _OwnTerms(serial, ClassTerms(self.epoch), ())
        namespace, labels = self._tags.namespaces[tag], self._tags.labels_of(tag)
        try:
            stated = pod_terms(spec, namespace)
            constraints = spec.topology_spread_constraints
            compiled = [(each, spread_selector(each, labels)) for each in constraints]
        except InputError as error:
            return _OwnTerms(serial, ClassTerms(self.epoch, malformed=str(error)), ())
        reaches = tuple(dict.fromkeys(reach for _, reach in stated.affinity))
        affinity_population = (
            self._number(Population(reaches, include_terminating=True))
            if reaches
            else NO_POPULATION
        )
        hard = [self._spread(*each, tag) for each in compiled if each[0].when_unsatisfiable == HARD]
        soft = [self._spread(*each, tag) for each in compiled if each[0].when_unsatisfiable == SOFT]
        if from_defaults:
            for each, selector, must in default_spread(
                self.defaults, self._tags, tag, self._objects
            ):
                number = self._spread_number(selector, tag)
                (hard if must else soft).append(each._replace(population=number))
        terms = ClassTerms(
            epoch=self.epoch,
            affinity_keys=tuple(key for key, _ in stated.affinity),
            affinity_population=affinity_population,
            selects_itself=bool(reaches) and self._all_select(reaches, namespace, labels),
            anti_affinity=tuple((key, self._alone(reach)) for key, reach in stated.anti),
            hard=tuple(hard),
            preferences=tuple(
                (key, self._alone(reach), weight) for key, reach, weight in stated.preferences
            ),
            soft=tuple(soft),
            from_defaults=from_defaults and bool(soft),
        )
        return _OwnTerms(serial, terms, tuple(self._number(each) for each in stated.carried))

    def _spread(
        self, constraint: TopologySpreadConstraint, selector: Selector, tag: int
    ) -> SpreadConstraint:
        least = constraint.min_domains
        return SpreadConstraint(
            population=self._spread_number(selector, tag),
            key=constraint.topology_key,
            skew=constraint.max_skew,
            own=int(selector.matches(self._tags.labels_of(tag))),
            least=1 if least is None else least,
            by_affinity=constraint.node_affinity_policy in (None, "Honor"),
            by_taints=constraint.node_taints_policy == "Honor",
        )

    def _spread_number(self, selector: Selector, tag: int) -> int:
        population = spread_population(selector, self._tags.namespaces[tag])
        return NO_POPULATION if population is None else self._number(population)

    def _alone(self, reach: PodReach) -> int:
        return self._number(Population((reach,), include_terminating=True))

    def _number(self, population: Population | CarriedTerm) -> int:
        """Number of a population, assigned at first use."""
        found = self._numbers.get(population)
        if found is not None:
            return found
        self._settled.clear()
        self._numbers[population] = found = len(self.populations)
        self.populations.append(population)
        reach = _reaches(population)[0]
        pair = _required_keys(reach.selector.rules)
        if not reach.selector.nothing:
            (self._by_pair.setdefault(pair, []) if pair else self._others).append(found)
        return found

    def _joined(self, own: _OwnTerms, tag_populations: _TagPopulations) -> ClassTerms:
        """Combine a class's own terms with those that select it."""
        if own.terms.malformed:
            counted = (*tag_populations.counted, *own.carried)
            return own.terms._replace(counted=counted)
        running_anti_affinity: list[tuple[str, int]] = []
        preferences = list(own.terms.preferences)
        counts_preferences = bool(preferences) or not self.running_term_scoring.mutual
        for number in tag_populations.meant:
            term = self.populations[number]
            assert isinstance(term, CarriedTerm)
            required = term.stated is TermEffect.AFFINITY
            weight = self.running_term_scoring.required if required else term.weight
            if term.stated is TermEffect.ANTI:
                running_anti_affinity.append((term.key, number))
            elif counts_preferences and weight:
                preferences.append((term.key, number, weight))
        counted = (*tag_populations.counted, *own.carried)
        terms = own.terms._replace(
            running_anti_affinity=tuple(running_anti_affinity),
            preferences=tuple(preferences),
            counted=counted,
        )
        return terms if terms.judged or counted else NO_CLASS_TERMS

    # ------------------------------------------------------------ membership

    def _selects(
        self, population: Population | CarriedTerm, namespace: str, labels: Mapping[str, str]
    ) -> bool:
        return self._all_select(_reaches(population), namespace, labels)

    def _all_select(
        self, reaches: tuple[PodReach, ...], namespace: str, labels: Mapping[str, str]
    ) -> bool:
        further = self._objects.served_namespace_labels(namespace)
        return all(
            each.covers(namespace, further) and each.selector.matches(labels) for each in reaches
        )

    def _selected_tags(self, population: Population | CarriedTerm) -> BoolArray:
        """bool[tag]: tags whose pods a population's terms select."""
        mask = np.ones(len(self._tags), np.bool_)
        for reach in _reaches(population):
            mask &= self._tags.matching(reach.selector)
            if reach.namespaces is not None and mask.any():
                mask &= self._tags.within(self._covered(reach))
        mask[0] = False
        return mask

    def _covered(self, reach: PodReach) -> Iterable[str]:
        if reach.beyond == NOTHING:
            return reach.namespaces or ()
        labels = self._objects.served_namespace_labels
        return [name for name in set(self._tags.namespaces) if reach.covers(name, labels(name))]

    def _extend(self, tag: int, number: int) -> None:
        """Add a tag to a new population."""
        known = self._populations_by_tag.get(tag)
        if known is None:
            return
        self._set_members(tag, [*known.counted, *known.meant, number])

    def _set_members(self, tag: int, numbers: Iterable[int]) -> _TagPopulations:
        self._version += 1
        carried = [isinstance(self.populations[n], CarriedTerm) for n in numbers]
        pairs = list(zip(numbers, carried, strict=True))
        found = _TagPopulations(
            self._version,
            tuple(n for n, is_stated in pairs if not is_stated),
            tuple(n for n, is_stated in pairs if is_stated),
        )
        self._populations_by_tag[tag] = found
        return found


def _has_terms(spec: PodSpec) -> bool:
    """Return whether a pod has terms about other pods; most pods have none."""
    affinity = spec.affinity
    return bool(spec.topology_spread_constraints) or (
        affinity is not None and bool(affinity.pod_affinity or affinity.pod_anti_affinity)
    )


def _reaches(population: Population | CarriedTerm) -> tuple[PodReach, ...]:
    """The terms that define a population."""
    return (population.reach,) if isinstance(population, CarriedTerm) else population.reaches


def _required_keys(rules: tuple[SelectorRule, ...]) -> tuple[str, str] | None:
    """A label required by all rules, or ``None``."""
    for rule in rules:
        if rule.operator is Operator.IN and len(rule.values) == 1:
            return rule.key, rule.values[0]
    return None
