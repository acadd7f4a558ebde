"""Generated machines and arrival times."""

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest

from stretto.base.errors import InputError
from stretto.base.rng import Rng
from stretto.inputs.scenario.workloads import (
    Diurnal,
    diurnal_times,
    poisson_times,
    regular_times,
    synthetic_nodes,
)


def test_a_fleet_has_four_shapes_in_their_shares() -> None:
    nodes = synthetic_nodes(1000, Rng(1))
    shapes = Counter((node.cpu_milli, node.memory_mib) for node in nodes)
    assert sorted(shapes.values()) == [100, 200, 300, 400]
    assert sum(node.gpus > 0 for node in nodes) == 100


def test_zones_are_equally_large() -> None:
    zones = Counter(node.zone for node in synthetic_nodes(1000, Rng(1), zones=8))
    assert set(zones.values()) == {125}


def test_some_nodes_have_taints_and_all_have_labels() -> None:
    nodes = synthetic_nodes(1000, Rng(1))
    assert 100 < sum(bool(node.taints) for node in nodes) < 200
    assert {node.labels["stretto.dev/disk"] for node in nodes} == {"ssd", "hdd"}


def test_the_same_seed_makes_the_same_fleet() -> None:
    assert synthetic_nodes(50, Rng(3)) == synthetic_nodes(50, Rng(3))
    assert synthetic_nodes(50, Rng(3)) != synthetic_nodes(50, Rng(4))


@pytest.mark.parametrize(("count", "zones"), [(0, 1), (1_000_001, 1), (5, 0), (5, 6)])
def test_absurd_fleets_are_refused(count: int, zones: int) -> None:
    with pytest.raises(InputError, match="expected an integer"):
        synthetic_nodes(count, Rng(1), zones=zones)


def test_random_arrivals_keep_their_rate() -> None:
    times = poisson_times(10_000, 50.0, Rng(1), start=100.0)
    assert times[0] >= 100
    assert times[-1] == pytest.approx(300, rel=0.05)
    assert (np.diff(times) >= 0).all()


def test_regular_arrivals_are_evenly_spaced() -> None:
    assert regular_times(4, 0.5, start=2.0).tolist() == [2.0, 2.5, 3.0, 3.5]


def test_the_day_has_a_quiet_and_a_busy_time() -> None:
    times = diurnal_times(20_000, Diurnal(1.0, 9.0, period_s=1000.0), Rng(1)) % 1000
    quiet = ((times < 100) | (times > 900)).sum()
    busy = ((times > 400) & (times < 600)).sum()
    assert busy > 4 * quiet


@pytest.mark.parametrize("rate", [0.0, -1.0, float("nan"), float("inf")])
def test_a_rate_that_is_none_is_refused(rate: float) -> None:
    with pytest.raises(InputError, match="expected arrivals per second"):
        poisson_times(1, rate, Rng(1))


def test_a_low_rate_above_the_high_one_is_refused() -> None:
    with pytest.raises(InputError, match=r"low: got 5.0, expected a rate 0\.\.2"):
        diurnal_times(1, Diurnal(5.0, 2.0), Rng(1))


@pytest.mark.parametrize(
    "times",
    [
        lambda count: poisson_times(count, 1.0, Rng(1)),
        lambda count: regular_times(count, 1.0),
        lambda count: diurnal_times(count, Diurnal(0.0, 1.0), Rng(1)),
    ],
)
@pytest.mark.parametrize("count", [-1, 10**9])
def test_more_arrivals_than_memory_holds_are_refused(
    times: Callable[[int], object], count: int
) -> None:
    with pytest.raises(InputError, match=r"expected an integer 0\.\.10000000"):
        times(count)
