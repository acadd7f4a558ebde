"""Measured load in the simulator: its reference, one node at a time, is the rule."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from stretto.api.wire.kinds import CUSTOM_NODE_RESOURCE
from stretto.base.clock import timestamp
from stretto.testing import Harness, make_node, make_pod
from stretto_lab.chaos.draws.load import ARGUMENTS, LoadDraw
from stretto_lab.chaos.draws.pods import PodRequest

USES = ("100m", "1500m", "2500m", "3900m", "64")


def drawn(args: Mapping[str, Any]) -> LoadDraw:
    """The first seed with these arguments."""
    seeds = map(LoadDraw, range(1000))
    return next(each for each in seeds if each.rule is not None and each.rule.args == args)


def report(name: str, cpu: str, age: float) -> bytes:
    usage = {"cpu": cpu, "memory": "8100Mi" if cpu == "100m" else "1Gi"}
    metric = {"updateTime": timestamp(1000.0 - age), "nodeMetric": {"genericUsage": usage}}
    body = {"metadata": {"name": name}, "status": {"nodeMetricStatus": metric}}
    return json.dumps(body).encode()


@pytest.mark.parametrize("args", ARGUMENTS)
def test_the_reference_admits_what_the_rule_admits(args: Mapping[str, Any]) -> None:
    draw, names = drawn(args), [f"n{number}" for number in range(2 * len(USES) + 1)]
    at = Harness(
        [make_node(name, cpu="4", memory="8Gi") for name in names], config={"tier": "numpy"}
    )
    uses = [(use, age) for use in USES for age in (0.0, 300.0)]
    reports = [report(name, *use) for name, use in zip(names, uses, strict=False)]
    at.create(CUSTOM_NODE_RESOURCE, *reports)
    at.placed(make_pod("p", cpu="1", memory="512Mi"))
    cluster, runtime = at.plane.cluster, at.plane.shards[0].default.runtime
    assert draw.rule is not None
    runtime.sync()
    admitted = draw.rule.filter(cluster.classes[0], runtime.view, np.arange(len(names)))
    request = PodRequest(1000, 512)
    expected = [draw.allows(at.plane, name, request, 1) for name in cluster.nodes.names]
    assert admitted.tolist() == expected[: len(names)]
    assert len(set(expected)) == 2
