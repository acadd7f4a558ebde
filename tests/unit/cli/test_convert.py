"""``stretto convert``: files, standard streams, JSON and exit codes."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from stretto.cli.main import cli
from stretto.inputs.objects.recordings import load_recording

JOBS = "job_id,submit_time_s,num_gpus,duration_s\n1,100,2,60\n"
DUMP = """
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: "4", memory: 8Gi}}}
- {apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: i}]}}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("jobs.csv").write_text(JOBS)
    return tmp_path


def run_of(*words: str, text: str | None = None) -> Result:
    return CliRunner().invoke(cli, ["convert", *words], input=text)


def test_the_summary_names_what_was_written() -> None:
    result = run_of("jobs.csv", "jobs.jsonl.gz", "--nodes-like", "8cpu-16gib-4gpu-T4:3")
    assert result.exit_code == 0, result.output
    assert "format philly, 3 nodes, 2 pods, 1 gang, 1m" in result.stdout
    assert "second 0 is second 100 of the trace" in result.stdout
    assert load_recording(Path("jobs.jsonl.gz")).seconds == 60


def test_a_trace_without_nodes_names_the_next_step() -> None:
    assert "--add-nodes" in run_of("jobs.csv", "jobs.jsonl").stderr


def test_standard_streams_are_read_and_written() -> None:
    result = run_of("-", "-", text=DUMP)
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert [line.get("kind") for line in lines] == [None, "Node", "Pod", None]
    assert "format kubernetes, 1 node, 1 pod" in result.stderr


def test_the_result_is_written_as_json() -> None:
    found = json.loads(run_of("jobs.csv", "jobs.jsonl", "--json", "-", "-q").stdout)
    assert (found["schema"], found["pods"], found["format"]) == ("stretto.convert/v1", 2, "philly")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("jobs.csv", "jobs.csv"), "add --force"),
        (("jobs.csv", "none/x.jsonl"), "an existing folder"),
        (("jobs.csv", "x.jsonl", "--window", "1"), "START:END"),
        (("jobs.csv", "x.jsonl", "--format", "filly"), "did you mean philly?"),
        (("jobs.csv", "x.jsonl", "--nodes", "jobs.csv", "--nodes-like", "1cpu-1gib:1"), "not both"),
        (("none.csv", "x.jsonl"), "does not exist"),
    ],
)
def test_bad_input_exits_with_2(words: tuple[str, ...], said: str) -> None:
    result = run_of(*words)
    assert result.exit_code == 2
    assert said in result.stderr
    assert not Path("x.jsonl").exists()
