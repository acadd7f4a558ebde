"""NodeAffinity: required and preferred node labels of a pod.

A node passes if it has every label of ``nodeSelector`` and matches one of the required terms, and
one of the required terms of the profile's ``addedAffinity`` if that is set. The score is absolute:
the weights of the matching preferred terms, in percent of the weights of all of them.
(kube-scheduler relates the sum to the best node found for this pod.)

As in Kubernetes, no node matches a term without rules, and Gt and Lt need an integer label. No node
matches a malformed term. A pod whose required terms are all malformed is refused with the error.
"""

from collections.abc import Hashable, Mapping
from typing import Any, ClassVar, Final, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from stretto.api.types.pod import NodeAffinity as NodeAffinitySpec
from stretto.api.types.pod import PodSpec
from stretto.api.wire.meta import NodeSelectorTerm
from stretto.api.wire.selectors import NodeTerm, node_term
from stretto.base.errors import InputError, StrettoError
from stretto.framework.contract.arguments import arguments
from stretto.framework.contract.rule import (
    TOP_SCORE,
    BoolArray,
    Fail,
    FilterRule,
    IntArray,
    Refusal,
    Restrict,
    Scope,
    ScoreRule,
    SlotArray,
    Subject,
    View,
)
from stretto.state.classes.table import PodClass
from stretto.state.work.units import Cure

NAME: Final = "NodeAffinity"
REASON: Final = "node(s) didn't match Pod's node affinity/selector"
REASON_ADDED: Final = "node(s) didn't match scheduler-enforced node affinity"
REASON_CONFLICT: Final = "pod affinity terms conflict"
ADDED: Final = "addedAffinity"
"""Name of the only argument: an affinity that applies to every pod of the profile."""
COMPILED_LIMIT: Final = 4096
"""Maximum number of cached specs, one per class in use; all are dropped when the cache is full."""

Terms = tuple[NodeTerm, ...]


class _CompiledAffinity(NamedTuple):
    """The node affinity of a pod or profile, compiled."""

    #: Required labels, as sorted pairs.
    selector: tuple[tuple[str, str], ...]
    #: Required alternatives; ``None`` if nothing is required.
    required: Terms | None
    #: Preferred terms with their weights.
    preferred: tuple[tuple[NodeTerm, int], ...]
    #: Error in the required terms, if all of them are malformed.
    complaint: str = ""


