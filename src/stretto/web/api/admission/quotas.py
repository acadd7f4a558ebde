"""Admission by ResourceQuotas with a status: objects above a quota are refused, others charged."""

from collections.abc import Iterator
from typing import Any, Final

from stretto.api.admission.quota import check_quotas
from stretto.api.wire.kinds import RESOURCE_QUOTA, Kind
from stretto.web.api.admission.refusals import Refusals, request_of
from stretto.web.api.admission.view import StorageView
from stretto.web.api.objects.ownership import own_status
from stretto.web.api.state import AdmittedWrite, ApiState

Json = dict[str, Any]

_CHARGED: Final = ("", "resize")
"""Subresources whose writes change the usage of quotas."""


class _KnownQuotas:
    """View of the stored objects in which the usage of quotas comes from their status."""

    def __init__(self, view: StorageView) -> None:
        self._view = view

    def get(self, kind: Kind, namespace: str, name: str) -> Json | None:
        """Return one object, or ``None``."""
        return self._view.get(kind, namespace, name)

    def list(self, kind: Kind, namespace: str = "") -> Iterator[Json]:
        """Return the objects of a kind, without quotas whose usage is unknown."""
        for item in self._view.list(kind, namespace):
            status = item.get("status") or {}
            if kind != RESOURCE_QUOTA:
                yield item
            elif status.get("hard") and status.get("used"):
                known = {key: each for key, each in status["hard"].items() if key in status["used"]}
                spec = {**(item.get("spec") or {}), "hard": known}
                yield {**item, "spec": spec, "status": {**status, "hard": known}}


def charge_quotas(state: ApiState, admission: AdmittedWrite) -> None:
    """Charge a new or larger object to the quotas of its namespace.

    A new object whose name exists is not charged, because the store refuses it.
    """
    item, call = admission.item, admission.call
    if item is None or admission.subresource not in _CHARGED:
        return
    if not admission.resource.kind.namespaced:
        return
    view = _KnownQuotas(StorageView(state.storage))
    with Refusals(call, item):
        charged = check_quotas(request_of(admission), item, view, admission.old)
    if not charged:
        return
    resource = state.resources.find("", "v1", RESOURCE_QUOTA.resource)
    if call.options.dry_run or resource is None or _exists(state, admission, item):
        return
    for each in charged:
        metadata = each["metadata"]
        stored = state.storage.find(RESOURCE_QUOTA, metadata["namespace"], metadata["name"])
        if stored is None:
            continue
        status = stored.item["status"]
        used = {**status["used"], **each["status"]["used"]}
        changed = {**stored.item, "status": {**status, "used": used}}
        own_status(state, resource, stored.item, changed)
        state.storage.replace(resource, stored.record, changed)


def _exists(state: ApiState, admission: AdmittedWrite, item: Json) -> bool:
    """Return whether a stored object has the name of a new one."""
    if admission.old is not None:
        return False
    metadata = item["metadata"]
    namespace = metadata.get("namespace") or admission.call.route.namespace
    kind = admission.resource.stored
    return state.storage.find(kind, namespace, metadata["name"]) is not None
