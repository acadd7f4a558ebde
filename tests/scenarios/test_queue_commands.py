"""``stretto queues``, ``stretto shards``, and ``stretto explain`` for a queue."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from stretto.cli.main import cli

#: The first of these tests compiles the kernels if they are not compiled yet.
pytestmark = pytest.mark.timeout(240)

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "queues.yaml"
BORROWED = """
name: borrowed
fleet: {like: "8cpu-64gib:1"}
queues:
  - {name: a, policy: FifoSkip, guarantee: {cpu: 4}}
  - {name: b, policy: FifoSkip, guarantee: {cpu: 2}, limit: {cpu: 7}}
workloads:
  - name: lend
    pods: {count: 9, cpu: 1, annotations: {stretto.dev/queue: b}}
  - name: large
    pods: {count: 1, cpu: 3, gang: 1, annotations: {stretto.dev/queue: a, %s}}
    arrival: {at: 5}
"""
KEPT = 'godel.bytedance.com/can-be-preempted: "false"'


@pytest.fixture(autouse=True)
def at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STRETTO_STATE", str(tmp_path / "state"))


def say(*words: str, code: int = 0) -> str:
    result = CliRunner().invoke(cli, words)
    assert result.exit_code == code, result.output
    return result.stdout


def reported(*words: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(say(*words, "--json", "-"))
    return found


def test_queues_shows_the_usage_of_each_queue_in_the_last_run() -> None:
    say("run", str(EXAMPLE), "--speed", "0", "--no-plots", "-q")
    queues = {each["name"]: each for each in reported("queues")["queues"]}
    gpus = {name: each["used"].get("nvidia.com/gpu", "0") for name, each in queues.items()}
    assert gpus == {"root": "8", "ads": "4", "research": "4", "speech": "0", "vision": "4"}
    assert queues["ads"]["borrowed"] == {"nvidia.com/gpu": "2"}
    assert queues["vision"]["parent"] == "research"


def test_queues_runs_a_scenario_that_it_is_given() -> None:
    lines = say("queues", str(EXAMPLE)).splitlines()
    assert lines[0] == f"scenario {EXAMPLE}: 5 queues"
    assert next(line for line in lines if "vision" in line).startswith("     vision")


def test_a_queue_that_differs_from_its_spec_is_reported_below_the_table(tmp_path: Path) -> None:
    text = BORROWED.replace("guarantee: {cpu: 4}", "parent: b, guarantee: {cpu: 4}") % KEPT
    (tmp_path / "odd.yaml").write_text(text, encoding="utf-8")
    assert "queue a: spec.guarantee.cpu: got 4, but its parent b has 2" in say("queues", "odd.yaml")


def test_a_missing_queue_that_pods_name_is_reported_with_similar_names(
    tmp_path: Path,
) -> None:
    text = BORROWED.replace("stretto.dev/queue: b", "stretto.dev/queue: researhc")
    text = text.replace("name: b,", "name: research,") % KEPT
    (tmp_path / "typo.yaml").write_text(text, encoding="utf-8")
    said = say("queues", "typo.yaml")
    assert "queue researhc: the Queue does not exist" in said
    assert "did you mean research?" in said
    assert said.count("the Queue does not exist") == 1


def test_shards_of_a_store_show_no_decisions_if_none_are_recorded() -> None:
    say("run", str(EXAMPLE), "--speed", "0", "--no-plots", "-q", "--store", "sqlite:run.db")
    assert "placed" in say("shards")
    assert "placed" not in say("shards", "sqlite:run.db")


def test_shards_shows_nodes_and_decisions() -> None:
    say("run", str(EXAMPLE), "--speed", "0", "--no-plots", "-q")
    (shard,) = reported("shards")["shards"]
    assert (shard["nodes"], shard["cpu_share"], shard["placed"]) == (2, 1.0, 12)


def test_shards_divide_the_nodes_of_a_scenario(tmp_path: Path) -> None:
    text = "fleet: {like: '8cpu-64gib:400'}\nshards: 2\n"
    (tmp_path / "two.yaml").write_text(text, encoding="utf-8")
    nodes = [each["nodes"] for each in reported("shards", "two.yaml")["shards"]]
    assert (sum(nodes), max(nodes) - min(nodes) <= 64) == (400, True)


def test_explain_names_the_holders_of_a_queues_guarantee(tmp_path: Path) -> None:
    text = BORROWED.replace(
        "count: 9, cpu: 1, annotations: {", "count: 9, cpu: 1, annotations: {%s, "
    )
    (tmp_path / "borrowed.yaml").write_text(text % (KEPT, KEPT), encoding="utf-8")
    say("run", "borrowed.yaml", "--speed", "0", "--no-plots", "-q")
    said = say("explain", "large-0")
    assert "Queue a uses 0 cpu of 4 guaranteed." in said
    assert "Its unused guarantee is borrowed by b (5 cpu)." in said


def test_explain_states_that_a_limit_is_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "borrowed.yaml").write_text(
        BORROWED.split("  - name: large", maxsplit=1)[0], encoding="utf-8"
    )
    say("run", "borrowed.yaml", "--speed", "0", "--no-plots", "-q")
    assert "Queue b uses 7 cpu of 2 guaranteed (limit 7)." in say("explain", "lend-8")
