"""What the cluster wishes for pods that say nothing of spreading.

The default constraints speak of the pods that a pod's services and its controller select; a pod
that belongs to nothing gets none.
"""

from collections.abc import Iterable
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
"""Kinds whose pods defaults speak of."""


def default_spread(
    defaults: Iterable[DefaultSpread], tags: PodTags, tag: int, objects: ClusterObjects
) -> list[tuple[SpreadConstraint, Selector, bool]]:
    """The default constraints of a tag's pods: each with the pods it counts, and whether hard."""
    selector = default_selector(tags, tag, objects)
    if selector == EVERYTHING:
        return []
    own = int(selector.matches(tags.labels_of(tag)))
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
    """Whether there is a service or controller at all that a tag's pods could be of."""
    owner, namespace = tags.owners[tag], tags.namespaces[tag]
    owned = owner is not None and (owner[0], namespace, owner[1]) in objects.controllers
    return owned or bool(objects.services.get(namespace))


def default_selector(tags: PodTags, tag: int, objects: ClusterObjects) -> Selector:
    """What the services and the controller of a tag's pods select, together."""
    namespace, labels = tags.namespaces[tag], tags.labels_of(tag)
    wanted: dict[str, str] = {}
    for service in objects.services.get(namespace, {}).values():
        mine = service.spec.selector
        if mine and all(labels.get(key) == value for key, value in mine.items()):
            wanted.update(mine)
    owner = tags.owners[tag]
    found = objects.controllers.get((owner[0], namespace, owner[1])) if owner else None
    if isinstance(found, ReplicationController):
        wanted.update(found.spec.selector)
    if found is None or isinstance(found, ReplicationController):
        return exactly(wanted)
    other = selectors.label_selector(found.spec.selector, "selector")
    return exactly(wanted) if other.nothing else both(exactly(wanted), other)


def tags_affected(tags: PodTags, before: Wire | None, after: Wire | None) -> BoolArray | None:
    """bool[tag]: whose default constraints a service or controller changes; ``None`` for nobody."""
    one = before if before is not None else after
    if not isinstance(one, _COUNTING):
        return None
    asked = [_selector_of(each) for each in (before, after) if each is not None]
    if len(asked) == 2 and asked[0] == asked[1]:
        return None
    if isinstance(one, Service):
        meant = [tags.matching(exactly(each)) for each in asked if isinstance(each, dict) and each]
        inside = tags.within((one.metadata.namespace,))
        return np.any(meant, axis=0) & inside if meant else None
    owner = (type(one).__name__, one.metadata.name)
    mine = np.array([each == owner for each in tags.owners], np.bool_)
    return mine & tags.within((one.metadata.namespace,))


def _selector_of(item: Wire) -> object:
    """What a service or controller selects."""
    if isinstance(item, Service | ReplicaSet | ReplicationController | StatefulSet):
        return item.spec.selector
    return None
