"""Conversion between owners of a workload's replicas and owners of its scale.

A scale is not stored, so ``metadata.managedFields`` of the workload contains the owners of both. An
owner from a scale has no time, because the time is that of the workload's fields.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from stretto.api.edit.apply import fieldset
from stretto.api.edit.apply.fieldset import FieldSet
from stretto.api.edit.apply.managers import ManagerEntry, Managers

ReplicasField = Callable[[str], FieldSet | None]
"""Maps an API version of a workload to its replicas field; empty if it has none.

``None`` if the version does not exist.
"""
_SCALE_VERSION: Final = "autoscaling/v1"
_REPLICAS: Final[FieldSet] = {"f:spec": {"f:replicas": {}}}
"""The replicas of a scale."""


def scale_managers(managers: Managers, field_of: ReplicasField) -> Managers:
    """The owners of a scale.

    Args:
        managers: owners of fields of the workload.
        field_of: the field of the workload that the scale changes.
    """
    found: Managers = {}
    for each in managers.values():
        replicas = field_of(each.key.api_version)
        if replicas and fieldset.intersection(each.fields, replicas):
            key = replace(each.key, api_version=_SCALE_VERSION)
            found[key.identity] = ManagerEntry(key, _REPLICAS, each.time)
    return found


def workload_managers(
    managers: Managers, scaled: Managers, field_of: ReplicasField, api_version: str
) -> Managers:
    """The owners of a workload after a change of its scale.

    Args:
        managers: owners before the change; owners in unknown versions are dropped.
        scaled: the owners of the scale after the change.
        field_of: the field of the workload that the scale changes.
        api_version: the version of the workload.
    """
    kept: Managers = {}
    for identity, each in managers.items():
        replicas = field_of(each.key.api_version)
        if replicas is None:
            continue
        if identity in scaled or not fieldset.intersection(each.fields, replicas):
            kept[identity] = each
            continue
        rest = fieldset.difference(each.fields, replicas)
        if rest:
            kept[identity] = replace(each, fields=rest)
    for identity, each in scaled.items():
        before = managers.get(identity)
        replicas = {} if before is None else field_of(before.key.api_version) or {}
        known = before is not None and fieldset.intersection(before.fields, replicas)
        if not known and fieldset.intersection(each.fields, _REPLICAS):
            key = replace(each.key, api_version=api_version)
            time = "" if before is None else before.time
            kept[identity] = ManagerEntry(key, field_of(api_version) or {}, time)
    return kept
