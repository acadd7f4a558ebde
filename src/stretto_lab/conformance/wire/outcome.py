"""The state of a replay in the abbreviated form of the recorded outcomes."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

import msgspec

from stretto.api.kinds.federation import (
    CLUSTER_FEDERATED_OBJECT,
    FEDERATED_OBJECT,
    FEDERATED_TYPE_CONFIG,
)
from stretto.api.wire.kinds import Kind
from stretto.federation import names
from stretto.federation.objects import pending
from stretto.federation.objects.paths import field_at
from stretto.federation.problems import PROPAGATED
from stretto.federation.types import FederatedType, read_type
from stretto.reconcile.cache import StoredObject
from stretto.stores.render import render
from stretto.stores.store import Listing
from stretto_lab.conformance.wire.scope import EVERYTHING, ScenarioScope

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


class Lists(Protocol):
    """Protocol of the listing of a server's objects; every store implements it."""

    def list(self, kind: Kind) -> Listing:
        """The objects of a kind."""
        ...


def outcome(
    host: Lists,
    members: Mapping[str, Lists],
    known: set[str],
    scope: ScenarioScope = EVERYTHING,
) -> Fields:
    """The writes of the controllers so far.

    Args:
        host: the host.
        members: the members by name.
        known: uids of the members' objects that were ever federated; new ones are added.
        scope: the objects that belong to the scenario.
    """
    configs = host.list(FEDERATED_TYPE_CONFIG.kind).records
    types = [read_type(StoredObject(each)) for each in configs]
    shown = {name: _members(types, lists, known, scope) for name, lists in members.items()}
    return {
        "federated": _federated(host, scope),
        "members": {name: each for name, each in shown.items() if each},
        "source": _sources(types, host, scope),
    }


def _objects(lists: Lists, kind: Kind, scope: ScenarioScope) -> list[Fields]:
    records = lists.list(kind).records
    return [msgspec.json.decode(render(x)) for x in records if scope.shows(x.namespace, x.name)]


def _federated(host: Lists, scope: ScenarioScope) -> Fields:
    kinds = (FEDERATED_OBJECT.kind, CLUSTER_FEDERATED_OBJECT.kind)
    return {
        each["metadata"]["name"]: _federated_object(each)
        for kind in kinds
        for each in _objects(host, kind, EVERYTHING)
        if each["metadata"].get("namespace") != names.SYSTEM_NAMESPACE and _in_scope(each, scope)
    }


def _in_scope(federated: Fields, scope: ScenarioScope) -> bool:
    """True if the source of a federated object belongs to a scenario."""
    source = (federated["spec"].get("template") or {}).get("metadata") or {}
    return scope.shows(federated["metadata"].get("namespace", ""), source.get("name", ""))


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
    ends = bool(metadata.get("deletionTimestamp"))  # API servers count the deletion as a generation
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
    """True if the federation manages an object."""
    marks = {*(metadata.get("labels") or {}), *(metadata.get("annotations") or {})}
    marks.discard(names.NO_FEDERATION)
    return not metadata.get("ownerReferences") and any(
        each.startswith(names.PREFIX) for each in marks
    )


def _members(
    types: Sequence[FederatedType], lists: Lists, known: set[str], scope: ScenarioScope
) -> Fields:
    """Objects of one member."""
    found: Fields = {}
    for type_ in types:
        kind = type_.kind.kind
        for each in _objects(lists, type_.kind, scope):
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
    """A status without the parts that outcomes omit.

    The recorded members used kwok, which does not report that containers have started.
    """
    shown = {key: value for key, value in status.items() if key not in _HIDDEN}
    if containers := shown.get("containerStatuses"):
        shown["containerStatuses"] = [
            {key: value for key, value in each.items() if key != "started"} for each in containers
        ]
    return shown


def _sources(types: Sequence[FederatedType], host: Lists, scope: ScenarioScope) -> Fields:
    """Status of the sources whose status is aggregated."""
    found: Fields = {}
    for type_ in types:
        if type_.kind.kind not in _REPORTED:
            continue
        for each in _objects(host, type_.kind, scope):
            status = _status(each.get("status") or {})
            if status and type_.aggregates:
                found[f"{type_.kind.kind}/{each['metadata']['name']}"] = status
    return found
