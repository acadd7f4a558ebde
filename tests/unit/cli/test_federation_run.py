"""The process of a federation's controllers: its options and its leases."""

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from stretto.cli.commands.federation.controllers import ControllerOptions
from stretto.cli.commands.federation.run import run
from stretto.cli.main import cli
from stretto.federation.settings import CapacitySource, PlannerKind


def opts(*words: str) -> ControllerOptions:
    params: dict[str, Any] = run.make_context("run", list(words)).params
    own = {key: params[key] for key in ControllerOptions.__dataclass_fields__}
    return ControllerOptions(**own)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--controllers", "syn"), "did you mean sync?"),
        (("--shards", "2", "--shard", "2"), "--shard: got 2, expected a number below --shards (2)"),
        (("--on", "federation"), "a fleet file runs with: stretto run federation"),
        (("--lease", "nowhere"), "--lease: got 'nowhere', expected NAMESPACE/NAME"),
        (("--tls-cert-file", "x.crt"), "--tls-private-key-file"),
    ],
)
def test_bad_options_exit_with_2_and_state_the_fix(words: tuple[str, ...], said: str) -> None:
    done = CliRunner().invoke(cli, ["federation", "run", *words])
    assert done.exit_code == 2
    assert said in done.stderr


def test_a_malformed_matrix_names_its_entry(tmp_path: Path) -> None:
    file = tmp_path / "matrix.yaml"
    file.write_text("search: {old: fast}")
    done = CliRunner().invoke(cli, ["federation", "run", "--performance", str(file)])
    assert (done.exit_code, "search" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ((), "stretto-federation"),
        (("--shards", "3", "--shard", "2"), "stretto-federation-2-of-3"),
        (("--controllers", "sync,aggregate"), "stretto-federation-aggregate-sync"),
        (("--lease", "here/mine", "--shards", "2"), "mine-0-of-2"),
        (("--lease", "here/mine-1"), "mine-1"),
    ],
)
def test_each_shard_and_each_set_of_controllers_has_its_own_lease(
    words: tuple[str, ...], name: str
) -> None:
    assert opts(*words).lease_place()[1] == name


def test_every_shard_has_the_base_that_the_option_names() -> None:
    words = ("--lease", "here/mine", "--shards", "3", "--shard")
    assert {opts(*words, str(shard)).lease_base() for shard in range(3)} == {"mine"}


@pytest.mark.parametrize(
    ("words", "ending"),
    [
        (("--lease", "here/mine-1", "--shards", "3", "--shard", "0"), "-1"),
        (("--lease", "here/mine-1", "--shards", "3", "--shard", "1"), "-1"),
        (("--lease", "here/mine-0-of-2"), "-0-of-2"),
        (("--lease", "here/mine-shards"), "-shards"),
    ],
)
def test_the_lease_of_one_shard_is_refused_as_that_of_all(
    words: tuple[str, ...], ending: str
) -> None:
    done = CliRunner().invoke(cli, ["federation", "run", *words])
    assert (done.exit_code, f"does not end with {ending}" in done.stderr) == (2, True)
    assert "give every shard --lease here/mine: it adds -I-of-N" in done.stderr


def test_a_long_list_of_controllers_still_gives_a_name() -> None:
    names = "membership,health,federate,namespaces,autoscale,schedule,follow,override"
    assert len(opts("--controllers", names).lease_place()[1]) <= 63


def test_settings_follow_the_options() -> None:
    found = opts("--planners", "kubeadmiral", "--capacity", "nodes", "--failover-after", "60")
    settings = found.settings()
    assert settings.planners is PlannerKind.KUBEADMIRAL
    assert settings.capacity is CapacitySource.NODES
    assert settings.failover is not None
    assert (settings.failover.after, settings.keeps_last_placement) == (60.0, False)
