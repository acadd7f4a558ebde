"""Compiled terms of pod affinity: the selected pods, their namespaces and the node label.

A term of a running pod is evaluated on the labels of the pending pod's namespace. The namespace
selector of a term of the pending pod is expanded into names. Upstream does not drop the selector
afterwards. Therefore a selector that matches an empty label set (``DoesNotExist``, ``NotIn``)
selects every namespace.
"""

from collections.abc import Mapping
from typing import NamedTuple

from stretto.api.types.pod import Pod, PodAffinity, PodAffinityTerm
from stretto.api.wire import selectors
from stretto.api.wire.selectors import Selector


class AffinityTerm(NamedTuple):
    """One term, as its pod declares it."""

    #: The node label whose values are the domains.
    key: str
    #: Namespaces that the term names.
    namespaces: frozenset[str]
    #: Labels of the pods.
    selector: Selector
    #: Labels of additional namespaces.
    namespace_selector: Selector
    #: Weight of the term; 1 for required terms.
    weight: int = 1

    def means(
        self, namespace: str, labels: Mapping[str, str], namespace_labels: Mapping[str, str]
    ) -> bool:
        """Return whether a running pod's term selects a pod."""
        if namespace not in self.namespaces and not self.namespace_selector.matches(
            namespace_labels
        ):
            return False
        return self.selector.matches(labels)


class TermTarget(NamedTuple):
    """The pods that a term of the pending pod selects; hashable, as a key of cached counts."""

    #: Namespaces; ``None`` for all.
    namespaces: frozenset[str] | None
    #: Labels of the pods.
    selector: Selector

    def means(self, namespace: str, labels: Mapping[str, str]) -> bool:
        """Return whether it selects a pod."""
        if self.namespaces is not None and namespace not in self.namespaces:
            return False
        return self.selector.matches(labels)


class AffinityTerms(NamedTuple):
    """All terms of a pod."""

    #: Required affinity.
    affinity: tuple[AffinityTerm, ...] = ()
    #: Required anti-affinity.
    anti: tuple[AffinityTerm, ...] = ()
    #: Preferred affinity.
    preferred: tuple[AffinityTerm, ...] = ()
    #: Preferred anti-affinity.
    anti_preferred: tuple[AffinityTerm, ...] = ()


NO_TERMS = AffinityTerms()


def terms_of(pod: Pod) -> AffinityTerms:
    """Compile a pod's terms; reject a malformed selector with its path."""
    affinity = pod.spec.affinity
    if affinity is None or (affinity.pod_affinity is None and affinity.pod_anti_affinity is None):
        return NO_TERMS
    namespace = pod.metadata.namespace
    near = affinity.pod_affinity or PodAffinity()
    far = affinity.pod_anti_affinity or PodAffinity()
    return AffinityTerms(
        tuple(_term(each, namespace, 1) for each in near.required),
        tuple(_term(each, namespace, 1) for each in far.required),
        tuple(_term(each.pod_affinity_term, namespace, each.weight) for each in near.preferred),
        tuple(_term(each.pod_affinity_term, namespace, each.weight) for each in far.preferred),
    )


def _term(term: PodAffinityTerm, namespace: str, weight: int) -> AffinityTerm:
    names = frozenset(term.namespaces)
    if not names and term.namespace_selector is None:
        names = frozenset((namespace,))
    return AffinityTerm(
        term.topology_key,
        names,
        selectors.label_selector(term.label_selector, "labelSelector"),
        selectors.label_selector(term.namespace_selector, "namespaceSelector"),
        weight,
    )
