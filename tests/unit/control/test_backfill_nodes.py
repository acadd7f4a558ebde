"""Backfill with reservations of nodes: gangs of whole nodes, racks, rules, estimates, words."""

import json
from typing import Any

import pytest

from stretto.api.wire.kinds import POD_GROUP, QUEUE
from stretto.control.dispatcher.membership import read_estimate
from stretto.explain.why.answers import Explanation
from stretto.explain.why.sources.live import live_scene
from stretto.explain.why.why import explain_pod
from stretto.explain.words.reasons import ReasonCode
from stretto.testing import Harness, make_group, make_node, make_pod

POLICIES = pytest.mark.parametrize("policy", ["Easy", "Conservative"])
RUN = "stretto.dev/duration"
GUESS = "stretto.dev/estimate"


class Site(Harness):
    """A cluster with one backfilling queue; pods end after their run time."""

    def __init__(self, nodes: list[bytes], policy: str, profile: str = "default") -> None:
        super().__init__(nodes, profile=profile, config={"tier": "numpy"})
        body = {
            "apiVersion": QUEUE.api_version,
            "kind": "Queue",
            "metadata": {"name": "q"},
            "spec": {"policy": policy},
        }
        self.create(QUEUE, json.dumps(body).encode())
        self.run_time: dict[str, float] = {}
        self.started: dict[str, float] = {}

    def job(self, name: str, run: float, guess: float | None = None, **form: Any) -> None:
        notes = {"stretto.dev/queue": "q", RUN: str(run)}
        if guess is not None:
            notes[GUESS] = str(guess)
        self.run_time[name] = run
        self.submit(make_pod(name, annotations=notes, **form))

    def gang(self, name: str, count: int, run: float, **form: Any) -> None:
        group = {k: form.pop(k) for k in ("affinity",) if k in form}
        self.group(name, count, scheduleTimeoutSeconds=10**6, **group)
        for i in range(count):
            self.job(f"{name}-{i}", run, group=name, **form)

    def until(self, end: float) -> None:
        """Second by second: note starts, and end pods after their run time."""
        while self.clock.monotonic() < end:
            self.settle(1)
            now = self.clock.monotonic()
            for name, node in self.placements().items():
                if node and name in self.run_time:
                    self.started.setdefault(name, now)
            for name, at in list(self.started.items()):
                if name in self.run_time and now >= at + self.run_time[name]:
                    del self.run_time[name]
                    self.delete(name)
        assert self.breaches() == []

    def why(self, pod: str) -> Explanation:
        plane = self.plane
        scene = live_scene(plane.cluster, plane.config.profile, plane.units, plane.dispatcher.views)
        return explain_pod(scene, pod)


def gpu_nodes(count: int, **more: Any) -> list[bytes]:
    return [make_node(f"n{i}", cpu="64", memory="256Gi", gpus=4, **more) for i in range(count)]


@pytest.mark.parametrize("profile", ["default", "packing", "kube-parity"])
@POLICIES
def test_a_gang_of_whole_nodes_does_not_starve_behind_small_jobs(policy: str, profile: str) -> None:
    """Small jobs keep 15 of 16 GPUs in use; FIFO would start the gang after 100 s."""
    site, number = Site(gpu_nodes(4), policy, profile), 0
    for second in range(0, 420, 20):
        for _ in range(3):
            site.job(f"small-{number}", 100, gpus=1)
            number += 1
        if second == 200:
            site.gang("big", 2, 50, gpus=4)
        site.until(second + 20)
    assert {f"big-{i}" for i in range(2)} <= site.started.keys()
    assert site.started["big-0"] <= 315
    passed = [name for name, at in site.started.items() if 205 < at < site.started["big-0"]]
    assert passed  # small jobs go on where the gang will not run


@POLICIES
def test_long_jobs_use_the_nodes_that_the_reservation_leaves(policy: str) -> None:
    site = Site(gpu_nodes(3), policy)
    for i in range(3):
        site.job(f"old-{i}", 50 + 100 * i, gpus=3)
    site.until(2)
    site.gang("big", 2, 50, gpus=4)
    for i in range(3):
        site.job(f"long-{i}", 1000, gpus=1)
    site.until(200)
    last = site.node_of("old-2")
    assert [name for name in site.started if name.startswith("long")] == ["long-0"]
    assert site.node_of("long-0") == last
    assert site.started["big-0"] <= 153


def test_a_required_rack_is_reserved_as_a_whole() -> None:
    nodes = [
        *[make_node(f"a{i}", cpu="8", labels={"rack": "a"}) for i in range(2)],
        *[make_node(f"b{i}", cpu="4", labels={"rack": "b"}) for i in range(4)],
    ]
    site = Site(nodes, "Easy")
    site.job("old", 60, cpu="4", spec={"nodeSelector": {"rack": "a"}})
    site.until(2)
    site.gang(
        "g", 2, 30, cpu="8", affinity={"podGroupAffinity": {"required": [{"topologyKey": "rack"}]}}
    )
    for i in range(6):
        site.job(f"long-{i}", 1000, cpu="4")
    site.until(80)
    assert {site.node_of(f"long-{i}")[:1] for i in range(6)} == {"b", ""}
    assert site.started["g-0"] <= 64


