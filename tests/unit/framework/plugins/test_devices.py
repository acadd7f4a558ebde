"""Devices: counts, shares, models, and the reasons."""

from typing import Any

import msgspec
import numpy as np
import pytest

from stretto.base.errors import UnknownNameError
from stretto.framework.contract.rule import Fail
from stretto.framework.plugins.devices import TOO_MANY_KINDS, DevicesRule
from stretto.state.rows.devices import DeviceRequest
from tests.support.slot_cluster import SlotSketch

RULE = DevicesRule({})
GPU = "Insufficient nvidia.com/gpu"


def reasons(sketch: SlotSketch, **requested: Any) -> dict[str, list[tuple[int, bool]]]:
    """Reason to (node number, resolvable)."""
    found: dict[str, list[tuple[int, bool]]] = {}
    for refusal in RULE.refusals(sketch.pod(**requested), sketch.view, sketch.slots):
        for node in np.flatnonzero(refusal.mask).tolist():
            found.setdefault(refusal.reason, []).append((node, refusal.resolvable))
    return found


def test_a_pod_without_devices_fits_every_node_and_the_rule_has_no_effect() -> None:
    sketch = SlotSketch({})
    pod = sketch.pod()
    assert RULE.signature(pod) is None
    assert RULE.filter(pod, sketch.view, sketch.slots).all()
    assert RULE.refusals(pod, sketch.view, sketch.slots) == []


def test_whole_devices_must_be_wholly_free() -> None:
    sketch = SlotSketch({"gpus": 2}, {"gpus": 2})
    sketch.run("n0", sketch.pod(gpus=1, gpu_milli=100), [0])
    pod = sketch.pod(gpus=2)
    assert RULE.filter(pod, sketch.view, sketch.slots).tolist() == [False, True]


def test_a_share_fits_beside_others_on_one_device_but_not_across_two() -> None:
    sketch = SlotSketch({"gpus": 2})
    for device in (0, 1):
        sketch.run("n0", sketch.pod(gpus=1, gpu_milli=600), [device])
    fits = [
        RULE.filter(sketch.pod(gpus=1, gpu_milli=m), sketch.view, sketch.slots) for m in (400, 500)
    ]
    assert [each.tolist() for each in fits] == [[True], [False]]


def test_only_devices_of_an_allowed_model_count() -> None:
    sketch = SlotSketch({"gpus": 1, "model": "T4"}, {"gpus": 1, "model": "V100"}, {"gpus": 1})
    pod = sketch.pod(gpus=1, gpu_models="V100|A10")
    assert RULE.filter(pod, sketch.view, sketch.slots).tolist() == [False, True, False]


def test_taken_devices_may_come_free_and_missing_ones_may_not() -> None:
    sketch = SlotSketch({"gpus": 2}, {"gpus": 1}, {})
    sketch.run("n0", sketch.pod(gpus=1), [0])
    assert reasons(sketch, gpus=2) == {GPU: [(0, True), (1, False), (2, False)]}


def test_devices_of_other_models_only_are_a_reason_of_their_own() -> None:
    sketch = SlotSketch({"gpus": 8, "model": "V100"}, {"gpus": 1, "model": "T4"}, {})
    wrong = "node(s) had no nvidia.com/gpu of model A10|T4"
    found = reasons(sketch, gpus=2, gpu_models="T4|A10")
    assert found == {wrong: [(0, False)], GPU: [(1, False), (2, False)]}


def test_it_shows_how_many_devices_are_lacking() -> None:
    sketch = SlotSketch({"gpus": 4})
    sketch.run("n0", sketch.pod(gpus=3), [0, 1, 2])
    lacks = RULE.lacks(sketch.pod(gpus=2), sketch.view, sketch.slot("n0"))
    assert lacks == [("nvidia.com/gpu", 2, 1)]
    assert RULE.lacks(sketch.pod(gpus=1), sketch.view, sketch.slot("n0")) == []


def test_a_class_of_too_many_kinds_goes_nowhere_and_states_why() -> None:
    sketch = SlotSketch({"gpus": 4})
    kinds = tuple(DeviceRequest(f"example.com/{i}", 1, 1000) for i in range(3))
    pod = msgspec.structs.replace(sketch.pod(), devices=kinds)
    assert RULE.prepare(pod, sketch.view) == Fail(TOO_MANY_KINDS)
    assert not RULE.filter(pod, sketch.view, sketch.slots).any()
    (refusal,) = RULE.refusals(pod, sketch.view, sketch.slots)
    assert (refusal.reason, refusal.resolvable) == (TOO_MANY_KINDS, False)


def test_it_takes_no_arguments() -> None:
    with pytest.raises(UnknownNameError):
        DevicesRule({"kinds": 1})
