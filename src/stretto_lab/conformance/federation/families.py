"""The families of recorded federation decisions, each with the function that recomputes it."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from stretto_lab.conformance.federation import capacity, karmada, placement, replicas, rolling

FAMILIES: Final[Mapping[str, Callable[[dict[str, Any]], dict[str, Any]]]] = {
    "ka_spread_plan": replicas.spread_plan,
    "ka_spread_sequence": replicas.spread_sequence,
    "ka_binpack_plan": replicas.binpack_plan,
    "ka_dynamic_weights": capacity.dynamic_weights,
    "ka_cluster_plugins": placement.cluster_plugins,
    "ka_schedule": placement.schedule,
    "ka_rollout_plan": rolling.rollout_plan,
    "km_divide": karmada.divide,
    "km_assign": karmada.assign,
    "km_select": karmada.select,
    "km_estimate": karmada.estimate_replicas,
    "km_schedule": karmada.schedule,
}
"""Functions from a recorded input to the fields of the result, by family."""
