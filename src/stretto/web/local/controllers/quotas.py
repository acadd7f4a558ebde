"""The status of ResourceQuotas: the usage of the objects of a namespace, also after deletions."""

from collections.abc import Hashable, Iterable, Iterator
from typing import Any, Final

from stretto.api.admission.quota import attribute_classes, counted_by, used_by, with_usage
from stretto.api.wire.kinds import PERSISTENT_VOLUME_CLAIM, POD, RESOURCE_QUOTA, Kind
from stretto.reconcile.cache import Change
from stretto.web.api.admission.view import StorageView
from stretto.web.api.objects.ownership import own_status
from stretto.web.api.state import ApiState
from stretto.workloads.cluster import LocalCluster

Json = dict[str, Any]

_SUMMED: Final = (POD, PERSISTENT_VOLUME_CLAIM)
"""Kinds whose amounts quotas limit; other kinds are followed once a quota counts them."""


class QuotaController:
    """Controller that computes the usage of each quota."""

    def __init__(self, cluster: LocalCluster, state: ApiState) -> None:
        """Control the quotas of a cluster.

        Args:
            cluster: reports changed objects.
            state: the server of the objects.
        """
        #: Name in logs and messages.
        self.name = f"{cluster.name}/quotas"
        self._cluster = cluster
        self._state = state
        self._quotas = cluster.objects(RESOURCE_QUOTA)
        for kind in _SUMMED:
            cluster.objects(kind)

    def affected(self, change: Change) -> Iterable[Hashable]:
        """The changed quota, or those of the namespace of an object that is counted differently."""
        if change.source != self._cluster.name:
            return
        if change.kind == RESOURCE_QUOTA:
            yield change.object.name
        if _changes_usage(change):
            for each in self._quotas.in_namespace(change.object.record.namespace):
                yield each.name

    def reconcile(self, key: Hashable, now: float) -> float | None:
        """Compute the usage of one quota and write its status.

        Raises:
            ApiError: the quota has changed meanwhile.
        """
        assert isinstance(key, tuple)
        storage = self._state.storage
        stored = storage.find(RESOURCE_QUOTA, *key)
        resource = self._state.resources.find("", "v1", RESOURCE_QUOTA.plural)
        if stored is None or resource is None or stored.record.deleting:
            return None
        item = stored.item
        kinds = tuple(self._kinds(item))
        uncounted = {name: each for name, each in item.items() if name != "status"}
        counted = with_usage(uncounted, used_by(uncounted, StorageView(storage), kinds))
        if item.get("status") != counted["status"]:
            changed = {**item, "status": counted["status"]}
            own_status(self._state, resource, item, changed)
            storage.replace(resource, stored.record, changed)
        return None

    def _kinds(self, quota: Json) -> Iterator[Kind]:
        """Yield the kinds that a quota counts, and follow them from now on."""
        yield from _SUMMED
        for group, plural in sorted(counted_by(quota)):
            found = next(
                (
                    each.stored
                    for each in self._state.resources.all()
                    if (each.group, each.resource) == (group, plural)
                ),
                None,
            )
            if found is not None and found.namespaced and found not in _SUMMED:
                self._cluster.objects(found)
                yield found


def _changes_usage(change: Change) -> bool:
    """Return whether a change may alter how quotas count an object: its spec, phase or classes."""
    old, new = change.old, change.new
    if old is None or new is None:
        return True
    if change.kind not in _SUMMED:
        return False
    phases = (old.status.get("phase"), new.status.get("phase"))
    classes = (attribute_classes(old.fields), attribute_classes(new.fields))
    return phases[0] != phases[1] or classes[0] != classes[1] or old.spec != new.spec
