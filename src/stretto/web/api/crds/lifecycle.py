"""Lifecycle of definitions: names are accepted, and then kinds are served."""

from typing import Any, Final

from stretto.api.wire.kinds import CUSTOM_RESOURCE_DEFINITION
from stretto.reconcile.conditions import true_condition, with_condition
from stretto.stores.store import Record
from stretto.web.api.crds.conversion.webhook import WebhookConversion
from stretto.web.api.crds.endings import begin_end, end_definition
from stretto.web.api.crds.status import write_status
from stretto.web.api.crds.versions import served_versions
from stretto.web.api.objects.rendering import rendered
from stretto.web.api.resources import ServedResource
from stretto.web.api.state import AdmittedWrite, ApiState
from stretto.web.api.storage import StoredItem

Json = dict[str, Any]
_Identity = tuple[str, str]
"""Uid and version of a definition."""

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
_INSTALLING: Final = {**_ESTABLISHED, "status": "False", "reason": "Installing"}
_REFUSED: Final = {"type": "NamesAccepted", "status": "False"}
_NOT_YET: Final = {
    "type": "Established",
    "status": "False",
    "reason": "NotAccepted",
    "message": "not all names are accepted",
}


def refresh(state: ApiState) -> None:
    """Serve the resources of the stored definitions; those of unchanged definitions are kept."""
    served: dict[_Identity, list[ServedResource]] = {}
    for each in state.resources.custom():
        served.setdefault(_identity(each.definition), []).append(each)
    found: list[ServedResource] = []
    for _, definition in _definitions(state):
        kept = served.get(_identity(definition))
        if kept is not None:
            found += kept
        elif _is_true(definition, "Established"):
            found += served_versions(definition, _conversion_of(state, definition))
    state.resources.replace_custom(found)


def _definitions(state: ApiState) -> list[tuple[Record, Json]]:
    """Return the stored definitions for reading only; those that are served are decoded already."""
    known = {_identity(each.definition): each.definition for each in state.resources.custom()}
    return [
        (record, known.get((record.uid, str(record.version))) or rendered(record))
        for record in state.storage.listing(CUSTOM_RESOURCE_DEFINITION).records
    ]


def _identity(definition: Json) -> _Identity:
    metadata = definition["metadata"]
    return metadata["uid"], metadata["resourceVersion"]


def _conversion_of(state: ApiState, definition: Json) -> WebhookConversion | None:
    """Return the webhook that converts the objects of a definition; ``None`` if it has none."""
    strategy = (definition["spec"].get("conversion") or {}).get("strategy")
    if strategy != "Webhook":
        return None
    return WebhookConversion(state.storage, state.rng.uid, definition)


def after_definition(state: ApiState, admission: AdmittedWrite) -> None:
    """Accept the names of a changed definition and serve its kind at once."""
    if admission.resource.stored != CUSTOM_RESOURCE_DEFINITION:
        return
    shown = admission.item or admission.old or {}
    found = state.storage.find(CUSTOM_RESOURCE_DEFINITION, "", shown["metadata"]["name"])
    if found is not None:
        _settle(state, admission.resource, found)
    refresh(state)


def move_definitions(state: ApiState) -> None:
    """Accept names that have become available, and end deleted definitions.

    A kind is served for one more turn after its definition has ended, so that watches show the
    deletion of its objects.
    """
    resource = state.resources.find("apiextensions.k8s.io", "v1", "customresourcedefinitions")
    definitions = _definitions(state)
    served = {each.definition["metadata"]["uid"] for each in state.resources.custom()}
    changed = bool(served - {record.uid for record, _ in definitions})
    for record, definition in definitions:
        if not record.deleting and _is_settled(definition):
            continue
        found = state.storage.find(CUSTOM_RESOURCE_DEFINITION, "", record.name)
        if found is None or resource is None:
            continue
        changed |= _settle(state, resource, found)
        if found.record.deleting:
            end_definition(state, resource, found)
    if changed:
        refresh(state)


def _settle(state: ApiState, resource: ServedResource, found: StoredItem) -> bool:
    """Process a definition as far as possible now; return whether its status has changed."""
    if found.record.deleting:
        return begin_end(state, resource, found)
    if _is_settled(found.item):
        return False
    return _accept(state, resource, found)


def _accept(state: ApiState, resource: ServedResource, found: StoredItem) -> bool:
    """Accept the names that no other definition uses; return whether the status has changed."""
    item = found.item
    names, conflict = _accepted(state, item)
    is_established = _is_true(item, "Established")
    stages = [_ESTABLISHED] if is_established else [_INSTALLING, _ESTABLISHED]
    if conflict is not None and not is_established:
        stages = [_NOT_YET]
    accepted = _ACCEPTED if conflict is None else conflict
    same_names = (item.get("status") or {}).get("acceptedNames") == names
    if same_names and _has_conditions(item, [accepted, stages[-1]]):
        return False
    for stage in stages:
        before = found.item.get("status") or {}
        status = {**before, "acceptedNames": names}
        for condition in (accepted, stage):
            status["conditions"] = with_condition(status.get("conditions"), condition, state.now)
        found = write_status(state, resource, found, status)
    return True


def _has_conditions(item: Json, wanted: list[Json]) -> bool:
    found = {each.get("type"): each for each in (item.get("status") or {}).get("conditions") or ()}
    return all(found.get(each["type"], {}).get("message") == each["message"] for each in wanted)


def _accepted(state: ApiState, item: Json) -> tuple[Json, Json | None]:
    """Return the names that a definition may use, and the condition of the last conflict."""
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
    """Return the names and the kinds that other definitions of the group use."""
    words: set[str] = set()
    kinds: set[str] = set()
    for _, other in _definitions(state):
        same = other["metadata"]["name"] == item["metadata"]["name"]
        if same or other["spec"]["group"] != item["spec"]["group"]:
            continue
        names = (other.get("status") or {}).get("acceptedNames") or {}
        words |= {names.get("plural", ""), names.get("singular", "")}
        words |= set(names.get("shortNames") or ())
        kinds |= {names.get("kind", ""), names.get("listKind", "")}
    return words - {""}, kinds - {""}


def _is_settled(item: Json) -> bool:
    """Return whether a definition is established and has all of its names."""
    accepted = (item.get("status") or {}).get("acceptedNames")
    return _is_true(item, "Established") and bool(accepted == item["spec"]["names"])


def _is_true(item: Json, word: str) -> bool:
    return true_condition((item.get("status") or {}).get("conditions"), word) is not None
