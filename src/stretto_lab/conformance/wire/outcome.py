"""The state of a replay in the short form of the recorded outcomes."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from stretto.api.kinds.federation import (
    CLUSTER_FEDERATED_OBJECT,
    FEDERATED_OBJECT,
    FEDERATED_TYPE_CONFIG,
)
from stretto.federation import names
from stretto.federation.objects import pending
from stretto.federation.objects.paths import field_at
from stretto.federation.problems import PROPAGATED
from stretto.federation.types import FederatedType, read_type
from stretto.reconcile.cache import StoredObject
from stretto.stores.render import render
from stretto.stores.store import Store

Fields = dict[str, Any]

_SHOWN: Final = {
    "scheduling-deferred-reasons": names.DEFERRED,
    "applied-migration-configuration": names.APPLIED_MIGRATION,
    "auto-migration-info": names.AUTO_MIGRATION,
}
"""Annotations of a federated object that an outcome contains."""
_REPLICAS: Final = {"StatefulSet": "spec.replicas"}
"""Paths of replicas of kinds that are not divided."""
_HIDDEN: Final = ("conditions",)
_REPORTED: Final = frozenset({"Deployment", "StatefulSet", "DaemonSet", "Job", "Pod"})
"""Kinds of sources whose status an outcome contains."""
NOWHERE: Final[frozenset[str]] = frozenset()
"""No namespace."""


def outcome(
    host: Store,
    members: Mapping[str, Store],
    known: set[str],
    hidden: frozenset[str] = NOWHERE,
) -> Fields:
    """What the controllers have written so far.

    Args:
        host: the host.
        members: the members by name.
        known: uids of the members' objects that were federated at some time; more are added.
        hidden: namespaces whose objects are left out.
    """
    configs = host.list(FEDERATED_TYPE_CONFIG.kind).records
    types = [read_type(StoredObject(each)) for each in configs]
    shown = {name: _members(types, store, known, hidden) for name, store in members.items()}
    return {
        "federated": _federated(host, hidden),
        "members": {name: each for name, each in shown.items() if each},
        "source": _sources(types, host, hidden),
    }


def _objects(store: Store, kind: Any, hidden: frozenset[str]) -> list[Fields]:
    records = store.list(kind).records
    return [msgspec.json.decode(render(x)) for x in records if x.namespace not in hidden]


def _federated(host: Store, hidden: frozenset[str]) -> Fields:
    kinds = (FEDERATED_OBJECT.kind, CLUSTER_FEDERATED_OBJECT.kind)
    return {
        each["metadata"]["name"]: _federated_object(each)
        for kind in kinds
        for each in _objects(host, kind, hidden)
        if each["metadata"].get("namespace") != names.SYSTEM_NAMESPACE
    }


def _federated_object(each: Fields) -> Fields:
    """One federated object."""
    spec, status, metadata = each.get("spec") or {}, each.get("status") or {}, each["metadata"]
    notes = metadata.get("annotations") or {}
    made: Fields = {}
    if placements := {
        _short(item["controller"]): [x["cluster"] for x in item.get("placement") or ()]
        for item in spec.get("placements") or ()
    }:
        made["placements"] = placements
    if overrides := {
        _short(item["controller"]): {x["cluster"]: x["patches"] for x in item.get("clusters") or ()}
        for item in spec.get("overrides") or ()
    }:
        made["overrides"] = overrides
    if follows := [f"{x['kind']}/{x['name']}" for x in spec.get("follows") or ()]:
        made["follows"] = follows
    if clusters := {x["cluster"]: x["status"] for x in status.get("clusters") or ()}:
        made["clusters"] = clusters
    conditions = {x["type"]: x for x in status.get("conditions") or ()}
    condition: Fields = conditions.get(PROPAGATED, {})
    made["propagated"] = [condition.get("status"), condition.get("reason") or None]
    ends = bool(metadata.get("deletionTimestamp"))  # API servers count it as a generation
    made["synced"] = status.get("syncedGeneration") == metadata.get("generation") and not ends
    if groups := pending.pending(notes):
        made["pending"] = [list(group) for group in groups]
    if metadata.get("deletionTimestamp"):
        made["terminating"] = True
    made |= {name: notes[key] for name, key in _SHOWN.items() if key in notes}
    return made


def _short(controller: str) -> str:
    return controller.removeprefix(names.PREFIX)


def _is_federated(metadata: Fields) -> bool:
    """Whether the federation manages an object."""
    marks = {*(metadata.get("labels") or {}), *(metadata.get("annotations") or {})}
    marks.discard(names.NO_FEDERATION)
    return not metadata.get("ownerReferences") and any(
        each.startswith(names.PREFIX) for each in marks
    )


def _members(
    types: Sequence[FederatedType], store: Store, known: set[str], hidden: frozenset[str]
) -> Fields:
    """Objects of one member."""
    found: Fields = {}
    for type_ in types:
        kind = type_.kind.kind
        for each in _objects(store, type_.kind, hidden):
            uid = each["metadata"]["uid"]
            if _is_federated(each["metadata"]):
                known.add(uid)
            if uid not in known:
                continue
            made: Fields = {}
            if each["metadata"].get("deletionTimestamp"):
                made["terminating"] = True
            replicas = (
                field_at(each, type_.paths.replicas_spec) if type_.paths.replicas_spec else None
            )
            if replicas is None and type_.kind.kind == "StatefulSet":
                replicas = field_at(each, "spec.replicas")
            if replicas is not None:
                made["replicas"] = replicas
            if kind == "Deployment":
                made["image"] = each["spec"]["template"]["spec"]["containers"][0].get("image")
            found[f"{kind}/{each['metadata']['name']}"] = made
    return found


def _status(status: Fields) -> Fields:
    """A status without what outcomes leave out.

    The pods of the recorded members were run by kwok, which does not note that containers have
    started.
    """
    shown = {key: value for key, value in status.items() if key not in _HIDDEN}
    if containers := shown.get("containerStatuses"):
        shown["containerStatuses"] = [
            {key: value for key, value in each.items() if key != "started"} for each in containers
        ]
    return shown


def _sources(types: Sequence[FederatedType], host: Store, hidden: frozenset[str]) -> Fields:
    """Status of the sources whose status is aggregated."""
    found: Fields = {}
    for type_ in types:
        if type_.kind.kind not in _REPORTED:
            continue
        for each in _objects(host, type_.kind, hidden):
            status = _status(each.get("status") or {})
            if status and type_.aggregates:
                found[f"{type_.kind.kind}/{each['metadata']['name']}"] = status
    return found
