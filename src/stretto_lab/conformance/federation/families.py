"""The families of recorded federation decisions, each with the function that computes it again."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from stretto_lab.conformance.federation import replicas

FAMILIES: Final[Mapping[str, Callable[[dict[str, Any]], dict[str, Any]]]] = {
    "ka_spread_plan": replicas.spread_plan,
    "ka_spread_sequence": replicas.spread_sequence,
}
"""From a recorded input to the fields of the result, by family."""
