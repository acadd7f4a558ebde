"""Bad input of ``stretto scale``, ``agent`` and ``--on``: field, value, expectation, what to do."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from stretto.cli.main import cli

KIND = {"apiVersion": "autoscaling.stretto.dev/v1alpha1", "kind": "ScalingPolicy"}
GROUP: dict[str, Any] = {
    "name": "east",
    "max": 5,
    "targetRef": {"kind": "Deployment", "name": "web-east"},
}
CRON = {"start": "61 * * * *", "durationSeconds": 60, "min": 0, "max": 1}


def said(*words: str) -> tuple[int, str]:
    result = CliRunner().invoke(cli, words)
    return result.exit_code, result.output


def scaled(folder: Path, repo_root: Path, spec: dict[str, Any]) -> tuple[int, str]:
    body = {**KIND, "metadata": {"name": "web"}, "spec": {"replicas": 3, **spec}}
    (folder / "p.yaml").write_text(json.dumps(body))
    on = str(repo_root / "examples/scaling.yaml")
    return said("scale", str(folder / "p.yaml"), "--on", on, "--tier", "numpy")


@pytest.mark.parametrize(
    ("spec", "code", "text"),
    [
        ({"groups": [{**GROUP, "bounds": [CRON]}]}, 2, "group east: bounds[0].start: got '61 "),
        ({"groups": [GROUP], "forecast": {"predictor": "magic"}}, 2, "unknown predictor 'magic'"),
        ({"groups": [{**GROUP, "role": "spare"}]}, 2, "'spare', expected one of Normal, Emergency"),
        ({"groups": [GROUP]}, 3, "add Deployment default/web-east to MANIFEST"),
    ],
)
def test_a_policy_that_cannot_be_divided_is_refused(
    tmp_path: Path, repo_root: Path, spec: dict[str, Any], code: int, text: str
) -> None:
    found, output = scaled(tmp_path, repo_root, spec)
    assert (found, text in output) == (code, True)


def test_a_manifest_without_a_policy_is_refused_with_its_objects(repo_root: Path) -> None:
    web, on = (
        str(repo_root / f"examples/{each}") for each in ("capacity/web.yaml", "scaling.yaml")
    )
    code, output = said("scale", web, "--on", on, "--tier", "numpy")
    assert (code, "web.yaml" in output, "of kind ScalingPolicy; add one" in output) == (
        2,
        True,
        True,
    )


def test_an_unknown_state_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STRETTO_STATE", str(tmp_path))
    code, output = said("top", "nodes", "--on", "yesterday")
    assert (code, "run 'yesterday' was not found" in output, "8cpu-32gib:3" in output) == (
        6,
        True,
        True,
    )


def test_a_mistyped_shape_is_answered_with_the_form_of_shapes() -> None:
    code, output = said("top", "nodes", "--on", "8cpu:3")
    assert (code, "expected a run, or a shape and a count" in output) == (2, True)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("--node", "Bad_Name"), "--node: got 'Bad_Name'"),
        (("--node", ""), "--node: got nothing, expected a DNS-1123 name"),
        (("--tasks",), "--once: not with --tasks"),
        (("--kubeconfig", "nope"), "nope does not exist"),
    ],
)
def test_an_agent_refuses_what_it_cannot_use(words: tuple[str, ...], text: str) -> None:
    code, output = said("agent", "--once", *words)
    assert (code, text in output) == (2, True)
