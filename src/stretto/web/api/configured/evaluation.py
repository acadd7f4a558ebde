"""Application of a mutation's expression to an object."""

from typing import Any

from stretto.api.edit.apply.atoms import atomic_paths, null_fault
from stretto.api.edit.apply.merge import merge
from stretto.api.edit.apply.walking import ApplyError, check_typed, struct_value
from stretto.api.edit.json_patch import FailedTestError, OperationError, operated
from stretto.api.schema.types import StructType
from stretto.cel.programs import CelError
from stretto.web.api.cel.literals import LiteralError, configuration_of, operations_of
from stretto.web.api.configured.expressions import WriteExpressions

Json = dict[str, Any]


class MutationError(Exception):
    """A mutation cannot be applied."""


def mutated(item: Json, expressions: WriteExpressions, mutation: Json, struct: StructType) -> Json:
    """Return an object after a mutation; the given object does not change.

    Args:
        item: the object.
        expressions: the variables of the expression.
        mutation: a JSON patch, or an applied configuration.
        struct: the struct of the object.

    Raises:
        MutationError: the expression fails, or its value does not match the object.
    """
    try:
        if mutation.get("patchType") == "JSONPatch":
            return _patched(item, expressions, mutation["jsonPatch"]["expression"])
        text = mutation["applyConfiguration"]["expression"]
        return _configured(item, expressions, text, struct)
    except (CelError, LiteralError) as error:
        raise MutationError(str(error)) from error


def _patched(item: Json, expressions: WriteExpressions, text: str) -> Json:
    """Apply the JSON patch of an expression; after a failed test, return the object unchanged."""
    operations = operations_of(expressions.value(text))
    try:
        return operated(item, operations)
    except FailedTestError:
        return item
    except OperationError as error:
        raise MutationError(f"JSON Patch: {error}") from error


def _configured(item: Json, expressions: WriteExpressions, text: str, struct: StructType) -> Json:
    """Merge the configuration of an expression into an object."""
    config = configuration_of(expressions.value(text))
    config |= {name: item[name] for name in ("kind", "apiVersion") if name in item}
    kind = struct_value(struct)
    head = "error applying patch:"
    try:
        check_typed(config, kind)
        fault = null_fault(config, kind)
    except ApplyError as error:
        fault = str(error)
    if fault:
        raise MutationError(f"{head} failed to convert patch object to typed object: {fault}")
    atoms = list(atomic_paths(config, kind))
    if atoms:
        problem = f"may not mutate atomic arrays, maps or structs: {', '.join(atoms)}"
        raise MutationError(f"{head} invalid ApplyConfiguration: {problem}")
    merged: Json = merge(item, config, kind)
    return merged
