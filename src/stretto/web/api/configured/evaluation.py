"""The result of the expression of a mutation on an object."""

from typing import Any

from stretto.api.edit.apply.atoms import atomic_paths, null_fault
from stretto.api.edit.apply.merge import merge
from stretto.api.edit.apply.walking import ApplyError, check_typed, struct_value
from stretto.api.edit.json_patch import FailedTestError, OperationError, operated
from stretto.api.schema.types import StructType
from stretto.web.api.cel.literals import LiteralError, configuration_of, operations_of
from stretto.web.api.cel.programs import CelError, Dialect
from stretto.web.api.configured.expressions import WriteExpressions

Json = dict[str, Any]


class MutationError(Exception):
    """A mutation that cannot be made."""


def mutated(item: Json, expressions: WriteExpressions, mutation: Json, struct: StructType) -> Json:
    """An object after a mutation; the object is not changed.

    Args:
        item: the object.
        expressions: the variables of the expression.
        mutation: a JSON patch, or an applied configuration.
        struct: the struct of the object.

    Raises:
        MutationError: the expression fails, or its value does not fit the object.
    """
    try:
        if mutation.get("patchType") == "JSONPatch":
            return _patched(item, expressions, mutation["jsonPatch"]["expression"])
        text = mutation["applyConfiguration"]["expression"]
        return _configured(item, expressions, text, struct)
    except (CelError, LiteralError) as error:
        raise MutationError(str(error)) from error


def _patched(item: Json, expressions: WriteExpressions, text: str) -> Json:
    """An object after the JSON patch of an expression; a failed test leaves it as it is."""
    operations = operations_of(expressions.value(text, Dialect.MUTATION))
    try:
        return operated(item, operations)
    except FailedTestError:
        return item
    except OperationError as error:
        raise MutationError(f"JSON Patch: {error}") from error


def _configured(item: Json, expressions: WriteExpressions, text: str, struct: StructType) -> Json:
    """An object with the configuration of an expression merged in."""
    config = configuration_of(expressions.value(text, Dialect.MUTATION))
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
