"""What the cluster wishes for pods that say nothing of spreading: hosts and zones, softly.

Kubernetes' defaults (a skew of 3 over hosts and of 5 over zones) for the pods that a pod's services
and its controller select; a pod that belongs to nothing gets none.
"""

from stretto.api import selectors
from stretto.api.selectors import EVERYTHING, Selector
from stretto.api.workloads import ReplicationController
from stretto.state.domain_terms import (
    HOST_SKEW,
    HOSTNAME,
    NOBODY,
    ZONE,
    ZONE_SKEW,
    Spread,
    both,
    exactly,
)
from stretto.state.objects import Objects
from stretto.state.tags import Tags


def default_spread(tags: Tags, tag: int, objects: Objects) -> list[tuple[Spread, Selector]]:
    """The default constraints of a tag's pods, each with the pods that it counts."""
    selector = default_selector(tags, tag, objects)
    if selector == EVERYTHING:
        return []
    own = int(selector.matches(tags.labels_of(tag)))
    return [
        (Spread(NOBODY, key, skew, own, 1, by_affinity=True, by_taints=False), selector)
        for key, skew in ((HOSTNAME, HOST_SKEW), (ZONE, ZONE_SKEW))
    ]


def default_selector(tags: Tags, tag: int, objects: Objects) -> Selector:
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
