"""JSON patches of federated objects, as KubeAdmiral applies them.

An operation without a verb replaces. Replacing a member that an object does not have adds it, as in
the library that KubeAdmiral and the API server use (github.com/evanphx/json-patch, version 4).
"""

from typing import Any

import jsonpointer

from stretto.api.edit.patch import json_patch
from stretto.base.errors import ConflictError, InputError
from stretto.federation.objects.placements import Patches
from stretto.reconcile.cache import Fields


def patched(fields: Fields, patches: Patches, where: str) -> Fields:
    """An object after some operations; it stays as it is itself.

    Args:
        fields: the object.
        patches: the operations, in order.
        where: its name in messages.

    Raises:
        InputError: an operation is malformed or does not apply.
    """
    made = fields
    for index, each in enumerate(patches):
        here = where if len(patches) == 1 else f"{where}, operation {index}"
        try:
            made = json_patch(made, [_whole(made, each)], here)
        except ConflictError as error:
            expected = "a test that holds"
            raise InputError(f"patch of {here}", each.get("path"), expected, str(error)) from error
    return made


def _whole(fields: Fields, patch: Fields) -> Fields:
    """An operation with its verb."""
    verb = patch.get("op") or "replace"
    if verb == "replace" and _is_new_member(fields, patch.get("path")):
        verb = "add"
    return {**patch, "op": verb}


def _is_new_member(fields: Fields, path: Any) -> bool:
    """Whether a pointer leads to a member that its object does not have."""
    try:
        pointer = jsonpointer.JsonPointer(path)
        parent, member = pointer.to_last(fields)
    except (jsonpointer.JsonPointerException, TypeError):
        return False
    return isinstance(parent, dict) and member is not None and member not in parent
