"""``stretto explain`` answers about PodGroups, queues, nodes and all pending pods."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from stretto.cli.main import cli

SCENARIO = """
name: shop
fleet:
  shapes:
  - {name: big, count: 2, cpu: 8, memory: 32Gi}
queues:
- {name: ads, guarantee: {cpu: 4}}
- {name: video, parent: ads}
workloads:
- {name: web, pods: {count: 2, cpu: 5, labels: {stretto.dev/queue: video}, owner: ReplicaSet}}
- {name: wide, pods: {count: 3, cpu: 64}}
- {name: more, pods: {count: 2, cpu: 4, labels: {stretto.dev/queue: video}}}
- {name: train, pods: {count: 4, cpu: 3, gang: 4}}
- {name: gated, pods: {count: 1, cpu: 1, spec: {schedulingGates: [{name: example.com/hold}]}}}
"""

Explain = Callable[..., Result]


@pytest.fixture
def explain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Explain:
    monkeypatch.setenv("STRETTO_STATE", str(tmp_path / "state"))
    monkeypatch.setattr("stretto.framework.kernels.tiers.has_numba", lambda: False)
    (tmp_path / "shop.yaml").write_text(SCENARIO)
    on = ["--on", str(tmp_path / "shop.yaml")]
    return lambda *words: CliRunner().invoke(cli, ["explain", *words, *on])


def answer(result: Result, schema: str) -> dict[str, Any]:
    assert result.exit_code == 0, result.stderr
    found: dict[str, Any] = json.loads(result.stdout)
    assert found["schema"] == schema
    return found


def test_all_pending_pods_are_grouped_by_cause(explain: Explain) -> None:
    found = answer(explain("--pending", "--json", "-", "-q"), "stretto.explain.pending/v1")
    causes = {each["code"]: each for each in found["causes"]}
    assert found["pending"] == sum(each["pods"] for each in found["causes"]) == 10
    assert causes["too-big"]["names"] == ["default/wide-0", "default/wide-1", "default/wide-2"]
    assert causes["gated"]["names"] == ["default/gated-0"]
    assert sum(each["pods"] for each in causes.values() if "gang" in each["code"]) == 4
    shown = explain("--pending").stdout
    assert "10 of 12 pods pending" in shown
    assert "too-big: None of the 2 eligible nodes" in shown


def test_pending_pods_of_one_namespace_only(explain: Explain) -> None:
    result = explain("--pending", "-n", "elsewhere")
    assert (result.exit_code, "none of 0 pods is pending" in result.stdout) == (0, True)


@pytest.mark.parametrize("name", ["podgroup/train", "pg/default/train", "train"])
def test_a_pod_group_is_explained_as_a_whole(explain: Explain, name: str) -> None:
    found = answer(explain(name, "--json", "-", "-q"), "stretto.explain.unit/v1")
    assert (found["unit"].rpartition("/")[2], found["pending"]) == ("train", 4)
    assert found["facts"]["min_member"] == 4
    assert found["example"]["gang"]["needed"] == 4


def test_an_owner_shows_where_its_pods_are(explain: Explain) -> None:
    found = answer(explain("unit/web", "--json", "-", "-q"), "stretto.explain.unit/v1")
    assert found["pending"] == 0
    assert sorted(found["placed"]) == ["default/web-0", "default/web-1"]
    assert "default/web-0" in explain("unit/web").stdout


@pytest.mark.parametrize("name", ["queue/ads", "ads"])
def test_a_queue_counts_the_pods_of_the_queues_below_it(explain: Explain, name: str) -> None:
    found = answer(explain(name, "--json", "-", "-q"), "stretto.explain.queue/v1")
    assert found["queue"]["name"] == "ads"
    assert found["pending"] == 2
    assert [each["names"] for each in found["causes"]] == [["default/more-0", "default/more-1"]]


@pytest.mark.parametrize("name", ["node/big-0", "big-0"])
def test_a_node_shows_its_pods_and_why_it_refuses_others(explain: Explain, name: str) -> None:
    found = answer(explain(name, "--json", "-", "-q"), "stretto.explain.node/v1")
    assert len(found["pods"]) == 1
    assert found["node"]["resources"]["cpu"]["requested"] == "5"
    refusals = {each["reason"]: each["pods"] for each in found["refusals"]}
    assert refusals["Insufficient cpu"] == 5
    assert set(found["fitting"]) >= {f"default/train-{number}" for number in range(4)}


def test_a_name_in_several_namespaces_is_ambiguous(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stretto.framework.kernels.tiers.has_numba", lambda: False)
    monkeypatch.setenv("STRETTO_STATE", str(tmp_path / "state"))
    pods = "\n---\n".join(
        f"apiVersion: v1\nkind: Pod\nmetadata: {{name: a, namespace: {space}}}\n"
        "spec: {containers: [{name: c, image: i, resources: {requests: {cpu: 9}}}]}"
        for space in ("lab", "shop")
    )
    (tmp_path / "pods.yaml").write_text(pods)
    fleet = "fleet: {shapes: [{count: 1, cpu: 4, memory: 8Gi}]}"
    (tmp_path / "s.yaml").write_text(f"{fleet}\nworkloads: [{{manifests: [pods.yaml]}}]\n")
    words = ["explain", "a", "--on", str(tmp_path / "s.yaml")]
    result = CliRunner().invoke(cli, words)
    assert (result.exit_code, "name its namespace: lab/a, shop/a" in result.stderr) == (2, True)
    assert CliRunner().invoke(cli, [*words, "-n", "shop"]).stdout.startswith("shop/a")


def test_a_pod_that_ended_is_known_to_story(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stretto.framework.kernels.tiers.has_numba", lambda: False)
    monkeypatch.setenv("STRETTO_STATE", str(tmp_path / "state"))
    fleet = "fleet: {shapes: [{count: 1, cpu: 4, memory: 8Gi}]}"
    (tmp_path / "s.yaml").write_text(f"{fleet}\nworkloads: [{{name: w, pods: {{duration: 5}}}}]\n")
    result = CliRunner().invoke(cli, ["explain", "w-0", "--on", str(tmp_path / "s.yaml")])
    assert result.exit_code == 6
    assert "it ended or was deleted during the run" in result.stderr
    assert "stretto story" in result.stderr


def test_a_kind_in_front_of_a_pod_is_accepted(explain: Explain) -> None:
    found = answer(explain("pod/default/wide-0", "--json", "-", "-q"), "stretto.explain/v1")
    assert found["pod"] == "default/wide-0"


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["podgroup/trian"], 6, "did you mean train?"),
        (["queue/adds"], 6, "did you mean ads?"),
        (["node/bigg-0"], 6, "did you mean"),
        (["wide-9"], 6, "pod wide-9 was not found"),
        (["big-0", "big-1"], 2, "NODE and --when belong to a pod"),
        (["wide-0", "--pending"], 2, "Expected POD or --pending."),
        ([], 2, "Missing argument 'POD'."),
    ],
)
def test_an_unknown_subject_is_refused(
    explain: Explain, words: list[str], code: int, said: str
) -> None:
    result = explain(*words)
    assert (result.exit_code, said in result.stderr) == (code, True), result.stderr
