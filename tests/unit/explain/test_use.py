"""Measured use from the reports of node agents, and ``stretto top``."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from stretto.api.wire.kinds import CUSTOM_NODE_RESOURCE, NODE, POD, Kind
from stretto.base.clock import ManualClock, WallClock, parse_timestamp
from stretto.base.rng import Rng
from stretto.cli.commands import top
from stretto.cli.main import cli
from stretto.cli.sources.states import StateContents
from stretto.explain.inventory.use.reports import ReportExpiry, ReportState, expiry_of
from stretto.explain.inventory.use.rows import node_use, pod_use, pool_use
from stretto.framework.profile.profile import load_profile
from stretto.sim.states.source import state_of
from stretto.stores.embedded.sqlite import SqliteStore
from stretto.stores.store import Record
from stretto.testing import make_node, make_pod


def record(kind: Kind, body: bytes, **more: str) -> Record:
    meta = json.loads(body)["metadata"]
    place = {"namespace": "", **more}
    return Record(kind=kind, name=meta["name"], uid=meta["name"], body=body, version=1, **place)


MEASURED = "2026-01-01T00:00:00Z"
AT = parse_timestamp(MEASURED)


def report(node: str, cpu: str, measured: str = MEASURED) -> Record:
    group = {"QoSLevel": "shared_cores", "genericUsage": {"cpu": cpu}, "podList": ["default/p"]}
    status = {
        "resources": {"allocatable": {"cpu": "3"}},
        "nodeMetricStatus": {
            "updateTime": measured,
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


# ---------------------------------------------------------------- the age of reports


@pytest.mark.parametrize(
    ("later", "state"),
    [
        (0.0, ReportState.CURRENT),
        (180.0, ReportState.CURRENT),
        (181.0, ReportState.STALE),
        (-180.0, ReportState.CURRENT),
        (-181.0, ReportState.AHEAD),
    ],
)
def test_a_report_is_current_for_the_time_of_the_profile(later: float, state: ReportState) -> None:
    for found in (node_use, pod_use):
        rows = found(RECORDS, ReportExpiry(AT + later))
        row = next(each for each in rows if each.report.measured)
        assert (row.report.age_s, row.report.state) == (later, state)


def test_a_pool_is_current_for_longer_than_measured_use() -> None:
    (row, *_) = pool_use(RECORDS, ReportExpiry(AT + 900.0))
    assert row.report.state is ReportState.CURRENT
    (row, *_) = pool_use(RECORDS, ReportExpiry(AT + 901.0))
    assert row.report.state is ReportState.STALE


def test_a_state_without_a_clock_has_the_time_of_its_newest_report() -> None:
    old = report("silent", "4", "2025-12-31T23:00:00Z")
    rows = {row.name: row.report for row in node_use([*RECORDS, old])}
    assert (rows["hot"].age_s, rows["silent"].age_s) == (0.0, 3600.0)


def test_a_clock_that_is_far_ahead_makes_no_other_report_old() -> None:
    ahead = report("silent", "1", "2031-01-01T00:00:00Z")
    nodes = [record(NODE, make_node(f"n{number}", cpu="4")) for number in range(20)]
    rows = node_use([*RECORDS, *nodes, *(report(n.name, "1") for n in nodes), ahead])
    assert {row.name for row in rows if row.report.state is ReportState.AHEAD} == {"silent"}
    assert sum(row.report.state is ReportState.CURRENT for row in rows) == 22


def test_nodes_with_old_reports_come_last() -> None:
    found = node_use([*RECORDS, report("silent", "4", "2025-12-31T00:00:00Z")], ReportExpiry(AT))
    assert [row.name for row in found] == ["hot", "calm", "silent"]


PROFILES = [
    ({}, (180.0, 900.0)),
    ({"stretto": {"overcommit": {"pools": {}, "expirationSeconds": 60}}}, (60.0, 900.0)),
    ({"stretto": {"reclaim": {"degradeSeconds": 30}}}, (180.0, 30.0)),
    (
        {
            "plugins": {"filter": {"enabled": [{"name": "LoadAware"}]}},
            "pluginConfig": [
                {"name": "LoadAware", "args": {"nodeMetricExpirationSeconds": 600}},
            ],
        },
        (600.0, 900.0),
    ),
]


@pytest.mark.parametrize(("profile", "seconds"), PROFILES)
def test_the_expiry_is_that_of_the_profile(
    profile: dict[str, object], seconds: tuple[float, float]
) -> None:
    found = expiry_of(load_profile({"profiles": [profile]}), None)
    assert (found.use_s, found.pool_s) == seconds


# ---------------------------------------------------------------- invalid reports


@pytest.mark.parametrize(
    ("cpu", "measured", "said"),
    [
        ("NaN", MEASURED, "got 'NaN', expected a quantity"),
        ("-2", MEASURED, "cpu -2 is negative; it counts as 0"),
        ("1e30", MEASURED, "no machine uses cpu 1e30; the usage is ignored"),
        ("1", "yesterday", "updateTime 'yesterday' is no RFC 3339 time; the report is stale"),
        ("1", "", "updateTime '' is no RFC 3339 time"),
        ("1", "2031-01-01T00:00:00Z", "is in the future: compare the clocks"),
    ],
)
def test_an_invalid_report_is_named_in_every_list(cpu: str, measured: str, said: str) -> None:
    found = [RECORDS[1], report("hot", cpu, measured)]
    (row,) = node_use(found, ReportExpiry(AT))
    assert said in row.report.problem
    assert all(said in row.report.problem for row in pool_use(found, ReportExpiry(AT))[-1:])


def test_the_report_of_a_deleted_node_and_a_missing_pool_are_shown_as_such() -> None:
    body = json.loads(report("gone", "1").body)
    del body["status"]["resources"]
    (row, _) = pool_use([record(CUSTOM_NODE_RESOURCE, json.dumps(body).encode())])
    assert (row.cpu_pool, row.report.problem) == (None, "there is no node of this name")


def test_a_node_with_a_malformed_amount_hides_no_other_node() -> None:
    broken = json.loads(make_node("broken"))
    broken["status"]["allocatable"]["cpu"] = "NaN"
    rows = node_use([*RECORDS, record(NODE, json.dumps(broken).encode())])
    said = {row.name: row.report.problem for row in rows}
    assert "got 'NaN', expected a quantity" in said["broken"]
    assert len(said) == 4


# ---------------------------------------------------------------- the command


@pytest.fixture
def stored(tmp_path: Path) -> str:
    """A store with a hot node, and one whose agent stopped half an hour before."""
    store = SqliteStore(tmp_path / "run.db", ManualClock(), Rng(0))
    store.create(NODE, [make_node(name, cpu="4") for name in ("hot", "old")])
    old = report("old", "-1", "2025-12-31T23:30:00Z")
    store.create(CUSTOM_NODE_RESOURCE, [report("hot", "3").body, old.body])
    store.close()
    return f"sqlite:{tmp_path / 'run.db'}"


@pytest.mark.parametrize(
    ("subject", "said"),
    [
        ("nodes", "75 %"),
        ("nodes", "30m"),
        ("nodes", "stale"),
        ("pools", "3,000m"),
        ("pools", "30m"),
    ],
)
def test_top_reads_a_store(stored: str, subject: str, said: str) -> None:
    done = CliRunner().invoke(cli, ["top", subject, "--on", stored])
    assert said in done.stdout, done.output


def test_top_counts_old_reports_and_names_invalid_ones(stored: str) -> None:
    done = CliRunner().invoke(cli, ["top", "nodes", "--on", stored])
    assert "1 report is not current (valid for 3m by the profile)" in done.stderr
    assert "old: nodeMetricStatus: cpu -1 is negative; it counts as 0" in done.stderr


def test_top_writes_the_age_as_json(stored: str) -> None:
    done = CliRunner().invoke(cli, ["top", "nodes", "--on", stored, "-o", "json"])
    found = {each["name"]: each["report"] for each in json.loads(done.stdout)["items"]}
    assert (found["old"]["age_s"], found["old"]["state"]) == (1800.0, "stale")
    assert (found["hot"]["age_s"], found["hot"]["state"]) == (0.0, "current")


def aged(stored: str, at: float) -> StateContents:
    return StateContents(state_of(stored)._replace(at=at), "")


def stop() -> None:
    raise KeyboardInterrupt


def test_the_live_view_computes_the_age_again(stored: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ticks, at = iter([AT + 10, AT + 400]), []
    monkeypatch.setattr(WallClock, "sleep", lambda *_: at.append(1) if not at else stop())
    monkeypatch.setattr(top, "read_state", lambda *_: aged(stored, next(ticks)))
    done = CliRunner().invoke(cli, ["top", "nodes", "--on", stored, "--every", "1"])
    shown = [line.split()[-2:] for line in done.stdout.splitlines() if line.startswith(" hot")]
    assert shown == [["10s", "current"], ["6m40s", "stale"]]
