"""Recorded scenarios of KubeAdmiral have the same outcomes on a real host and real members."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from stretto.base.clock import WallClock
from stretto_lab.conformance.wire import scenario
from stretto_lab.conformance.wire.cases import common_of, compare
from stretto_lab.conformance.wire.real.cases import read, read_apart
from stretto_lab.conformance.wire.real.servers import RealServers, real_servers

pytestmark = [pytest.mark.kube, pytest.mark.slow, pytest.mark.timeout(1200)]

RECORDED = Path(__file__).resolve().parents[4] / "shared" / "data" / "kubeadmiral_wire"
SAMPLE = ("p06-configmap", "d03-min-max", "o01-image", "c01-adopt", "f01-followers")
APART = ("a05-join-bad-authority", "a06-join-unjoinable")
"""Scenarios in which clusters join: each has servers of its own."""


@pytest.fixture(scope="module")
def servers() -> Iterator[RealServers]:
    first = RECORDED / f"{SAMPLE[0]}.jsonl.gz"
    if not first.exists():
        pytest.skip("the recordings are not beside this repository")
    recorded = scenario.read(first)
    with real_servers(common_of(first, recorded.recording), WallClock()) as running:
        running.start()
        running.join(recorded.clusters)
        yield running


@pytest.mark.parametrize("name", SAMPLE)
def test_a_scenario_has_the_recorded_outcomes(name: str, servers: RealServers) -> None:
    cases = list(read([RECORDED / f"{name}.jsonl.gz"], servers))
    assert cases
    assert [each for case in cases for each in compare(case)[0]] == []


@pytest.mark.parametrize("name", APART)
def test_a_scenario_that_changes_servers_has_the_recorded_outcomes(name: str) -> None:
    path = RECORDED / f"{name}.jsonl.gz"
    if not path.exists():
        pytest.skip("the recordings are not beside this repository")
    cases = list(read_apart(path, WallClock()))
    assert cases
    assert [each for case in cases for each in compare(case)[0]] == []
