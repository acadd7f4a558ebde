"""JSON patches of federated objects, as KubeAdmiral applies them."""

from typing import Any

from stretto.api.edit.json_patch import OperationError, operated
from stretto.base.errors import InputError
from stretto.federation.objects.placements import Patches
from stretto.reconcile.cache import Fields


def patched(fields: Fields, patches: Patches, where: str) -> Fields:
    """An object after some operations; one without a verb replaces. The object is not changed.

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
        _check_pointer(each.get("path"), f"patch of {here}: path")
        try:
            made = operated(made, [{**each, "op": each.get("op") or "replace"}])
        except OperationError as error:
            expected = "an operation that applies to the object"
            raise InputError(f"patch of {here}", each["path"], expected, str(error)) from error
    return made


def _check_pointer(path: Any, where: str) -> None:
    if not isinstance(path, str) or not path.startswith("/"):
        raise InputError(where, path, "a JSON pointer such as /spec/replicas")
