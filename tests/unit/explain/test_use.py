"""Measured use from the reports of node agents, and ``stretto top``."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from stretto.api.wire.kinds import CUSTOM_NODE_RESOURCE, NODE, POD, Kind
from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.cli.main import cli
from stretto.explain.inventory.use import node_use, pod_use, pool_use
from stretto.stores.embedded.sqlite import SqliteStore
from stretto.stores.store import Record
from stretto.testing import make_node, make_pod


def record(kind: Kind, body: bytes, **more: str) -> Record:
    meta = json.loads(body)["metadata"]
    place = {"namespace": "", **more}
    return Record(kind=kind, name=meta["name"], uid=meta["name"], body=body, version=1, **place)


def report(node: str, cpu: str) -> Record:
    group = {"QoSLevel": "shared_cores", "genericUsage": {"cpu": cpu}, "podList": ["default/p"]}
    status = {
        "resources": {"allocatable": {"cpu": "3"}},
        "nodeMetricStatus": {
            "updateTime": "2026-01-01T00:00:00Z",
            "nodeMetric": {"genericUsage": {"cpu": cpu, "memory": "1Gi"}},
            "groupMetric": [group],
        },
    }
    return record(
        CUSTOM_NODE_RESOURCE, json.dumps({"metadata": {"name": node}, "status": status}).encode()
    )


RECORDS = [
    record(NODE, make_node("calm", cpu="4")),
    record(NODE, make_node("hot", cpu="4")),
    record(NODE, make_node("silent", cpu="4")),
    record(POD, make_pod("p", cpu="1"), namespace="default", node="hot"),
    report("calm", "1"),
    report("hot", "3"),
]


def test_the_busiest_node_comes_first_and_a_silent_one_has_no_use() -> None:
    found = node_use(RECORDS)
    assert [(row.name, row.cpu) for row in found] == [
        ("hot", 3000),
        ("calm", 1000),
        ("silent", None),
    ]


def test_a_report_that_no_machine_can_make_hides_no_other_node() -> None:
    found = [*RECORDS, record(NODE, make_node("liar", cpu="4")), report("liar", "1e30")]
    assert [(row.name, row.cpu) for row in node_use(found)][:2] == [("hot", 3000), ("calm", 1000)]
    assert next(row.cpu for row in pool_use(found) if row.node == "liar") is None


@pytest.mark.parametrize(("said", "shown"), [("-2", 0), ("1e6", 10**9), ("1000001", None)])
def test_use_is_shown_as_the_scheduler_reads_it(said: str, shown: int | None) -> None:
    found = [record(NODE, make_node("n", cpu="4")), report("n", said)]
    assert [row.cpu for row in node_use(found)] == [shown]


def test_a_pod_has_the_level_in_which_it_is_measured() -> None:
    assert [(row.name, row.cpu, row.level) for row in pod_use(RECORDS)] == [
        ("default/p", 1000, "shared_cores")
    ]


def test_every_node_with_a_report_has_a_best_effort_pool() -> None:
    found = [(row.node, row.level, row.cpu_pool) for row in pool_use(RECORDS)]
    assert found[:2] == [("calm", "reclaimed_cores", 3000), ("calm", "shared_cores", None)]


def test_an_unreadable_report_is_left_out() -> None:
    broken = record(CUSTOM_NODE_RESOURCE, b'{"metadata": {"name": "hot"}, "status": 3}')
    assert [row.cpu for row in node_use([RECORDS[1], broken])] == [None]


@pytest.mark.parametrize(("subject", "said"), [("nodes", "75 %"), ("pools", "3,000m")])
def test_top_reads_a_store(tmp_path: Path, subject: str, said: str) -> None:
    path = tmp_path / "run.db"
    store = SqliteStore(path, ManualClock(), Rng(0))
    store.create(NODE, [make_node("hot", cpu="4")])
    store.create(CUSTOM_NODE_RESOURCE, [report("hot", "3").body])
    store.close()
    done = CliRunner().invoke(cli, ["top", subject, "--on", f"sqlite:{path}"])
    assert said in done.stdout, done.output
