"""Profiles: the named ones, the form of KubeSchedulerConfiguration, and what is refused."""

from pathlib import Path
from typing import Any

import pytest

from stretto.base.errors import InputError, UnknownNameError
from stretto.framework.compiled.tables import DevicePick, ScoreCode, TieBreak
from stretto.framework.compiled.ties import TieRule
from stretto.framework.profile.profile import PROFILES, Profile, load_profile, load_profiles
from stretto.state.rows.devices import DeviceColumns
from stretto.state.rows.resources import ResourceColumns
from stretto.state.work.claims import CommitMode, ConflictMode

YAML = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
profiles:
- schedulerName: batch
  plugins:
    multiPoint:
      disabled: [{name: NodeResourcesBalancedAllocation}]
    score:
      enabled: [{name: NodeResourcesFit, weight: 5}]
  pluginConfig:
  - name: NodeResourcesFit
    args:
      apiVersion: kubescheduler.config.k8s.io/v1
      kind: NodeResourcesFitArgs
      scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}]}
  stretto:
    tieRule: name
    gang: {minMember: {Job: all, ReplicaSet: 2}}
    backoff: {initialSeconds: 0.5, maxSeconds: 60}
    retry: false
    conflicts: version
    commit: all-or-nothing
    schedulerNames: [batch-b]