def test_a_node_reserved_by_anti_affinity_is_left_free_of_its_opponents() -> None:
    """The head waits for a node without ``db``; capacity is plentiful."""
    apart = {
        "affinity": {
            "podAntiAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [
                    {
                        "labelSelector": {"matchLabels": {"app": "db"}},
                        "topologyKey": "kubernetes.io/hostname",
                    }
                ]
            }
        }
    }
    site = Site([make_node(f"n{i}", cpu="64") for i in range(2)], "Easy")
    site.job("old-0", 50, labels={"app": "db"}, spec=apart)
    site.job("old-1", 100, labels={"app": "db"}, spec=apart)
    site.until(2)
    site.job("head", 50, labels={"app": "db"}, spec=apart)
    site.until(4)
    site.job("web", 1000)
    site.job("db-long", 1000, labels={"app": "db"})
    site.until(60)
    assert "web" in site.started
    assert site.started["head"] <= 54


def test_two_ends_at_once_and_a_batch_of_units_leave_the_head_its_node() -> None:
    site = Site(gpu_nodes(2), "Easy")
    for i in range(2):
        site.job(f"old-{i}", 40, gpus=2)
    site.until(2)
    site.job("head", 50, gpus=4)
    site.until(3)
    for i in range(4):
        site.job(f"long-{i}", 500, gpus=1)
    site.until(50)
    assert site.started["head"] <= 45
    assert sum(name.startswith("long") for name in site.started) >= 2


# ---------------------------------------------------------------- estimates


@POLICIES
def test_the_estimate_decides_and_the_run_time_ends_the_pod(policy: str) -> None:
    site = Site(gpu_nodes(2), policy)
    site.job("old-0", 30, gpus=3)
    site.job("old-1", 30, gpus=3)
    site.until(2)
    site.gang("big", 2, 10, gpus=4)
    site.job("says-long", 5, guess=500, gpus=1)
    site.job("says-short", 5, guess=10, gpus=1)
    site.until(20)
    assert "says-short" in site.started
    assert "says-long" not in site.started
    site.until(60)
    assert site.started["big-0"] <= 34


@POLICIES
def test_jobs_that_exceed_their_estimate_delay_others_for_a_limited_time(policy: str) -> None:
    site = Site(gpu_nodes(2), policy)
    site.job("old-0", 60, guess=10, gpus=3)
    site.job("old-1", 60, guess=10, gpus=3)
    site.until(2)
    site.gang("big", 2, 10, gpus=4)
    site.until(20)
    site.job("short", 5, gpus=1)
    site.until(100)
    assert site.started["short"] <= 25  # the old jobs are expected to run on
    assert site.started["big-0"] <= 64


def test_the_estimate_replaces_the_run_time_and_a_bad_one_is_rejected_in_words() -> None:
    assert read_estimate("", "20") == (20.0, "")
    assert read_estimate("5", "20") == (5.0, "")
    assert read_estimate("5", "") == (5.0, "")
    fault = read_estimate("soon", "20")[1]
    assert fault.startswith("annotation stretto.dev/estimate: got 'soon', expected seconds")
    assert "stretto.dev/duration" in read_estimate("5", "-1")[1]


def test_a_group_states_an_estimate_for_its_pods() -> None:
    site = Site(gpu_nodes(1), "Easy")
    group = make_group("g", 1)
    body = json.loads(group)
    body["metadata"]["annotations"] = {GUESS: "7", RUN: "70"}
    site.create(POD_GROUP, json.dumps(body).encode())
    site.submit(make_pod("g-0", group="g", annotations={"stretto.dev/queue": "q"}))
    site.settle()
    assert [unit.duration for unit in site.plane.units] == [7.0]


# ---------------------------------------------------------------- words


def test_a_pod_behind_a_reservation_names_the_unit_and_its_start() -> None:
    site = Site(gpu_nodes(2), "Easy")
    site.job("old-0", 50, gpus=3)
    site.job("old-1", 50, gpus=3)
    site.until(2)
    site.gang("big", 2, 50, gpus=4)
    site.job("long", 1000, gpus=1)
    site.until(4)
    said = site.why("long")
    assert said.dominant is not None
    assert said.dominant.code is ReasonCode.RESERVED
    assert (
        "Capacity is reserved for PodGroupUnit/default/big, from 50.0 s" in said.dominant.sentence
    )
    assert "only if that is not delayed" in said.dominant.sentence
    head = {each.code: each.sentence for each in site.why("big-0").reasons}
    assert head[ReasonCode.RESERVED].startswith("It has a reservation of its own, from 50.0 s")
    site.until(60)
    assert site.started["big-0"] <= 54


def test_conservative_backfill_reports_a_start_for_each_unit() -> None:
    site = Site(gpu_nodes(2), "Conservative")
    site.job("old-0", 50, gpus=3)
    site.job("old-1", 50, gpus=3)
    site.until(2)
    site.gang("big", 2, 50, gpus=4)
    site.job("long", 1000, gpus=1)
    site.until(4)
    said = site.why("long").dominant
    assert said is not None
    assert said.code is ReasonCode.RESERVED
    assert "Capacity is reserved for PodGroupUnit/default/big, from 50.0 s" in said.sentence
    assert "It has a reservation of its own, from 100.0 s" in said.sentence


def test_without_a_blocked_head_no_reservation_is_named() -> None:
    site = Site([*gpu_nodes(1), make_node("other")], "Easy")
    site.job("one", 10, gpus=4)
    site.until(2)
    site.job("two", 100, gpus=4)
    site.until(30)
    assert site.started["two"] <= 14
    assert ReasonCode.RESERVED not in [each.code for each in site.why("two").reasons]
