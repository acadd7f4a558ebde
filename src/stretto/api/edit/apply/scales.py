"""Owners of the replicas of a workload as owners of its scale, and back.

A scale is not stored, so ``metadata.managedFields`` of the workload keeps the owners of both. An
owner that comes from a scale has no time, because the scale is not what the time is about.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from stretto.api.edit.apply import fieldset
from stretto.api.edit.apply.fieldset import FieldSet
from stretto.api.edit.apply.managers import ManagerEntry, Managers

ReplicasField = Callable[[str], FieldSet | None]
"""The field of the replicas in an API version of a workload, empty if it has none.

``None`` if there is no such version.
"""
_SCALE_VERSION: Final = "autoscaling/v1"
_REPLICAS: Final[FieldSet] = {"f:spec": {"f:replicas": {}}}
"""The replicas of a scale."""


def scale_managers(managers: Managers, field_of: ReplicasField) -> Managers:
    """The owners of a scale.

    Args:
        managers: those of the workload.
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
        managers: those before the change; those of unknown versions are dropped.
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