"""


def one(**profile: Any) -> dict[str, Any]:
    return {"profiles": [profile]}


def plugins(**points: Any) -> dict[str, Any]:
    return one(plugins=points)


def weights(profile: Profile) -> dict[str, int]:
    return {rule.NAME: weight for rule, weight in profile.scores}


def filters(profile: Profile) -> list[str]:
    return [rule.NAME for rule in profile.filters]


# ---------------------------------------------------------------- named profiles


def test_the_default_profile_spreads_with_kubernetes_weights() -> None:
    profile = load_profile("default")
    assert weights(profile) == {
        "TaintToleration": 3,
        "NodeAffinity": 2,
        "NodeResourcesFit": 1,
        "PodTopologySpread": 2,
        "InterPodAffinity": 2,
        "ImageLocality": 1,
        "NodeResourcesBalancedAllocation": 1,
    }
    assert (profile.ties, profile.tie_rule) == (TieRule.ROTATE, TieBreak.ROTATE)


def test_an_empty_mapping_is_the_default_profile() -> None:
    empty, default = load_profile({}), load_profile("default")
    assert (weights(empty), filters(empty)) == (weights(default), filters(default))


def test_the_packing_profile_packs() -> None:
    fit = next(r for r, _ in load_profile("packing").scores if r.NAME == "NodeResourcesFit")
    assert fit.compiled(ResourceColumns()).code is ScoreCode.MOST


@pytest.mark.parametrize(
    ("name", "rule", "ties", "devices"),
    [
        ("fgd", "FGD", TieRule.ORDER, DevicePick.SCORED),
        ("best-fit", "BestFit", TieRule.ORDER, DevicePick.FULLEST),
        ("dot-prod", "DotProd", TieRule.ORDER, DevicePick.FULLEST),
        ("gpu-packing", "GpuPacking", TieRule.ORDER, DevicePick.FULLEST),
        ("gpu-clustering", "GpuClustering", TieRule.ORDER, DevicePick.FULLEST),
        ("random", "Random", TieRule.RANDOM, DevicePick.RANDOM),
    ],
)
def test_each_policy_of_the_study_is_a_profile(
    name: str, rule: str, ties: TieRule, devices: DevicePick
) -> None:
    profile = load_profile(name)
    assert (profile.name, weights(profile)) == (name, {rule: 1})
    assert (profile.ties, profile.device_pick) == (ties, devices)
    assert profile.draws is (name == "random")


@pytest.mark.parametrize("name", PROFILES.names())
def test_every_named_profile_keeps_every_filter(name: str) -> None:
    assert filters(load_profile(name)) == filters(load_profile({}))


def test_only_fgd_uses_typical_pods() -> None:
    assert [name for name in PROFILES if load_profile(name).learns] == ["fgd"]


def test_a_profile_may_give_the_typical_pods_itself() -> None:
    args = {"typicalPods": [{"cpu": 1000, "count": 1, "frequency": 2}]}
    enabled = {"enabled": [{"name": "FGD"}]}
    config = [{"name": "FGD", "args": args}]
    profile = load_profile(one(plugins={"score": enabled}, pluginConfig=config))
    given = profile.typical_pods(DeviceColumns())
    assert given is not None
    assert (profile.learns, given.cpu.tolist()) == (False, [1000])


def test_rules_are_distinguished_by_what_they_depend_on() -> None:
    profile = load_profile("default")
    names = [r.NAME for r, _ in profile.static_scores]
    assert names == ["TaintToleration", "NodeAffinity", "ImageLocality", "PodConstraints"]
    assert len(profile.slot_scores) == 2
    assert len(profile.static_filters) == 7
    assert profile.python_filters == ()


# ---------------------------------------------------------------- files


def test_a_file_in_kubernetes_form_is_read(tmp_path: Path) -> None:
    path = tmp_path / "profile.yaml"
    path.write_text(YAML)
    profile = load_profile(path)
    assert profile.scheduler_names == ("batch", "batch-b")
    assert weights(profile) == {
        "TaintToleration": 3,
        "NodeAffinity": 2,
        "NodeResourcesFit": 5,
        "PodTopologySpread": 2,
        "InterPodAffinity": 2,
        "ImageLocality": 1,
    }
    assert (profile.ties, profile.tie_rule) == (TieRule.NAME, TieBreak.RANK)
    assert dict(profile.min_members) == {"Job": "all", "ReplicaSet": 2}
    assert (profile.first_delay, profile.longest_delay, profile.retry) == (0.5, 60.0, False)
    assert profile.conflicts is ConflictMode.VERSION
    assert profile.commit is CommitMode.ALL_OR_NOTHING
    assert profile.notes == ("leaderElection has no effect",)


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (b"profiles: [", "line"),
        (b"\x00\x01\xff\xfe", "binary"),
        (b"a: 1\n---\nb: 2\n", "2 documents"),
        (b"", "0 documents"),
        (b"- 1\n", "a mapping"),
        (b"x" * (1 << 20) + b"y", "at most 1048576 bytes"),
    ],
)
def test_a_file_that_is_no_profile_is_refused(tmp_path: Path, content: bytes, part: str) -> None:
    path = tmp_path / "profile.yaml"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        load_profile(str(path))
    assert part in str(caught.value)


@pytest.mark.parametrize("name", ["missing.yaml", "no/such/folder/file", "/"])
def test_a_file_that_cannot_be_read_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="a profile's name or a file"):
        load_profile(name)


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean best-fit"):
        load_profile("bestfit")


def test_several_profiles_are_loaded_together_or_not_at_all() -> None:
    both = {"profiles": [{"schedulerName": "a"}, {"schedulerName": "b"}]}
    assert [profile.name for profile in load_profiles(both)] == ["a", "b"]
    with pytest.raises(InputError, match="exactly one profile"):
        load_profile(both)


def test_two_profiles_do_not_share_a_scheduler_name() -> None:
    both = {"profiles": [{"schedulerName": "a"}, {"stretto": {"schedulerNames": ["a"]}}]}
    with pytest.raises(InputError, match="each scheduler name once"):
        load_profiles(both)


# ---------------------------------------------------------------- plugins


def test_disabling_everything_and_enabling_some_leaves_those() -> None:
    enabled = [{"name": "FGD", "weight": 7}, {"name": "NodeAffinity"}]
    profile = load_profile(plugins(score={"disabled": [{"name": "*"}], "enabled": enabled}))
    assert weights(profile) == {"FGD": 7, "NodeAffinity": 2}


def test_multi_point_enables_a_rule_wherever_it_extends() -> None:
    off = {"filter": {"disabled": [{"name": "TaintToleration"}]}}
    assert "TaintToleration" not in filters(load_profile(plugins(**off)))
    both = plugins(multiPoint={"enabled": [{"name": "TaintToleration", "weight": 9}]})
    assert weights(load_profile(both))["TaintToleration"] == 9


def test_the_parts_of_a_point_count_as_the_point() -> None:
    off = {"disabled": [{"name": "TaintToleration"}]}
    profile = load_profile(plugins(preFilter=off, preScore=off))
    assert "TaintToleration" not in filters(profile)
    assert "TaintToleration" not in weights(profile)


@pytest.mark.parametrize("name", ["NodeResourcesFit", "Devices", "NodePorts", "*"])
@pytest.mark.parametrize("point", ["filter", "multiPoint"])
def test_what_prevents_over_commitment_cannot_be_disabled(point: str, name: str) -> None:
    with pytest.raises(InputError, match="over-committed") as caught:
        load_profile(plugins(**{point: {"disabled": [{"name": name}]}}))
    assert f"profiles[0].plugins.{point}.disabled[0].name" in str(caught.value)


def test_the_score_of_the_fit_can_be_disabled() -> None:
    profile = load_profile(plugins(score={"disabled": [{"name": "NodeResourcesFit"}]}))
    assert "NodeResourcesFit" not in weights(profile)
    assert "NodeResourcesFit" in filters(profile)


def test_the_sum_of_weights_is_bounded() -> None:
    enabled = [{"name": "FGD", "weight": 307}]
    assert load_profile(plugins(score={"enabled": enabled}))
    with pytest.raises(InputError, match=r"weights that add to 320.*at most 319"):
        load_profile(plugins(score={"enabled": [{"name": "FGD", "weight": 308}]}))


def test_points_that_are_others_business_may_be_switched_off_but_not_extended() -> None:
    assert load_profile(plugins(postFilter={"disabled": [{"name": "DefaultPreemption"}]}))
    with pytest.raises(InputError, match=r"bind\.enabled"):
        load_profile(plugins(bind={"enabled": [{"name": "NodeName"}]}))


@pytest.mark.parametrize(
    ("config", "parts"),
    [
        ({"profils": []}, ["key in profile 'profils'", "did you mean profiles"]),
        ({"apiVersion": "kubescheduler.config.k8s.io/v1beta3"}, ["apiVersion", "v1"]),
        ({"kind": "Pod"}, ["kind", "KubeSchedulerConfiguration"]),
        ({"profiles": {}}, ["profiles: got {}", "a list"]),
        ({"extenders": [{"urlPrefix": "x"}]}, ["extenders", "plugin"]),
        (one(schedulerName=""), ["profiles[0].schedulerName"]),
        (one(plugin={}), ["key in profile: profiles[0]", "plugins"]),
        (plugins(scores={}), ["profiles[0].plugins", "did you mean score"]),
        (plugins(score={"enable": []}), ["plugins.score", "enabled"]),
        (plugins(score={"enabled": [{"name": "FDG"}]}), ["score.enabled[0].name", "FGD"]),
        (plugins(score={"enabled": [{"name": "*"}]}), ["score.enabled[0].name", "the name"]),
        (plugins(score={"enabled": [{"name": "NodeName"}]}), ["a plugin that extends score"]),
        (plugins(filter={"enabled": [{"name": "FGD"}]}), ["a plugin that extends filter"]),
        (plugins(score={"enabled": [{"name": "FGD", "weight": -1}]}), ["enabled[0].weight"]),
        (plugins(score={"enabled": [{"weight": 1}]}), ["enabled[0].name"]),
        (one(pluginConfig=[{"name": "Fit"}]), ["pluginConfig[0].name"]),
        (one(pluginConfig=[{"name": "FGD"}, {"name": "FGD"}]), ["each plugin once"]),
        (
            one(pluginConfig=[{"name": "NodePorts", "args": {"x": 1}}]),
            ["args of NodePorts", "pluginConfig[0].args"],
        ),
        (
            one(pluginConfig=[{"name": "FGD", "args": {"typicalPods": 3}}]),
            ["pluginConfig[0].args: args of FGD: typicalPods", "a list"],
        ),
        (one(stretto={"tierule": "name"}), ["profiles[0].stretto", "did you mean tieRule"]),
        (one(stretto={"tieRule": "rotat"}), ["stretto.tieRule", "did you mean rotate"]),
        (one(stretto={"devicePick": "best"}), ["stretto.devicePick", "fullest"]),
        (one(stretto={"retry": "no"}), ["stretto.retry", "true or false"]),
        (one(stretto={"conflicts": "never"}), ["stretto.conflicts", "version"]),
        (one(stretto={"commit": "all"}), ["stretto.commit", "all-or-nothing"]),
        (one(stretto={"gang": {"minMembers": {}}}), ["stretto.gang", "did you mean minMember"]),
        (one(stretto={"gang": {"minMember": {"Job": 0}}}), ["gang.minMember.Job"]),
        (one(stretto={"gang": {"minMember": {"Job": "most"}}}), ["or 'all'"]),
        (one(stretto={"gang": {"minMember": [1]}}), ["gang.minMember", "a mapping"]),
        (one(stretto={"backoff": {"initialSeconds": 0}}), ["backoff.initialSeconds"]),
        (one(stretto={"backoff": {"initialSeconds": 20}}), ["backoff.initialSeconds", "to 10"]),
        (one(stretto={"backoff": {"maxSeconds": "1h"}}), ["backoff.maxSeconds"]),
        (one(stretto={"schedulerNames": "x"}), ["stretto.schedulerNames", "a list"]),
        (one(stretto=[1]), ["profiles[0].stretto", "a mapping"]),
    ],
)
def test_what_is_wrong_is_named_with_its_path(config: dict[str, Any], parts: list[str]) -> None:
    with pytest.raises((InputError, UnknownNameError)) as caught:
        load_profile(config)
    assert [part for part in parts if part not in str(caught.value)] == []


def test_default_delays_are_those_of_kubernetes() -> None:
    top = {"podInitialBackoffSeconds": 2, "podMaxBackoffSeconds": 30}
    own = {"backoff": {"maxSeconds": 40}}
    profile = load_profile({**top, "profiles": [{"stretto": own}]})
    assert (profile.first_delay, profile.longest_delay) == (2.0, 40.0)


def test_a_percentage_of_nodes_has_no_effect_on_exact_rules_and_is_noted() -> None:
    given = one(percentageOfNodesToScore=5)
    assert (load_profile(given).percentage, load_profile(given).notes) == (5, ())
    exact = one(percentageOfNodesToScore=5, stretto={"rules": "exact"})
    assert "percentageOfNodesToScore has no effect" in load_profile(exact).notes[0]
