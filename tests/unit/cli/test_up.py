"""Options of ``stretto up``."""

import json
import socket
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from stretto.cli.commands.up import included_scheduler
from stretto.cli.main import cli
from stretto.cli.sources.local_nodes import local_nodes
from stretto.testing import make_node


@pytest.fixture
def kubeconfig(tmp_path: Path) -> str:
    path = tmp_path / "config"
    path.write_text("apiVersion: v1\nkind: Config\n")
    return str(path)


@pytest.mark.parametrize(
    "words",
    [
        ["--nodes", "5"],
        ["--store", "sqlite:x.db"],
        ["--speed", "2"],
        ["--audit-log-maxsize", "5"],
        ["--audit-log-maxbackup", "0"],
        ["--audit-log-maxage", "1"],
    ],
)
def test_a_cluster_that_exists_takes_no_options_of_a_local_one(
    words: list[str], kubeconfig: str
) -> None:
    result = CliRunner().invoke(cli, ["up", "--join", kubeconfig, *words])
    assert (result.exit_code, f"remove {words[0]}" in result.output) == (2, True), result.output


def test_a_kubeconfig_without_a_cluster_is_refused(kubeconfig: str) -> None:
    result = CliRunner().invoke(cli, ["up", "--join", kubeconfig])
    assert result.exit_code == 2
    assert kubeconfig in result.output


def test_the_included_scheduler_counts_use_so_that_queues_show_it() -> None:
    dispatcher = included_scheduler("default", "numpy").dispatcher
    assert dispatcher is not None
    assert dispatcher.counts_usage


@pytest.mark.parametrize(
    ("words", "problem"),
    [([], "--audit-policy"), (["--audit-log", "audit.log"], "audit.k8s.io/v1, Kind=Policy")],
)
def test_an_audit_policy_needs_a_log_and_its_kind(
    kubeconfig: str, words: list[str], problem: str
) -> None:
    result = CliRunner().invoke(cli, ["up", "--audit-policy", kubeconfig, *words])
    assert (result.exit_code, problem in result.output) == (2, True), result.output


def names_of(bodies: list[bytes]) -> list[str]:
    return [json.loads(each)["metadata"]["name"] for each in bodies]


def test_a_shape_has_three_nodes_unless_a_number_is_given() -> None:
    assert len(local_nodes("8cpu-32gib", None)) == 3
    assert names_of(local_nodes("8cpu-32gib", 1)) == ["node-0000"]


def test_nodes_are_those_of_a_bundled_scenario() -> None:
    nodes = local_nodes("pending", None)
    assert len(nodes) == 4
    assert specs_of(nodes)[-1]["taints"][0]["key"] == "nvidia.com/gpu"


def specs_of(bodies: list[bytes]) -> list[dict[str, Any]]:
    return [json.loads(each)["spec"] for each in bodies]


def test_nodes_are_those_of_manifests_without_what_a_server_wrote(tmp_path: Path) -> None:
    node = json.loads(make_node("big", cpu="96", labels={"rack": "r1"}))
    node["metadata"] |= {"uid": "1", "resourceVersion": "7"}
    path = tmp_path / "nodes.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [node]}))
    (copied,) = map(json.loads, local_nodes(str(path), None))
    assert (copied["metadata"]["name"], copied["status"]["allocatable"]["cpu"]) == ("big", "96")
    assert "uid" not in copied["metadata"]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--like", "pending", "--nodes", "9"], "at most 4: pending has no more nodes"),
        (["--like", "nothing.yaml"], "a file that exists"),
        (["--like", "8cpu"], "64cpu-256gib"),
        (["--like", "openbb"], "an example, a file; examples: "),
        (["--keys", "/proc/none"], "name another folder"),
        (["--store", "sqlite"], "memory or sqlite:PATH"),
        (["--speed", "0"], "--speed"),
    ],
)
def test_nodes_that_do_not_exist_are_refused(words: list[str], problem: str) -> None:
    result = CliRunner().invoke(cli, ["up", *words])
    assert (result.exit_code, problem in result.output) == (2, True), result.output


def test_a_limit_of_the_audit_log_needs_the_log() -> None:
    result = CliRunner().invoke(cli, ["up", "--audit-log-maxsize", "5"])
    assert result.exit_code == 2
    assert "--audit-log-maxsize: got 5, expected --audit-log in addition" in result.output


@pytest.mark.parametrize("option", ["--port", "--dashboard-port"])
def test_a_taken_port_is_named_with_its_option(option: str, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        words = ["up", option, port, "--tier", "numpy", "--kubeconfig", str(tmp_path / "config")]
        result = CliRunner().invoke(cli, words)
    assert (result.exit_code, f"{option}: got {port}, expected a free port" in result.output) == (
        2,
        True,
    )