class NodeAffinityRule(FilterRule, ScoreRule):
    """Filters and scores nodes by their labels and names."""

    NAME: ClassVar[str] = NAME
    SCOPE: ClassVar[Scope] = Scope.STATIC
    CURES: ClassVar[Cure] = Cure.NODE_ADDED | Cure.NODE_LABELS | Cure.POD_CHANGED
    SUBJECT: ClassVar[Subject] = Subject.NODE_CHOICE
    WEIGHT: ClassVar[int] = 2

    def __init__(self, args: Mapping[str, Any]) -> None:
        """Read ``addedAffinity``, in the form of a pod's ``nodeAffinity``."""
        super().__init__(args)
        self._added = _read_added(arguments(args, (ADDED,), NAME).get(ADDED))
        self._compiled: dict[int, tuple[PodSpec, _CompiledAffinity]] = {}

    def signature(self, pod: PodClass) -> Hashable | None:
        """Selector, required and preferred terms; ``None`` without any."""
        halves = (self.filter_signature(pod), self.score_signature(pod))
        return None if halves == (None, None) else halves

    def filter_signature(self, pod: PodClass) -> Hashable | None:
        """Selector and required terms, sorted."""
        compiled = self._compiled_of(pod)
        if not compiled.selector and compiled.required is None and self._added.required is None:
            return None
        required = None if compiled.required is None else frozenset(compiled.required)
        return (compiled.selector, required)

    def score_signature(self, pod: PodClass) -> Hashable | None:
        """Preferred terms with their weights, sorted."""
        compiled = self._compiled_of(pod)
        if not compiled.preferred and not self._added.preferred:
            return None
        return tuple(sorted(compiled.preferred, key=repr))

    def prepare(self, pod: PodClass, view: View) -> Restrict | Fail | None:
        """Restrict to the named nodes if every required term names some (as for DaemonSet pods)."""
        compiled = self._compiled_of(pod)
        if compiled.complaint:
            return Fail(compiled.complaint)
        if not compiled.required:
            return None
        names: set[str] = set()
        for term in compiled.required:
            pinned = term.names()
            if pinned is None:
                return None
            names |= pinned
        if not names:
            return Fail(REASON_CONFLICT)
        return Restrict(view.nodes.slots_named(frozenset(names)))

    def filter(self, pod: PodClass, view: View, slots: SlotArray) -> BoolArray:
        """bool[k]: true where the node matches the affinities of profile and pod."""
        return self._passes_added(view, slots) & self._passes_own(pod, view, slots)

    def refusals(self, pod: PodClass, view: View, slots: SlotArray) -> list[Refusal]:
        """Nodes outside the profile's affinity, then outside the pod's; evictions do not help."""
        added = ~self._passes_added(view, slots)
        own = ~self._passes_own(pod, view, slots) & ~added
        masks = ((REASON_ADDED, added), (REASON, own))
        return [Refusal(reason, mask, resolvable=False) for reason, mask in masks if mask.any()]

    def score(self, pod: PodClass, view: View, slots: SlotArray) -> IntArray:
        """int32[k]: matching preferred weights in percent."""
        total = max(1, sum(weight for _, weight in self._preferred(pod)))
        return (TOP_SCORE * self.weights_met(pod, view, slots) // total).astype(np.int32)

    def weights_met(self, pod: PodClass, view: View, slots: SlotArray) -> npt.NDArray[np.int64]:
        """int64[k]: sum of the weights of the preferred terms that the node matches."""
        met = np.zeros(len(slots), np.int64)
        for term, weight in self._preferred(pod):
            met += weight * view.nodes.matches_term(term, slots)
        return met

    def _preferred(self, pod: PodClass) -> tuple[tuple[NodeTerm, int], ...]:
        return self._added.preferred + self._compiled_of(pod).preferred

    def _passes_added(self, view: View, slots: SlotArray) -> BoolArray:
        if self._added.required is None:
            return np.ones(len(slots), np.bool_)
        return view.nodes.matches(self._added.required, slots)

    def _passes_own(self, pod: PodClass, view: View, slots: SlotArray) -> BoolArray:
        compiled, nodes = self._compiled_of(pod), view.nodes
        mask = np.ones(len(slots), np.bool_)
        for key, value in compiled.selector:
            mask &= nodes.labels.equal(key, value, slots)
        if compiled.required is not None:
            mask &= nodes.matches(compiled.required, slots)
        return mask

    def _compiled_of(self, pod: PodClass) -> _CompiledAffinity:
        """The affinity of a class, compiled once per spec."""
        found = self._compiled.get(id(pod.spec))
        if found is not None and found[0] is pod.spec:
            return found[1]
        if len(self._compiled) >= COMPILED_LIMIT:
            self._compiled.clear()
        affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
        compiled = _compile(affinity or NodeAffinitySpec(), pod.spec.node_selector)
        self._compiled[id(pod.spec)] = (pod.spec, compiled)
        return compiled


def _compile(affinity: NodeAffinitySpec, selector: Mapping[str, str]) -> _CompiledAffinity:
    """Compile a pod's affinity and selector; no node matches a malformed term."""
    where = "spec.affinity.nodeAffinity"
    required, complaints = None, []
    if affinity.required is not None:
        compiled = affinity.required.node_selector_terms
        read = [_term(term, f"{where}.required[{i}]") for i, term in enumerate(compiled)]
        required = tuple(term for term in read if isinstance(term, NodeTerm))
        complaints = [term for term in read if isinstance(term, str)]
    preferred = [
        (term, each.weight)
        for i, each in enumerate(affinity.preferred)
        if isinstance(term := _term(each.preference, f"{where}.preferred[{i}]"), NodeTerm)
        and each.weight > 0
        and (term.labels.rules or term.fields.rules)
    ]
    complaint = complaints[0] if complaints and not required else ""
    return _CompiledAffinity(tuple(sorted(selector.items())), required, tuple(preferred), complaint)


def _term(term: NodeSelectorTerm, where: str) -> NodeTerm | str:
    """Compile one term, or return its error."""
    try:
        return node_term(term.match_expressions, term.match_fields, where)
    except StrettoError as error:
        return str(error)


def _read_added(value: object) -> _CompiledAffinity:
    """Read the profile's affinity; a malformed term is an error."""
    if value is None:
        return _compile(NodeAffinitySpec(), {})
    where = f"args of {NAME}: {ADDED}"
    try:
        affinity = msgspec.convert(value, NodeAffinitySpec)
    except msgspec.ValidationError as error:
        raise InputError(where, value, f"a node affinity: {error}") from error
    terms = [each.preference for each in affinity.preferred]
    if affinity.required is not None:
        terms += affinity.required.node_selector_terms
    for term in terms:
        node_term(term.match_expressions, term.match_fields, where)
    return _compile(affinity, {})
