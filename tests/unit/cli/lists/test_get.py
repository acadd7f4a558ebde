"""``stretto get`` lists pods, nodes, units, queues and runs of any state."""

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from stretto.cli.main import cli

SCENARIO = """
name: shop
fleet:
  shapes:
  - {name: big, count: 2, cpu: 8, memory: 32Gi, labels: {rack: r1}}
  - {name: small, count: 1, cpu: 2, memory: 8Gi}
queues:
- {name: ads, guarantee: {cpu: 4}}
workloads:
- {name: web, pods: {count: 3, cpu: 2, labels: {app: web, stretto.dev/queue: ads}}}
- {name: wide, pods: {count: 2, cpu: 64}}
- {name: elsewhere, manifests: [elsewhere.yaml]}
"""

ELSEWHERE = """
apiVersion: v1
kind: Pod
metadata: {name: elsewhere-0, namespace: lab}
spec: {containers: [{name: main, image: work, resources: {requests: {cpu: 64}}}]}
"""

Get = Callable[..., Result]


@pytest.fixture
def scenario(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("STRETTO_STATE", str(tmp_path / "state"))
    monkeypatch.setattr("stretto.framework.kernels.tiers.has_numba", lambda: False)
    (tmp_path / "shop.yaml").write_text(SCENARIO)
    (tmp_path / "elsewhere.yaml").write_text(ELSEWHERE)
    return tmp_path / "shop.yaml"


@pytest.fixture
def get(scenario: Path) -> Get:
    def listed(*words: str) -> Result:
        on = [] if "--on" in words else ["--on", str(scenario)]
        return CliRunner().invoke(cli, ["get", *words, *on])

    return listed


def names(result: Result) -> list[str]:
    assert result.exit_code == 0, result.stderr
    return result.stdout.split()


def test_pending_pods_are_listed_with_their_reason(get: Get) -> None:
    result = get("pods", "--pending")
    assert result.exit_code == 0, result.stderr
    rows = [line.split() for line in result.stdout.splitlines() if "default/" in line]
    assert [row[0] for row in rows] == ["default/wide-0", "default/wide-1"]
    assert {row[-1] for row in rows} == {"too-big"}
    assert "1 more in others (-A lists them)" in result.stderr


def test_pods_of_one_namespace_or_of_all_are_listed(get: Get) -> None:
    assert names(get("pods", "-n", "lab", "-o", "name")) == ["pod/lab/elsewhere-0"]
    assert len(names(get("pods", "-A", "-o", "name"))) == 6
    assert names(get("pods", "lab/elsewhere-0", "-o", "name")) == ["pod/lab/elsewhere-0"]


def test_pods_are_selected_by_node_and_by_label(get: Get) -> None:
    assert names(get("pods", "-l", "app=web", "-o", "name")) == [
        f"pod/default/web-{number}" for number in range(3)
    ]
    found = json.loads(get("pods", "-o", "json").stdout)["items"]
    node = found[0]["node"]
    expected = [f"pod/default/{each['name']}" for each in found if each["node"] == node]
    assert names(get("pods", "--node", node, "-o", "name")) == expected


def test_the_wide_form_shows_every_column(get: Get) -> None:
    head = get("pods", "-o", "wide").stdout.splitlines()[1].split()
    assert head == [
        *("pod", "status", "node", "queue", "unit", "priority", "age", "reason"),
        *("requests", "devices", "why"),
    ]


def test_json_and_yaml_and_csv_have_the_same_pods(get: Get) -> None:
    document = json.loads(get("pods", "-o", "json").stdout)
    assert document["schema"] == "stretto.get.pods/v1"
    written = yaml.safe_load(get("pods", "-o", "yaml").stdout)["items"]
    assert [each["name"] for each in written] == [each["name"] for each in document["items"]]
    rows = list(csv.DictReader(get("pods", "-o", "csv").stdout.splitlines()))
    assert [row["pod"] for row in rows] == [f"default/{e['name']}" for e in document["items"]]
    wide = next(each for each in document["items"] if each["name"] == "wide-0")
    assert (wide["status"], wide["reason"], wide["node"]) == ("unschedulable", "too-big", "")
    assert wide["requests"]["cpu"] == "64"
    web = next(each for each in document["items"] if each["name"] == "web-0")
    assert (web["status"], web["queue"], web["labels"]["app"]) == ("bound", "ads", "web")


def test_nodes_are_listed_with_their_use(get: Get) -> None:
    document = json.loads(get("nodes", "-o", "json").stdout)
    assert [each["name"] for each in document["items"]] == ["big-0", "big-1", "small-0"]
    used = sum(float(each["resources"]["cpu"]["requested"]) for each in document["items"])
    assert used == 6
    assert names(get("nodes", "-l", "rack=r1", "-o", "name")) == ["node/big-0", "node/big-1"]


def test_units_count_their_pods(get: Get) -> None:
    found = {each["name"]: each for each in json.loads(get("units", "-o", "json").stdout)["items"]}
    assert len(found) >= 2
    assert sum(each["placed"] for each in found.values()) == 3
    pending = json.loads(get("units", "--pending", "-o", "json").stdout)["items"]
    assert {each["reason"] for each in pending} == {"too-big"}


def test_queues_are_listed_with_their_use(get: Get) -> None:
    document = json.loads(get("queues", "-o", "json").stdout)
    ads = next(each for each in document["items"] if each["name"] == "ads")
    assert (ads["used"]["cpu"], ads["guarantee"]["cpu"]) == ("6", "4")


def test_the_use_of_a_queue_without_settings_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stretto.framework.kernels.tiers.has_numba", lambda: False)
    path = tmp_path / "plain.yaml"
    path.write_text(
        "fleet: {shapes: [{count: 1, cpu: 4, memory: 8Gi}]}\nworkloads: [{pods: {cpu: 3}}]\n"
    )
    result = CliRunner().invoke(cli, ["get", "queues", "--on", str(path), "-o", "json"])
    (queue,) = json.loads(result.stdout)["items"]
    assert (queue["name"], queue["used"]["cpu"], queue["running"]) == ("default", "3", 1)


def test_runs_are_listed_with_their_counts(scenario: Path, get: Get) -> None:
    assert get("runs").stderr.startswith("no run record in ")
    words = ["run", str(scenario), "--speed", "0", "--no-plots", "-q", "--tier", "numpy"]
    assert CliRunner().invoke(cli, words).exit_code == 0
    (run,) = json.loads(get("runs", "-o", "json").stdout)["items"]
    assert (run["status"], run["pods"], run["placed"], run["pending"]) == ("done", 6, 3, 3)
    assert names(get("pods", "--pending", "--on", "latest", "-o", "name")) == [
        "pod/default/wide-0",
        "pod/default/wide-1",
    ]


def test_json_beside_the_table_has_the_same_schema(get: Get, tmp_path: Path) -> None:
    target = tmp_path / "pods.json"
    assert "default/web-0" in get("pods", "--json", str(target)).stdout
    assert json.loads(target.read_text())["schema"] == "stretto.get.pods/v1"


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["pods", "wbe-0"], 6, "pod wbe-0 was not found"),
        (["pods", "-o", "jsn"], 2, "did you mean json?"),
        (["pods", "-o", "jsonpath"], 2, "expected jsonpath=TEMPLATE"),
        (["pods", "-l", "app in ("], 2, "label selector"),
        (["nodes", "--pending"], 2, "expected a list of pods or units or queues or runs"),
        (["queues", "--node", "n"], 2, "queues have no such filter"),
        (["bods"], 2, "'bods' is not one of"),
    ],
)
def test_bad_input_names_what_was_expected(
    get: Get, words: list[str], code: int, said: str
) -> None:
    result = get(*words)
    assert (result.exit_code, said in result.stderr) == (code, True), result.stderr


@pytest.mark.parametrize("name", ["pod", "po", "pods", "node", "no", "q", "pg"])
def test_resources_have_the_short_names_of_kubectl(get: Get, name: str) -> None:
    assert get(name).exit_code == 0
