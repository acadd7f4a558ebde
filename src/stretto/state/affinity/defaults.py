"""Default topology spread for pods without constraints.

The default constraints count the pods that a pod's services and its controller select. A pod
without services and controller has no default constraints.
"""

from collections.abc import Iterable, Mapping
from typing import Final

import numpy as np

from stretto.api.types.core import Service
from stretto.api.types.workloads import ReplicaSet, ReplicationController, StatefulSet
from stretto.api.wire import selectors
from stretto.api.wire.meta import Wire
from stretto.api.wire.selectors import EVERYTHING, Selector
from stretto.state.affinity.tags import PodTags
from stretto.state.classes.terms import (
    NO_POPULATION,
    DefaultSpread,
    SpreadConstraint,
    both,
    exactly,
)
from stretto.state.nodes.labels import BoolArray
from stretto.state.objects import ClusterObjects

_COUNTING: Final = (Service, ReplicaSet, ReplicationController, StatefulSet)
"""Kinds that select pods for the defaults."""


def default_spread(
    defaults: Iterable[DefaultSpread], tags: PodTags, tag: int, objects: ClusterObjects
) -> list[tuple[SpreadConstraint, Selector, bool]]:
    """Default constraints of a tag, each with its selector, and true if it is hard."""
    labels = tags.labels_of(tag)
    selector = default_selector(tags.namespaces[tag], labels, tags.owners[tag], objects)
    if selector == EVERYTHING:
        return []
    own = int(selector.matches(labels))
    return [
        (
            SpreadConstraint(
                NO_POPULATION, each.key, each.skew, own, 1, by_affinity=True, by_taints=False
            ),
            selector,
            each.hard,
        )
        for each in defaults
    ]


def may_be_selected(tags: PodTags, tag: int, objects: ClusterObjects) -> bool:
    """Return whether any service or controller could select a tag's pods."""
    owner, namespace = tags.owners[tag], tags.namespaces[tag]
    owned = owner is not None and (owner[0], namespace, owner[1]) in objects.controllers
    return owned or bool(objects.services.get(namespace))


def default_selector(
    namespace: str,
    labels: Mapping[str, str],
    owner: tuple[str, str] | None,
    objects: ClusterObjects,
) -> Selector:
    """Combined selector of the services and the controller of a pod.

    Args:
        namespace: the namespace of the pod.
        labels: its labels.
        owner: kind and name of its controller; ``None`` without one.
        objects: the services and controllers of the cluster.
    """
    wanted: dict[str, str] = {}
    for service in objects.services.get(namespace, {}).values():
        mine = service.spec.selector
        if mine and all(labels.get(key) == value for key, value in mine.items()):
            wanted.update(mine)
    found = objects.controllers.get((owner[0], namespace, owner[1])) if owner else None
    if isinstance(found, ReplicationController):
        wanted.update(found.spec.selector)
    if found is None or isinstance(found, ReplicationController):
        return exactly(wanted)
    other = selectors.label_selector(found.spec.selector, "selector")
    return exactly(wanted) if other.nothing else both(exactly(wanted), other)


def tags_affected(tags: PodTags, before: Wire | None, after: Wire | None) -> BoolArray | None:
    """bool[tag]: tags whose default constraints change with an object; ``None`` for none."""
    one = before if before is not None else after
    if not isinstance(one, _COUNTING):
        return None
    selectors = [_selector_of(each) for each in (before, after) if each is not None]
    if len(selectors) == 2 and selectors[0] == selectors[1]:
        return None
    if isinstance(one, Service):
        meant = [
            tags.matching(exactly(each)) for each in selectors if isinstance(each, dict) and each
        ]
        inside = tags.within((one.metadata.namespace,))
        return np.any(meant, axis=0) & inside if meant else None
    owner = (type(one).__name__, one.metadata.name)
    mine = np.array([each == owner for each in tags.owners], np.bool_)
    return mine & tags.within((one.metadata.namespace,))


def _selector_of(item: Wire) -> object:
    """The selector of a service or controller."""
    if isinstance(item, Service | ReplicaSet | ReplicationController | StatefulSet):
        return item.spec.selector
    return None
