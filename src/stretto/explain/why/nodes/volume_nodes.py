"""Volumes that restrict a pod to some nodes, and the labels of these nodes."""

from collections.abc import Iterator

from stretto.api.types.storage import PersistentVolume
from stretto.api.wire.selectors import node_terms
from stretto.base.errors import InputError
from stretto.framework.model.cached_facts import PodFactsCache
from stretto.state.cluster.cluster import Cluster


def volume_texts(cluster: Cluster, row: int) -> Iterator[str]:
    """Each bound volume of a pod that only some nodes can access, as a clause."""
    facts, objects = PodFactsCache(cluster).facts(row), cluster.objects
    for name, _ in facts.pvc_names():
        pvc = objects.pvcs.get((facts.namespace, name))
        volume = objects.volumes.get(pvc.spec.volume_name) if pvc is not None else None
        wanted = _wanted(volume) if volume is not None else ""
        if volume is not None and wanted:
            yield f"volume {volume.metadata.name} of PVC {name} needs a node with {wanted}"


def _wanted(volume: PersistentVolume) -> str:
    """Labels of the nodes that can access a volume; empty for all nodes."""
    affinity = volume.spec.node_affinity
    if affinity is None or affinity.required is None:
        return ""
    try:
        terms = node_terms(affinity.required, "spec.nodeAffinity.required")
    except InputError:  # the volume rules report the error themselves
        return ""
    alternatives = [
        " and ".join(map(str, (*term.labels.rules, *term.fields.rules))) for term in terms
    ]
    return " or ".join(alternatives)
