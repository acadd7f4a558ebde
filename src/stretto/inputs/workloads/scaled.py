"""The workloads that ScalingPolicies of an input scale: they stay workloads in a run."""

from collections.abc import Sequence
from typing import Final

import msgspec

from stretto.api.codec import decode_as, parse_object, set_fields
from stretto.api.types.capacity.scaling import ScalingPolicy
from stretto.api.wire.kinds import DEPLOYMENT, POD, REPLICA_SET, SCALING_POLICY
from stretto.base.errors import InputError
from stretto.inputs.objects.objects import NOT_OURS, SCHEDULER_NAME, adopted_pod
from stretto.inputs.objects.relations import InputObject, Key

SCALED: Final = (DEPLOYMENT.kind, REPLICA_SET.kind)
"""Kinds that a run can scale: their pods start without waiting for others to be ready."""


def scaled_workloads(found: Sequence[InputObject]) -> frozenset[Key]:
    """The workloads that the policies of an input name.

    Raises:
        InputError: a policy scales a kind that a run cannot scale.
    """
    keys: set[Key] = set()
    for each in found:
        groups = decode_as(ScalingPolicy, each.body).spec.groups if _is_policy(each) else ()
        for index, group in enumerate(groups):
            target = group.target_ref
            if target.kind not in SCALED:
                where = f"{each.title}: spec.groups[{index}].targetRef.kind"
                raise InputError(where, target.kind, f"{' or '.join(SCALED)} in a scenario")
            keys.add((target.kind, each.namespace, target.name))
    return frozenset(keys)


def adopted(item: InputObject) -> InputObject:
    """A pod, or a workload whose pods Stretto schedules, if they name no scheduler of their own."""
    if item.kind == POD:
        return msgspec.structs.replace(item, body=adopted_pod(item.body))
    if item.kind.kind not in SCALED:
        return item
    template = parse_object(item.body, item.title)["spec"]["template"]
    if template["spec"].get("schedulerName", "") not in NOT_OURS:
        return item
    path = ("spec", "template", "spec", "schedulerName")
    return msgspec.structs.replace(item, body=set_fields(item.body, {path: SCHEDULER_NAME}))


def _is_policy(item: InputObject) -> bool:
    return item.kind == SCALING_POLICY
