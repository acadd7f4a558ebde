"""The path of a pod through the plane stays short: calls between files are counted."""

import runpy
from pathlib import Path

from stretto.testing import Harness, make_node, make_pod

WALK = runpy.run_path(str(Path(__file__).resolve().parents[2] / "bench" / "walk.py"))
MOST_HOPS = 240
"""Calls between files for a pod of a known class: 60 % of those before the layers were merged, and
one that asks whether nodes are overcommitted."""


def test_a_pod_of_a_known_class_takes_few_hops() -> None:
    _, one_pod = WALK["known_class"]()
    assert 100 < one_pod.hops <= MOST_HOPS


def test_an_idle_step_reads_the_clock_and_the_watches_only() -> None:
    idle, _ = WALK["known_class"]()
    assert idle.hops <= 3


def test_the_walk_counts_calls_between_files_only() -> None:
    harness = Harness([make_node("n")], config={"tier": "numpy"})
    found = WALK["walk"](lambda: harness.submit(make_pod("p")))
    assert 0 < found.hops < found.calls
