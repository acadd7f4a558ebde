"""APIServices: one per served group and version, with its availability."""

from collections.abc import Iterator
from typing import Any, Final

from stretto.api.wire.kinds import CUSTOM_RESOURCE_DEFINITION, SERVICE, Kind
from stretto.web.api.bootstrap.creation import make
from stretto.web.api.objects.ownership import own_status
from stretto.web.api.objects.preparation import locally_available
from stretto.web.api.resources import ServedResource
from stretto.web.api.state import AdmittedWrite, ApiState
from stretto.web.api.storage import StoredItem

Json = dict[str, Any]

API_SERVICE: Final = Kind(
    "apiregistration.k8s.io", "v1", "APIService", "apiservices", namespaced=False
)
_MANAGED: Final = "kube-aggregator.kubernetes.io/automanaged"
_AT_START: Final = "onstart"
_BY_DEFINITION: Final = "true"
_CUSTOM: Final = (1000, 100)
_PRIORITIES: Final = {
    "": (18000, 1),
    "apps": (17800, 15),
    "events.k8s.io": (17750, 15),
    "authentication.k8s.io": (17700, 15),
    "authorization.k8s.io": (17600, 15),
    "autoscaling": (17500, 15),
    "batch": (17400, 15),
    "certificates.k8s.io": (17300, 15),
    "networking.k8s.io": (17200, 15),
    "policy": (17100, 15),
    "rbac.authorization.k8s.io": (17000, 15),
    "storage.k8s.io": (16800, 15),
    "admissionregistration.k8s.io": (16700, 15),
    "apiextensions.k8s.io": (16700, 15),
    "scheduling.k8s.io": (16600, 15),
    "coordination.k8s.io": (16500, 15),
    "node.k8s.io": (16300, 15),
    "discovery.k8s.io": (16200, 15),
    "resource.k8s.io": (16200, 21),
    "flowcontrol.apiserver.k8s.io": (16100, 21),
}
"""Priorities of a group and of its versions, for the choice of clients.

The group ``apiregistration.k8s.io`` has no APIService.
"""
_BETTER: Final = {("autoscaling", "v2"): 30}
"""Priorities of versions that are preferred over others of their group."""

Version = tuple[str, str]
"""Group and version."""


def initial_registrations(state: ApiState) -> Iterator[Json]:
    """The APIServices of the groups of Kubernetes."""
    versions = dict.fromkeys((each.group, each.kind.version) for each in state.resources.built_in())
    return (_registration(each, _AT_START) for each in versions if each[0] in _PRIORITIES)


def _registration(version: Version, managed: str) -> Json:
    group, word = version
    first, second = _PRIORITIES.get(group, _CUSTOM)
    rest = {"groupPriorityMinimum": first, "versionPriority": _BETTER.get(version, second)}
    metadata = {"name": f"{word}.{group}", "labels": {_MANAGED: managed}}
    return {"metadata": metadata, "spec": {"version": word, **rest, **_named(group)}}


def _named(group: str) -> Json:
    return {"group": group} if group else {}


def make_registration(state: ApiState, item: Json) -> None:
    """Create an APIService."""
    make(state, (API_SERVICE.group, API_SERVICE.version, API_SERVICE.plural), item)


def after_kinds(state: ApiState, admission: AdmittedWrite) -> None:
    """Create the missing APIServices of a changed definition."""
    if admission.resource.stored == CUSTOM_RESOURCE_DEFINITION:
        for item in _missing_registrations(state):
            make_registration(state, item)


def _missing_registrations(state: ApiState) -> list[Json]:
    """Return the missing APIServices of the definitions of custom kinds."""
    versions = dict.fromkeys((each.group, each.kind.version) for each in state.resources.custom())
    items = (_registration(each, _BY_DEFINITION) for each in versions)
    names = {each.name for each in state.storage.listing(API_SERVICE).records}
    return [each for each in items if each["metadata"]["name"] not in names]


def settle_registrations(state: ApiState) -> None:
    """Remove APIServices of deleted custom kinds, and write the availability of the others."""
    resource = state.resources.find(API_SERVICE.group, API_SERVICE.version, API_SERVICE.plural)
    served = {f"{each.kind.version}.{each.group}" for each in state.resources.custom()}
    for record in state.storage.listing(API_SERVICE).records:
        found = StoredItem(state.views.item(record), record)
        if resource is None:
            continue
        managed = (found.item["metadata"].get("labels") or {}).get(_MANAGED)
        if managed == _BY_DEFINITION and record.name not in served:
            state.storage.remove(resource, record)
        else:
            _settle(state, resource, found)


def _settle(state: ApiState, resource: ServedResource, found: StoredItem) -> None:
    wanted = _availability(state, found)
    present = (found.item.get("status") or {}).get("conditions") or []
    if any(each.get("message") == wanted["message"] for each in present):
        return
    changed = {**found.item, "status": {"conditions": [wanted]}}
    own_status(state, resource, found.item, changed)
    state.storage.replace(resource, found.record, changed)


def _availability(state: ApiState, found: StoredItem) -> Json:
    service = found.item["spec"].get("service")
    if service is None:
        return locally_available(state.now)
    name, namespace = service.get("name", ""), service.get("namespace", "")
    if state.storage.find(SERVICE, namespace, name) is None:
        text = f'service/{name} in "{namespace}" is not present'
        reason = "ServiceNotFound"
    else:
        text = f'endpoints for service/{name} in "{namespace}" have no addresses'
        reason = "MissingEndpoints"
    condition = {"type": "Available", "status": "False", "lastTransitionTime": state.now}
    return {**condition, "reason": reason, "message": text}
