"""The demand for a service over time, as replicas of its ScalingPolicy."""

from collections.abc import Iterator, Sequence
from math import ceil
from typing import Final

import msgspec

from stretto.api.types.heads import decode_object_head
from stretto.api.wire.kinds import SCALING_POLICY, Kind
from stretto.base.errors import InputError, did_you_mean
from stretto.inputs.neutral.tables import CsvLayout, read_table
from stretto.inputs.scenario.schema import DemandSpec, Scenario

LAYOUT: Final = CsvLayout(("second", "value"))
"""Columns of a series."""
_MOST_S: Final = 1e10
_MOST: Final = 1e15
_MOST_REPLICAS: Final = 2**31 - 1


class DemandStep(msgspec.Struct, frozen=True):
    """The replicas of a policy from a second on."""

    #: Second of the scenario.
    time_s: float
    #: Namespace of the policy.
    namespace: str
    #: Name of the policy.
    policy: str
    #: Replicas of the whole service.
    replicas: int


def replica_demands(spec: DemandSpec, scenario: Scenario) -> Iterator[DemandStep]:
    """The replicas of a service over time, without repetitions.

    Raises:
        InputError: the file has an unknown form, or its times are not in order.
    """
    path = scenario.path(spec.series)
    table = read_table(path, LAYOUT)
    seconds = table.decimals("second", 0.0, _MOST_S)
    values = table.decimals("value", 0.0, _MOST)
    before, last = -1, -1.0
    for row, (second, value) in enumerate(zip(seconds, values, strict=True)):
        if second <= last:
            expected = f"a second after {last:g}, that of the row before"
            raise InputError(f"{path}, row {row + 1}: second", second, expected, "sort the rows")
        last, wanted = second, ceil(value / spec.per_replica)
        if wanted > _MOST_REPLICAS:
            expected = f"at most {_MOST_REPLICAS:,} replicas"
            raise InputError("demand.per_replica", spec.per_replica, expected, "enlarge it")
        if wanted != before:
            before = wanted
            yield DemandStep(second, scenario.namespace, spec.policy, wanted)


def check_policies(
    demands: Sequence[DemandStep], objects: Sequence[tuple[Kind, bytes]], where: str
) -> None:
    """Refuse demand for a policy that the scenario does not have."""
    found = {
        (head.metadata.namespace, head.metadata.name)
        for kind, body in objects
        if kind == SCALING_POLICY
        for head in (decode_object_head(body),)
    }
    for each in demands:
        if (each.namespace, each.policy) not in found:
            names = sorted(name for _, name in found)
            hint = did_you_mean(each.policy, names, "add the manifest of the policy")
            expected = f"a ScalingPolicy of the scenario in namespace {each.namespace}"
            raise InputError(f"{where}: demand.policy", each.policy, expected, hint)
