"""The families of recorded capacity results, each with the function that computes it again."""

from collections.abc import Mapping
from typing import Final

from stretto_lab.conformance.capacity import load
from stretto_lab.conformance.equality import Family, Numbers

FAMILIES: Final[Mapping[str, Family]] = {
    "ko_estimator": Family(load.estimator, Numbers.FLOATS),
}
"""How each family is computed and compared."""
