"""Workloads that ScalingPolicies of an input scale; they are not expanded to pods in a run."""

from collections.abc import Sequence

import msgspec

from stretto.api.checks.scaling import TARGETS
from stretto.api.codec import decode_as, parse_object, set_fields
from stretto.api.types.capacity.scaling import ScalingPolicy
from stretto.api.wire.kinds import POD, SCALING_POLICY
from stretto.inputs.objects.objects import NOT_OURS, SCHEDULER_NAME, adopted_pod
from stretto.inputs.objects.relations import InputObject, Key


def scaled_workloads(found: Sequence[InputObject]) -> frozenset[Key]:
    """The workloads to which the policies of an input refer."""
    keys: set[Key] = set()
    for each in found:
        groups = decode_as(ScalingPolicy, each.body).spec.groups if _is_policy(each) else ()
        keys |= {(group.target_ref.kind, each.namespace, group.target_ref.name) for group in groups}
    return frozenset(keys)


def adopted(item: InputObject) -> InputObject:
    """A pod or workload, assigned to Stretto if it sets no scheduler of its own."""
    if item.kind == POD:
        return msgspec.structs.replace(item, body=adopted_pod(item.body))
    if item.kind.kind not in TARGETS:
        return item
    template = parse_object(item.body, item.title)["spec"]["template"]
    if template["spec"].get("schedulerName", "") not in NOT_OURS:
        return item
    path = ("spec", "template", "spec", "schedulerName")
    return msgspec.structs.replace(item, body=set_fields(item.body, {path: SCHEDULER_NAME}))


def _is_policy(item: InputObject) -> bool:
    return item.kind == SCALING_POLICY
