"""The statements of the migration pages are true."""

import re
from pathlib import Path

import msgspec
import pytest
import yaml

from stretto.api.codec import decode_as
from stretto.api.types.godel import Queue
from stretto.api.validation import validate
from stretto.base.errors import InputError
from stretto.framework.profile.profile import load_profile

FORM = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
GIVEN = {
    "parallelism": 8,
    "percentageOfNodesToScore": 50,
    "enableProfiling": True,
    "enableContentionProfiling": True,
    "delayCacheUntilActive": True,
    "leaderElection": {"leaderElect": True},
    "clientConnection": {"qps": 50},
    "podInitialBackoffSeconds": 2,
    "podMaxBackoffSeconds": 20,
    "extenders": [{"urlPrefix": "http://x"}],
}
"""Keys of kube-scheduler's configuration, each with a value."""


def page(root: Path, name: str) -> str:
    return (root / "docs" / "guides" / "migrate" / f"{name}.md").read_text(encoding="utf-8")


def what_becomes_of(key: str, folder: Path) -> str:
    """The result of loading a file with a key, in the words of the page."""
    form = {**FORM, "profiles": [{"schedulerName": "mine"}], key: GIVEN[key]}
    (folder / "p.yaml").write_text(yaml.safe_dump(form), encoding="utf-8")
    try:
        notes = load_profile(str(folder / "p.yaml")).notes
    except InputError:
        return "refused"
    return "no effect" if any(key in note for note in notes) else "supported"


@pytest.mark.parametrize("key", GIVEN)
def test_a_key_of_kube_scheduler_is_supported_or_not_as_on_the_page(
    key: str, repo_root: Path, tmp_path: Path
) -> None:
    (row,) = re.findall(
        rf"^\|.*`{key}`.*\| (.*) \|$", page(repo_root, "kube-scheduler"), re.MULTILINE
    )
    assert row.startswith(what_becomes_of(key, tmp_path))


def test_a_queue_of_the_page_is_one(repo_root: Path) -> None:
    (text,) = re.findall(r"```yaml\n(.*?)```", page(repo_root, "volcano"), re.DOTALL)
    validate(decode_as(Queue, msgspec.json.encode(yaml.safe_load(text))))


def test_a_profile_reads_the_documented_preemption_settings(
    repo_root: Path, tmp_path: Path
) -> None:
    said = re.findall(r"`(preemption: \{.*?\})`", page(repo_root, "godel"))
    assert len(said) == 2
    for text in said:
        form = {**FORM, "profiles": [{"stretto": yaml.safe_load(text)}]}
        (tmp_path / "p.yaml").write_text(yaml.safe_dump(form), encoding="utf-8")
        assert not load_profile(str(tmp_path / "p.yaml")).notes
