"""The families of results of Koordinator, each with the function that recomputes it."""

from collections.abc import Mapping
from typing import Final

from stretto_lab.conformance.capacity import enforcement, histograms, load, rebalancing, reclaim
from stretto_lab.conformance.equality import Family, Numbers

KOORDINATOR: Final[Mapping[str, Family]] = {
    "ko_batch": Family(reclaim.batch, Numbers.FLOATS),
    "ko_cpuset": Family(enforcement.cpuset, Numbers.FLOATS),
    "ko_estimator": Family(load.estimator, Numbers.FLOATS),
    "ko_loadaware": Family(load.load_aware, Numbers.FLOATS),
    "ko_lownodeload": Family(rebalancing.low_node_load, Numbers.FLOATS),
    "ko_memevict": Family(enforcement.evict),
    "ko_mid": Family(reclaim.mid, Numbers.FLOATS),
    "ko_predictor": Family(histograms.predict, Numbers.FLOATS, gaps=True),
    "ko_suppress": Family(enforcement.suppress, Numbers.FLOATS),
}
"""Computation and comparison of each family."""
