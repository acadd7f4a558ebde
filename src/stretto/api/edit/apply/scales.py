"""Owners of the replicas of a workload as owners of its scale, and back.

A scale is not stored, so ``metadata.managedFields`` of the workload keeps the owners of both. An
owner that comes from a scale has no time, because the scale is not what the time is about.
"""

from dataclasses import replace
from typing import Final

from stretto.api.edit.apply import fieldset
from stretto.api.edit.apply.fieldset import FieldSet
from stretto.api.edit.apply.managers import ManagerEntry, Managers

_SCALE_VERSION: Final = "autoscaling/v1"
_REPLICAS: Final[FieldSet] = {"f:spec": {"f:replicas": {}}}
"""The replicas of a scale."""


def scale_managers(managers: Managers, replicas: FieldSet) -> Managers:
    """The owners of a scale.

    Args:
        managers: those of the workload.
        replicas: the field of the workload that the scale changes.
    """
    found: Managers = {}
    for each in managers.values():
        if fieldset.intersection(each.fields, replicas):
            key = replace(each.key, api_version=_SCALE_VERSION)
            found[key.identity] = ManagerEntry(key, _REPLICAS, each.time)
    return found


def workload_managers(
    managers: Managers, scaled: Managers, replicas: FieldSet, api_version: str
) -> Managers:
    """The owners of a workload after a change of its scale.

    Args:
        managers: those before the change.
        scaled: the owners of the scale after the change.
        replicas: the field of the workload that the scale changes.
        api_version: the version of the workload.
    """
    kept: Managers = {}
    for identity, each in managers.items():
        if identity in scaled or not fieldset.intersection(each.fields, replicas):
            kept[identity] = each
            continue
        rest = fieldset.difference(each.fields, replicas)
        if rest:
            kept[identity] = replace(each, fields=rest)
    for identity, each in scaled.items():
        known = identity in managers and fieldset.intersection(managers[identity].fields, replicas)
        if not known and fieldset.intersection(each.fields, _REPLICAS):
            time = managers[identity].time if identity in managers else ""
            kept[identity] = ManagerEntry(
                replace(each.key, api_version=api_version), replicas, time
            )
    return kept
