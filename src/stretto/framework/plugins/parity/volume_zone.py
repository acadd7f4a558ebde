"""VolumeZone: bound volumes with zone or region labels are accessible only from those zones.

A volume's label may contain several values (``a__b``). Nodes without any such label pass. Ephemeral
PVCs are ignored.
"""

from typing import Final

import numpy as np

from stretto.api.types.storage import WAIT, PersistentVolume, class_name
from stretto.framework.contract.rule import FilterPlugin, FixedCheck, NodeCheck
from stretto.framework.model.nodes import NodeColumns
from stretto.framework.model.pod_facts import SchedulingFacts
from stretto.framework.model.snapshot import ParitySnapshot
from stretto.framework.model.status import SKIP, BoolArray, PluginStatus, refuse, unresolvable
from stretto.framework.plugins.volumes import VolumeZoneRule

REFUSED: Final = unresolvable("node(s) had no available volume zone")
NO_NAME: Final = unresolvable("PersistentVolume had no name")
NO_CLASS: Final = unresolvable("PersistentVolumeClaim had no pv name and storageClass name")
OLD_ZONE: Final = "failure-domain.beta.kubernetes.io/zone"
OLD_REGION: Final = "failure-domain.beta.kubernetes.io/region"
NEW: Final = {
    OLD_ZONE: "topology.kubernetes.io/zone",
    OLD_REGION: "topology.kubernetes.io/region",
}
LABELS: Final = (*NEW, *NEW.values())

Zones = tuple[str, frozenset[str]]
"""A label and its allowed values."""


class VolumeZonePlugin(FilterPlugin, declares=VolumeZoneRule):
    """Refuses nodes in zones other than those of the pod's volumes."""

    def prefilter(self, pod: SchedulingFacts, snapshot: ParitySnapshot) -> NodeCheck | PluginStatus:
        """Statuses of nodes in other zones; skipped if no bound volume has a zone."""
        zones: list[Zones] = []
        for name, own in pod.shape.pvcs:
            if not own:
                found = _zones(pod.namespace, name, snapshot)
                if isinstance(found, PluginStatus):
                    return found
                zones += found
        return FixedCheck(refuse(_outside(zones, snapshot.nodes), REFUSED)) if zones else SKIP


def _zones(namespace: str, name: str, snapshot: ParitySnapshot) -> list[Zones] | PluginStatus:
    """The zones of a PVC's volume, or the status that ends the cycle."""
    objects = snapshot.objects
    pvc = objects.pvcs.get((namespace, name))
    if pvc is None:
        return unresolvable(f'persistentvolumeclaim "{name}" not found')
    if pvc.spec.volume_name:
        volume = objects.volumes.get(pvc.spec.volume_name)
        if volume is None:
            return unresolvable(f'persistentvolume "{pvc.spec.volume_name}" not found')
        return zones_of(volume)
    wanted = class_name(pvc)
    if not wanted:
        return NO_CLASS
    found = objects.class_of(pvc)
    if found is None:
        return unresolvable(f'storageclass.storage.k8s.io "{wanted}" not found')
    return [] if found.volume_binding_mode == WAIT else NO_NAME


def zones_of(volume: PersistentVolume) -> list[Zones]:
    """Zone and region labels of a volume; one with an empty value among several is ignored."""
    labels = volume.metadata.labels
    zones = []
    for key in LABELS:
        if key in labels:
            values = [each.strip() for each in labels[key].split("__")]
            if all(values):
                zones.append((key, frozenset(values)))
    return zones


def _outside(zones: list[Zones], nodes: NodeColumns) -> BoolArray:
    """bool[n]: nodes with a zone label outside the zones of all volumes."""
    mask = np.zeros(nodes.count, np.bool_)
    for key, values in zones:
        inside = _among(key, values, nodes)
        if key in NEW:
            newer = _among(NEW[key], values, nodes)
            inside = np.where(nodes.has(key), inside, newer)
        mask |= ~inside
    anywhere = np.zeros(nodes.count, np.bool_)
    for key in LABELS:
        anywhere |= nodes.has(key)
    return mask & anywhere


def _among(key: str, values: frozenset[str], nodes: NodeColumns) -> BoolArray:
    """bool[n]: nodes whose label has one of the values."""
    mask = np.zeros(nodes.count, np.bool_)
    for value in values:
        mask |= nodes.labels.equal(key, value, nodes.everywhere)
    return mask
