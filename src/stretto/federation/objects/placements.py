"""Placements and overrides of a federated object, by controller."""

from collections.abc import Iterable, Mapping
from typing import Any

from stretto.federation import names
from stretto.federation.types import FederatedType
from stretto.reconcile.cache import Fields, StoredObject

Patches = list[Fields]
"""Operations of a JSON patch."""


def placed_by(spec: Fields, controller: str) -> list[str] | None:
    """Clusters that a controller has chosen; ``None`` before its first choice."""
    for each in spec.get("placements") or ():
        if each.get("controller") == controller:
            return [item["cluster"] for item in each.get("placement") or ()]
    return None


def placement(spec: Fields) -> set[str]:
    """The effective placement: the union of the clusters of all controllers."""
    return {
        item["cluster"]
        for each in spec.get("placements") or ()
        for item in each.get("placement") or ()
    }


def is_host_only(federated: StoredObject) -> bool:
    """True if an object stays on the host and is written to no member: a centralized autoscaler."""
    labels = federated.spec["template"]["metadata"].get("labels") or {}
    return labels.get(names.CENTRALIZED_HPA) == "true"


def with_placement(spec: Fields, controller: str, clusters: Iterable[str] | None) -> Fields:
    """A spec with new clusters of a controller; ``None`` or an empty list removes its entry."""
    chosen = sorted(clusters or ())
    others = [each for each in spec.get("placements") or () if each["controller"] != controller]
    entry = {"controller": controller, "placement": [{"cluster": name} for name in chosen]}
    return _with_list(spec, "placements", others, entry if chosen else None)


def overrides_by(spec: Fields, controller: str) -> dict[str, Patches]:
    """Overrides of a controller by cluster."""
    for each in spec.get("overrides") or ():
        if each.get("controller") == controller:
            return {
                item["cluster"]: item.get("patches") or [] for item in each.get("clusters") or ()
            }
    return {}


def with_overrides(spec: Fields, controller: str, patches: Mapping[str, Patches]) -> Fields:
    """A spec with new overrides of a controller; clusters without overrides are omitted."""
    items = [
        {"cluster": name, "patches": patches[name]} for name in sorted(patches) if patches[name]
    ]
    others = [each for each in spec.get("overrides") or () if each["controller"] != controller]
    entry = {"controller": controller, "clusters": items}
    return _with_list(spec, "overrides", others, entry if items else None)


def patches_for(spec: Fields, cluster: str, type_: FederatedType) -> Patches:
    """All operations for a cluster, in the order of the controllers of the type."""
    order = {name: index for index, name in enumerate(sum(type_.pipeline, ()))}
    overrides = spec.get("overrides") or ()
    ordered = sorted(overrides, key=lambda each: order.get(each["controller"], len(order)))
    return [
        patch
        for each in ordered
        for item in each.get("clusters") or ()
        if item["cluster"] == cluster
        for patch in item.get("patches") or ()
    ]


def _with_list(spec: Fields, field: str, others: list[Any], entry: Fields | None) -> Fields:
    """A spec in which one controller's entry of a list is replaced or removed."""
    entries = [*others, entry] if entry is not None else others
    entries.sort(key=lambda each: str(each["controller"]))
    changed = {key: value for key, value in spec.items() if key != field}
    return {**changed, field: entries} if entries else changed
