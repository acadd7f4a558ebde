"""Typical pods: the commonest kinds until they cover enough."""

import numpy as np
import pytest

from stretto.framework.compiled.typical import TypicalPod, kind_of, typical_pods
from stretto.state.rows.devices import DeviceColumns
from tests.support.slot_cluster import SlotSketch


def kinds(*counts: int) -> list[tuple[TypicalPod, int]]:
    return [(TypicalPod(cpu, 1, 1000), count) for cpu, count in enumerate(counts, 1)]


def cpus(rows: list[tuple[TypicalPod, int]], share: float = 0.95) -> list[int]:
    return typical_pods(rows, DeviceColumns(), share).cpu.tolist()


def test_kinds_are_taken_in_decreasing_count_until_enough_are_covered() -> None:
    assert cpus(kinds(4, 80, 1, 15)) == [2, 4]


def test_one_kind_more_is_taken_where_the_share_is_just_missed() -> None:
    assert cpus(kinds(50, 44, 6)) == [1, 2, 3]


def test_equally_common_kinds_go_by_themselves_and_not_by_their_order() -> None:
    rows = kinds(10, 10, 10)
    assert cpus(rows, 0.5) == cpus(rows[::-1], 0.5) == [1, 2]


def test_a_kind_that_comes_more_than_once_is_counted_together() -> None:
    assert cpus([*kinds(5, 6), *kinds(5)], 0.5) == [1]


def test_frequencies_add_to_one() -> None:
    found = typical_pods(kinds(90, 8, 2), DeviceColumns())
    assert found.frequency.sum() == pytest.approx(1.0)
    assert found.frequency[0] == pytest.approx(90 / 98)


def test_no_pods_are_no_typical_pods() -> None:
    assert len(typical_pods([], DeviceColumns()).frequency) == 0
    assert len(typical_pods(kinds(0), DeviceColumns()).frequency) == 0


def test_models_become_the_masks_of_the_ledger() -> None:
    devices = DeviceColumns()
    number = devices.model_number("T4")
    found = typical_pods([(TypicalPod(1, 1, 1000, ("T4",)), 1), (TypicalPod(2, 0, 0), 1)], devices)
    assert found.models.tolist() == [1 << number, (1 << 63) - 1]
    assert found.models.dtype == np.int64


def test_the_kind_of_a_class_is_its_cpu_and_gpus() -> None:
    sketch = SlotSketch({"gpus": 2})
    share = sketch.pod(cpu="4", gpus=1, gpu_milli=300, gpu_models="V100|T4")
    assert kind_of(share) == TypicalPod(4000, 1, 300, ("T4", "V100"))
    assert kind_of(sketch.pod(cpu="0")) == TypicalPod(0, 0, 0)
