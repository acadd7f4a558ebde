"""JSON patches of federated objects, with KubeAdmiral's semantics."""

from typing import Any

from stretto.api.edit.json_patch import OperationError, operated
from stretto.base.errors import InputError
from stretto.federation.objects.placements import Patches
from stretto.reconcile.cache import Fields


def patched(fields: Fields, patches: Patches, where: str) -> Fields:
    """A copy of an object after some operations; an operation without a verb replaces.

    Args:
        fields: the object.
        patches: the operations, in order.
        where: name of the object in messages.

    Raises:
        InputError: an operation is malformed or cannot be applied.
    """
    made = fields
    for index, each in enumerate(patches):
        here = where if len(patches) == 1 else f"{where}, operation {index}"
        _check_pointer(each.get("path"), f"patch of {here}: path")
        try:
            made = operated(made, [{**each, "op": each.get("op") or "replace"}])
        except OperationError as error:
            expected = "an operation that can be applied to the object"
            raise InputError(f"patch of {here}", each["path"], expected, str(error)) from error
    return made


def _check_pointer(path: Any, where: str) -> None:
    if not isinstance(path, str) or not path.startswith("/"):
        raise InputError(where, path, "a JSON pointer such as /spec/replicas")
