"""Ownership of members' objects by federated objects, and their adoption."""

import json
import re
from typing import Final

from stretto.api.types.federation.objects import PropagationStatus as Status
from stretto.federation import names
from stretto.federation.objects.members.orphans import is_leftover, setting
from stretto.reconcile.cache import Fields, StoredObject

_TRUE: Final = "true"
_FALSE: Final = "false"
_ADOPT: Final = "adopt"


def is_managed(present: StoredObject) -> bool:
    """True if the federation manages an object."""
    return present.labels.get(names.MANAGED) == _TRUE


def is_other(present: StoredObject, federated: StoredObject) -> bool:
    """True if exactly one of both belongs to an imported Service of the same name."""
    mark = names.DERIVED_SERVICE
    return (mark in present.annotations) != (mark in federated.annotations)


def hindrance(present: StoredObject, federated: StoredObject, cluster: str) -> Status | None:
    """The reason why an existing object is not updated; ``None`` if it may be updated."""
    if present.is_terminating:
        return Status.PENDING_CREATE
    if is_managed(present):
        return Status.ALREADY_EXISTS if is_other(present, federated) else None
    may_adopt = _may_adopt(federated, cluster) and not present.labels.get(names.MANAGED)
    return None if may_adopt else Status.ALREADY_EXISTS


def reserved(present: StoredObject) -> str:
    """Message about an object that its label keeps from the federation; empty without the label."""
    if present.labels.get(names.MANAGED) != _FALSE:
        return ""
    text = f"an object of that name has the label {names.MANAGED}={_FALSE}"
    return f"{text}: remove the label if the federation may manage it"


def is_removable(present: StoredObject, federated: StoredObject, cluster: StoredObject) -> bool:
    """True if an object must be removed from a cluster in which it is not placed."""
    if present.is_terminating or not is_managed(present) or is_other(present, federated):
        return False
    return federated.is_terminating or not is_leftover(federated, present, cluster)


def adopting(wanted: Fields, present: StoredObject) -> Fields:
    """The desired object, marked as adopted if the present object was not managed before."""
    if is_managed(present):
        return wanted
    metadata = wanted["metadata"]
    notes = {**metadata["annotations"], names.ADOPTED: _TRUE}
    return {**wanted, "metadata": {**metadata, "annotations": notes}}


def _may_adopt(federated: StoredObject, cluster: str) -> bool:
    """True if an existing object of a cluster may be adopted."""
    notes = federated.annotations
    if setting(notes, names.NAMESPACE_CONFLICT, names.CONFLICT) != _ADOPT:
        return False
    text = setting(notes, names.NAMESPACE_ADOPT, names.ADOPT_FROM)
    try:
        chosen = json.loads(text or "{}")
        pattern = chosen.get("regexp") or ""
        by_pattern = bool(pattern) and re.search(pattern, cluster) is not None
        return cluster in (chosen.get("clusters") or ()) or by_pattern
    except (AttributeError, TypeError, ValueError, re.error):
        return False
