"""The life of definitions: names are accepted, kinds are served, and what is deleted ends."""

from typing import Any, Final

from stretto.api.wire.kinds import CUSTOM_RESOURCE_DEFINITION
from stretto.web.api.crds.versions import served_versions, stored_kind
from stretto.web.api.objects.ownership import own_status
from stretto.web.api.resources import ServedResource
from stretto.web.api.state import AdmittedWrite, ApiState
from stretto.web.api.storage import StoredItem

Json = dict[str, Any]

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
_REFUSED: Final = {"type": "NamesAccepted", "status": "False"}
_NOT_YET: Final = {
    "type": "Established",
    "status": "False",
    "reason": "NotAccepted",
    "message": "not all names are accepted",
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
    for definition in state.storage.items(CUSTOM_RESOURCE_DEFINITION):
        if _is_true(definition, "Established"):
            found += served_versions(definition)
    state.resources.replace_custom(found)


def after_definition(state: ApiState, admission: AdmittedWrite) -> None:
    """Serve a changed definition at once."""
    if admission.resource.stored == CUSTOM_RESOURCE_DEFINITION:
        refresh(state)


def move_definitions(state: ApiState) -> None:
    """Accept the names of new definitions and end deleted ones."""
    resource = state.resources.find("apiextensions.k8s.io", "v1", "customresourcedefinitions")
    if resource is None:
        return
    changed = False
    for record in state.storage.listing(CUSTOM_RESOURCE_DEFINITION).records:
        found = state.storage.find(CUSTOM_RESOURCE_DEFINITION, "", record.name)
        if found is None:
            continue
        if found.record.deleting:
            _end(state, found)
            changed = True
        elif not _is_true(found.item, "Established") or _names_differ(found.item):
            changed |= _accept(state, found)
    if changed:
        refresh(state)


def _accept(state: ApiState, found: StoredItem) -> bool:
    """Accept the names that no other definition has; whether the status has changed."""
    resource = state.resources.find("apiextensions.k8s.io", "v1", "customresourcedefinitions")
    assert resource is not None
    item = found.item
    names, conflict = _accepted(state, item)
    before = dict(item.get("status") or {})
    kept = [
        each
        for each in before.get("conditions") or ()
        if each.get("type") not in ("NamesAccepted", "Established")
    ]
    established = _ESTABLISHED if conflict is None or _is_true(item, "Established") else _NOT_YET
    wanted = [_ACCEPTED if conflict is None else conflict, established]
    if before.get("acceptedNames") == names and _has_conditions(item, wanted):
        return False
    stamped = [{**each, "lastTransitionTime": state.now} for each in wanted]
    status = {**before, "acceptedNames": names, "conditions": [*kept, *stamped]}
    changed = {**item, "status": status}
    own_status(state, resource, item, changed)
    state.storage.replace(resource, found.record, changed)
    return True


def _has_conditions(item: Json, wanted: list[Json]) -> bool:
    found = {each.get("type"): each for each in (item.get("status") or {}).get("conditions") or ()}
    return all(found.get(each["type"], {}).get("message") == each["message"] for each in wanted)


def _accepted(state: ApiState, item: Json) -> tuple[Json, Json | None]:
    """The names that a definition may use, and the condition of the last one that is taken."""
    wanted = item["spec"]["names"]
    words, kinds = _taken(state, item)
    names: Json = dict((item.get("status") or {}).get("acceptedNames") or {})
    names = {"plural": "", "kind": "", **names}
    conflict = None
    for field, taken in (
        ("plural", words), ("singular", words), ("shortNames", words), ("kind", kinds),
        ("listKind", kinds),
    ):  # fmt: skip
        value = wanted.get(field)
        stated = value if isinstance(value, list) else [value]
        known = names.get(field)
        known = known if isinstance(known, list) else [known]
        used = [each for each in stated if each in taken and each not in known]
        if used:
            texts = [f'"{each}" is already in use' for each in used]
            text = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
            reason = f"{field[0].upper()}{field[1:]}Conflict"
            conflict = {**_REFUSED, "reason": reason, "message": text}
        elif value:
            names[field] = value
        else:
            names.pop(field, None)
    if wanted.get("categories"):
        names["categories"] = wanted["categories"]
    return names, conflict


def _taken(state: ApiState, item: Json) -> tuple[set[str], set[str]]:
    """The names and the kinds that other definitions of the group use."""
    words: set[str] = set()
    kinds: set[str] = set()
    for other in state.storage.items(CUSTOM_RESOURCE_DEFINITION):
        same = other["metadata"]["name"] == item["metadata"]["name"]
        if same or other["spec"]["group"] != item["spec"]["group"]:
            continue
        names = (other.get("status") or {}).get("acceptedNames") or {}
        words |= {names.get("plural", ""), names.get("singular", "")}
        words |= set(names.get("shortNames") or ())
        kinds |= {names.get("kind", ""), names.get("listKind", "")}
    return words - {""}, kinds - {""}


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
