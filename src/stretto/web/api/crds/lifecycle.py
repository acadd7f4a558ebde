"""The life of definitions: names are accepted, kinds are served, and what is deleted ends."""

from typing import Any, Final

from stretto.api.wire.kinds import Kind
from stretto.web.api.crds.versions import served_versions, stored_kind
from stretto.web.api.objects.ownership import own_status
from stretto.web.api.resources import ServedResource
from stretto.web.api.state import AdmittedWrite, ApiState
from stretto.web.api.storage import StoredItem

Json = dict[str, Any]

DEFINITION: Final = Kind(
    "apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions",
    namespaced=False,
)  # fmt: skip
CLEANUP: Final = "customresourcecleanup.apiextensions.k8s.io"
"""Finalizer of definitions with objects."""
_ACCEPTED: Final = {
    "type": "NamesAccepted",
    "status": "True",
    "reason": "NoConflicts",
    "message": "no conflicts found",
}
_ESTABLISHED: Final = {
    "type": "Established",
    "status": "True",
    "reason": "InitialNamesAccepted",
    "message": "the initial names have been accepted",
}
_TERMINATING: Final = {
    "type": "Terminating",
    "status": "True",
    "reason": "InstanceDeletionPending",
    "message": (
        "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"
    ),
}


def refresh(state: ApiState) -> None:
    """Serve what the stored definitions declare."""
    found: list[ServedResource] = []
    for definition in state.storage.items(DEFINITION):
        if _is_true(definition, "Established"):
            found += served_versions(definition)
    state.resources.replace_custom(found)


def after_definition(state: ApiState, admission: AdmittedWrite) -> None:
    """Serve a changed definition at once."""
    if admission.resource.stored == DEFINITION:
        refresh(state)


def move_definitions(state: ApiState) -> None:
    """Accept the names of new definitions and end deleted ones."""
    resource = state.resources.find("apiextensions.k8s.io", "v1", "customresourcedefinitions")
    if resource is None:
        return
    changed = False
    for record in state.storage.listing(DEFINITION).records:
        found = state.storage.find(DEFINITION, "", record.name)
        if found is None:
            continue
        if found.record.deleting:
            _end(state, found)
            changed = True
        elif not _is_true(found.item, "Established") or _names_differ(found.item):
            _accept(state, found)
            changed = True
    if changed:
        refresh(state)


def _accept(state: ApiState, found: StoredItem) -> None:
    """Accept names that no other definition has."""
    resource = state.resources.find("apiextensions.k8s.io", "v1", "customresourcedefinitions")
    assert resource is not None
    item = found.item
    taken = _conflict(state, item)
    conditions = [
        each
        for each in (item.get("status") or {}).get("conditions") or ()
        if each.get("type") not in ("NamesAccepted", "Established")
    ]
    status = dict(item.get("status") or {})
    if taken:
        refused = {
            "type": "NamesAccepted",
            "status": "False",
            "reason": taken[0],
            "message": taken[1],
        }
        not_yet = {
            "type": "Established",
            "status": "False",
            "reason": "NotAccepted",
            "message": "not all names are accepted",
        }
        wanted = [refused, not_yet]
        if _same(item, wanted):
            return
        status["acceptedNames"] = status.get("acceptedNames") or {"plural": "", "kind": ""}
    else:
        wanted = [_ACCEPTED, _ESTABLISHED]
        status["acceptedNames"] = item["spec"]["names"]
    stamped = [{**each, "lastTransitionTime": state.now} for each in wanted]
    status["conditions"] = [*conditions, *stamped]
    changed = {**item, "status": status}
    own_status(state, resource, item, changed)
    state.storage.replace(resource, found.record, changed)


def _same(item: Json, wanted: list[Json]) -> bool:
    found = {each.get("type"): each for each in (item.get("status") or {}).get("conditions") or ()}
    return all(found.get(each["type"], {}).get("message") == each["message"] for each in wanted)


def _conflict(state: ApiState, item: Json) -> tuple[str, str] | None:
    """Reason and message of names that another definition of the group has."""
    names, group = item["spec"]["names"], item["spec"]["group"]
    for other in state.storage.items(DEFINITION):
        same = other["metadata"]["name"] == item["metadata"]["name"]
        if same or other["spec"]["group"] != group or not _is_true(other, "Established"):
            continue
        accepted = (other.get("status") or {}).get("acceptedNames") or {}
        words = {accepted.get("plural"), accepted.get("singular")}
        words |= set(accepted.get("shortNames") or ())
        kinds = {accepted.get("kind"), accepted.get("listKind")}
        for field, taken in (
            ("plural", words),
            ("singular", words),
            ("kind", kinds),
            ("listKind", kinds),
        ):
            value = names.get(field)
            if value and value in taken:
                reason = f"{field[0].upper()}{field[1:]}Conflict"
                return reason, f'"{value}" is already in use'
    return None


def _names_differ(item: Json) -> bool:
    accepted = (item.get("status") or {}).get("acceptedNames")
    return bool(accepted != item["spec"]["names"])


def _is_true(item: Json, word: str) -> bool:
    return any(
        each.get("type") == word and each.get("status") == "True"
        for each in (item.get("status") or {}).get("conditions") or ()
    )


def begin_end(item: Json, now: str) -> None:
    """Mark a definition that is being deleted: its objects go first."""
    finalizers = item["metadata"].get("finalizers") or []
    if CLEANUP not in finalizers:
        item["metadata"]["finalizers"] = [*finalizers, CLEANUP]
    status = item.setdefault("status", {})
    conditions = [
        each for each in status.get("conditions") or () if each.get("type") != "Terminating"
    ]
    status["conditions"] = [*conditions, {**_TERMINATING, "lastTransitionTime": now}]


def _end(state: ApiState, found: StoredItem) -> None:
    """Delete the objects of a definition, then the definition."""
    resource = state.resources.find("apiextensions.k8s.io", "v1", "customresourcedefinitions")
    if resource is None:
        return
    kind = stored_kind(found.item)
    served = next((each for each in state.resources.custom() if each.stored == kind), None)
    for record in state.storage.listing(kind).records:
        stored = state.storage.find(kind, record.namespace, record.name)
        if stored is not None and served is not None:
            state.storage.remove(served, stored.record)
    left = [each for each in found.item["metadata"].get("finalizers") or () if each != CLEANUP]
    item = {**found.item, "metadata": {**found.item["metadata"], "finalizers": left}}
    if not left:
        state.storage.remove(resource, found.record)
    elif left != found.item["metadata"].get("finalizers"):
        state.storage.replace(resource, found.record, item)
