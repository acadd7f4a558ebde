"""The derived columns of LoadAware: rows of kernels equal the rule, through reports and claims."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stretto.api.wire.kinds import CUSTOM_NODE_RESOURCE
from stretto.base.clock import timestamp
from stretto.state.ingest.node_reports import apply_reports
from stretto.stores.store import WatchEvent
from stretto.testing import make_node, make_pod
from tests.properties.test_laws_runtime import FORMS, NODES, Stage, tier
from tests.support.hand_fed_cluster import DELETED, MODIFIED

__all__ = ["tier"]
ARGS: list[dict[str, Any]] = [
    {},
    {"usageThresholds": {"cpu": 99, "memory": 1}, "filterExpiredNodeMetrics": True},
    {"usageThresholds": {"memory": 0}, "resources": [{"name": "cpu", "weight": 3}]},
    {"aggregated": {"usageAggregationType": "p90", "scoreAggregationType": "p90"}},
    {"cpuSpeeds": {"label": "disk", "factors": {"ssd": 1.5}}},
]
MIB = 1 << 20
moves = st.lists(
    st.tuples(
        st.sampled_from(["grant", "grant", "refuse", "end", "change", "lose", "report", "report"]),
        st.integers(0, 15),
        st.integers(0, 8),
    ),
    max_size=25,
)


BY_REQUESTS = [{"name": "NodeResourcesFit"}, {"name": "NodeResourcesBalancedAllocation"}]


def with_load(args: dict[str, Any], *, filters: bool = True, alone: bool = False) -> Any:
    """A profile with LoadAware as score and filter; ``alone`` has no scores by requests."""
    enabled = {"enabled": [{"name": "LoadAware"}]}
    score = {**enabled, "disabled": BY_REQUESTS} if alone else enabled
    plugins = {"score": score, **({"filter": enabled} if filters else {})}
    config = [{"name": "LoadAware", "args": args}]
    return {"profiles": [{"plugins": plugins, "pluginConfig": config}]}


class LoadStage(Stage):
    """A stage whose nodes report their use; each report is a minute later."""

    def __init__(self, args: dict[str, Any], tier: str, *, alone: bool = False) -> None:
        super().__init__(with_load(args, alone=alone), tier)
        self.minutes = 0

    def play(self, move: str, which: int, form: int) -> None:
        if move == "report":
            self.report(which, form)
        super().play(move, which, form)

    def report(self, which: int, form: int, level: str | None = None) -> None:
        self.minutes += 1
        use = {"cpu": f"{700 * form}m", "memory": str(form * 300 * MIB)}
        metric = {"updateTime": timestamp(60.0 * self.minutes), "nodeMetric": {"genericUsage": use}}
        if level is not None:
            group = {"genericUsage": {"cpu": level}, "podList": ["default/old"]}
            metric["groupMetric"] = [group]
        body = {"metadata": {"name": f"n{which % 6}"}, "status": {"nodeMetricStatus": metric}}
        record = self.feed.record(CUSTOM_NODE_RESOURCE, json.dumps(body).encode())
        apply_reports(self.cluster, [WatchEvent(MODIFIED, record)])


@pytest.mark.parametrize("alone", [False, True])
@pytest.mark.parametrize("args", ARGS)
def test_a_kept_row_equals_the_result_of_the_rule(
    args: dict[str, Any], tier: str, alone: bool
) -> None:
    @settings(max_examples=10)
    @given(moves)
    def holds(script: list[tuple[str, int, int]]) -> None:
        stage = LoadStage(args, tier, alone=alone)
        for move in script:
            stage.play(*move)
            assert stage.wrong() == []

    holds()


@pytest.mark.parametrize("alone", [False, True])
def test_claims_of_a_batch_count_at_once(tier: str, alone: bool) -> None:
    stage = LoadStage({}, tier, alone=alone)
    for number in range(len(NODES)):
        stage.report(number, 1)
    for form in (0, 1, 0, 1):
        stage.place(form, 3, granted=True)
        assert stage.wrong() == []


@pytest.mark.parametrize(("level", "fits"), [(None, 1), ("3", 1), ("100m", 0)])
def test_a_pod_that_left_since_the_report_no_longer_counts(level: str | None, fits: int) -> None:
    stage = LoadStage({"usageThresholds": {"cpu": 99}}, "numpy")
    stage.feed.pod(make_pod("old", cpu="3", node="n0"))
    stage.report(0, 5, level)  # 3.5 of 4 cores
    stage.feed.pod(make_pod("old", cpu="3", node="n0"), DELETED)
    class_id = stage.feed.class_of(make_pod("new", **FORMS[1]))
    stage.runtime.sync()
    assert (stage.runtime.row(class_id)[stage.feed.slot("n0")] > 0) == fits
    assert stage.wrong() == []


def test_an_old_report_stops_to_count_when_another_node_reports() -> None:
    stage = LoadStage({}, "numpy")
    stage.report(0, 5)
    class_id = stage.feed.class_of(make_pod("new", cpu="500m"))
    stage.runtime.sync()
    refused = stage.runtime.row(class_id)[stage.feed.slot("n0")]
    stage.minutes += 4
    stage.report(1, 0)
    stage.runtime.sync()
    assert (int(refused), stage.runtime.row(class_id)[stage.feed.slot("n0")] > 0) == (0, True)
    assert stage.wrong() == []


@pytest.mark.parametrize(
    "args",
    [{"usageThresholds": {"cpu": 0}}, {"aggregated": {"usageAggregationType": "p90"}}],
)
def test_settings_that_columns_cannot_express_stay_with_the_rule(args: dict[str, Any]) -> None:
    stage = LoadStage(args, "numpy")
    assert stage.engine.derived is None
    stage.report(0, 3)
    stage.place(0, 3, granted=True)
    assert stage.wrong() == []


def test_a_score_alone_refuses_nothing() -> None:
    stage = Stage(with_load({}, filters=False), "numpy")
    stage.feed.node(make_node("n9", cpu="1"))
    assert stage.engine.derived is None
    assert stage.place(0, 2, granted=True) == 2
    assert stage.wrong() == []


def test_the_kernels_apply_the_rule_without_a_call() -> None:
    stage = LoadStage({}, "numpy")
    assert stage.engine.derived is not None
    assert not stage.engine.python_rules.exists


def test_a_slot_is_not_compared_by_the_columns_that_only_the_score_reads() -> None:
    stage = LoadStage({"resources": [{"name": "cpu", "weight": 1}]}, "numpy")
    class_id = stage.feed.class_of(make_pod("new", cpu="500m"))
    stage.place(0, 1, granted=True)
    stage.runtime.row(class_id)
    table, names = stage.engine.compiler.table, stage.cluster.ledger.resources.names
    columns = table.column[class_id, : table.requests[class_id]].tolist()
    assert [names[c] for c in columns[table.checked[class_id] :]] == ["stretto.dev/left-cpu"]


def test_a_profile_that_scores_by_load_alone_is_scored_in_one_pass() -> None:
    assert LoadStage({}, "numpy", alone=True).engine.is_plain
    assert not LoadStage({}, "numpy").engine.is_plain
    uneven = {"resources": [{"name": "cpu", "weight": 2}, {"name": "memory", "weight": 1}]}
    assert not LoadStage(uneven, "numpy", alone=True).engine.is_plain
