"""Aggregation of the status of sources by the rules of a FederatedTypeConfig."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from stretto.api.types.federation.objects import StatusCombination, StatusRule
from stretto.base.errors import InputError
from stretto.federation.objects.aggregation.builtin import Aggregate, aggregate_of
from stretto.federation.objects.aggregation.expressions import evaluate, values_at
from stretto.federation.objects.paths import with_field
from stretto.federation.problems import AGGREGATED, ObjectCondition, ObjectProblemError
from stretto.federation.types import FederatedType
from stretto.reconcile.cache import Fields, StoredObject


def rule_of(type_: FederatedType) -> Aggregate | None:
    """The rule that aggregates the status of a kind; ``None`` if it is not aggregated."""
    if not type_.status_rules:
        return aggregate_of(type_.kind.kind)

    def rule(objects: Sequence[StoredObject]) -> Fields:
        try:
            return aggregated(type_.status_rules, objects)
        except InputError as error:
            text = f"{error}: correct the FederatedTypeConfig {type_.name}"
            raise ObjectProblemError(ObjectCondition(AGGREGATED, "InvalidRule", text)) from error

    return rule


def aggregated(rules: Sequence[StatusRule], objects: Sequence[StoredObject]) -> Fields:
    """The status of the source by all rules.

    Args:
        rules: the rules.
        objects: the objects of all members.

    Raises:
        InputError: a rule is malformed, or fails on these objects.
        MissingExtraError: a library is not installed.
    """
    members = [{**each.fields, "cluster": each.source} for each in objects]
    status: Fields = {}
    for rule in rules:
        status = with_field(status, rule.field, _value(rule, members))
    return status


def _value(rule: StatusRule, members: Sequence[Fields]) -> Any:
    """The value of one field."""
    if bool(rule.cel) == bool(rule.json_path):
        where = f"statusAggregation.rules: {rule.field}"
        raise InputError(where, None, "either cel or jsonPath")
    if rule.cel:
        return evaluate(rule.cel, members)
    found = [value for each in members for value in values_at(rule.json_path, each)]
    if rule.combine is not StatusCombination.LIST and not found:
        return None
    try:
        return _COMBINE[rule.combine](found)
    except TypeError as error:
        where = f"statusAggregation.rules: {rule.field}: jsonPath"
        expected = f"values that {rule.combine} combines"
        raise InputError(where, rule.json_path, expected) from error


_COMBINE: Final[Mapping[StatusCombination, Callable[[list[Any]], Any]]] = {
    StatusCombination.SUM: sum,
    StatusCombination.MIN: min,
    StatusCombination.MAX: max,
    StatusCombination.ALL: all,
    StatusCombination.ANY: any,
    StatusCombination.LIST: list,
}
"""Functions that combine the values of all members to one value."""
