"""The scenario file: its contents, and the messages for mistakes."""

from pathlib import Path

import pytest

from stretto.base.errors import InputError
from stretto.inputs.scenario.read import load_scenario
from stretto.inputs.scenario.schema import Scenario

FLEET = "fleet: {openb: bundled}\n"


def load(folder: Path, text: str) -> Scenario:
    (folder / "s.yaml").write_text(text)
    return load_scenario(folder / "s.yaml")


def refused(folder: Path, text: str) -> str:
    with pytest.raises(InputError) as caught:
        load(folder, text)
    return str(caught.value).replace(f"{folder}/", "")


def test_only_the_fleet_is_required(tmp_path: Path) -> None:
    scenario = load(tmp_path, FLEET)
    assert (scenario.name, scenario.seed, scenario.shards, scenario.speed) == ("s", 0, 1, 1.0)
    assert scenario.workloads == ()


def test_a_misspelt_key_is_answered_with_its_path_and_the_nearest(tmp_path: Path) -> None:
    text = FLEET + "workloads:\n- {pods: {count: 1}}\n- pods: {cout: 3}\n"
    assert refused(tmp_path, text) == (
        "scenario s.yaml: workloads[1].pods.cout: unknown key; did you mean 'count'?"
    )


def test_a_strange_key_is_answered_with_all_keys(tmp_path: Path) -> None:
    assert refused(tmp_path, FLEET + "zzz: 1") == (
        "scenario s.yaml: zzz: unknown key; known: name, seed, fleet, workloads, arrive_pct, "
        "profile, policy, shards, queues, namespace, speed"
    )


def test_a_key_given_twice_is_refused(tmp_path: Path) -> None:
    assert "expected each key once in a map" in refused(tmp_path, FLEET + FLEET)


def test_a_value_of_another_type_is_refused(tmp_path: Path) -> None:
    assert refused(tmp_path, FLEET + "shards: many") == (
        "scenario s.yaml: shards: got 'many', expected a whole number"
    )


def test_a_missing_fleet_is_named(tmp_path: Path) -> None:
    assert refused(tmp_path, "seed: 1") == (
        "scenario s.yaml: fleet: got nothing, expected a value, it is required"
    )


def test_a_word_that_is_not_the_only_choice_is_answered_with_it(tmp_path: Path) -> None:
    assert refused(tmp_path, "fleet: {openb: bundeld}") == (
        "scenario s.yaml: fleet.openb: got 'bundeld', expected 'bundled'"
    )


def test_a_number_with_more_digits_than_a_float_is_not_echoed_with_wrong_digits(
    tmp_path: Path,
) -> None:
    text = "fleet: {openb: bundled}\nworkloads: [{pods: {count: 99999999999999999999}}]"
    assert refused(tmp_path, text) == (
        "scenario s.yaml: workloads[0].pods.count: got 'about 1e+20', "
        "expected at most 9,007,199,254,740,992"
    )


def test_two_sources_of_machines_are_refused(tmp_path: Path) -> None:
    assert refused(tmp_path, "fleet: {openb: bundled, like: 1cpu-1gib}") == (
        "scenario s.yaml: fleet: got 'openb and like', expected exactly one of "
        "openb, pai-2020, swf, philly-log, helios, tiresias, elasticflow, synthetic, manifests, "
        "shapes, like, trace; keep one of them"
    )


def test_a_workload_needs_a_source(tmp_path: Path) -> None:
    assert "workloads[0]: got nothing, expected exactly one of openb, philly, azure-vm" in (
        refused(tmp_path, FLEET + "workloads: [{name: x}]")
    )


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("seed: -1", "seed: got -1, expected 0..9223372036854775807"),
        ("shards: 0", "shards: got 0, expected 1..64"),
        ("shards: 65", "shards: got 65, expected 1..64"),
        ("speed: -2", "speed: got -2.0, expected 0..1000000000"),
        ("namespace: Bad_One", "namespace: got 'Bad_One', expected a DNS label"),
        ("arrive_pct: 130", "arrive_pct: got 0, expected exactly one openb workload"),
        ("name: a/../../b", "name: got 'a/../../b', expected a name for a folder"),
        ("name: ..", "name: got '..', expected a name for a folder"),
        (f"name: {'n' * 200}", f"name: got '{'n' * 58}"),
        ("queues: [{name: a, parent: [b]}]", "queues[0].parent: got ['b'], expected the name of"),
        ("queues: [{weight: 2}]", "queues[0].name: got nothing, expected the queue's name"),
    ],
)
def test_a_figure_that_makes_no_sense_is_refused(tmp_path: Path, line: str, message: str) -> None:
    assert refused(tmp_path, FLEET + line).startswith(f"scenario s.yaml: {message}")


@pytest.mark.parametrize(
    ("pods", "message"),
    [
        ("count: 0", "count: got 0, expected 1..10000000"),
        ("cpu: -5", "cpu: got -5, expected 0..10k"),
        ("cpu: lots", "cpu: got 'lots', expected a quantity such as 500m or 2"),
        ("memory: 5Ei", "memory: got '5Ei', expected 0..1Pi"),
        ("gpus: 2, gpu_milli: 500", "gpu_milli: got 500, expected 1000, since only a pod with one"),
        ("gpus: 1, gpu_milli: 1500", "gpu_milli: got 1500, expected 1..1000"),
        ("count: 4, gang: 5", "gang: got 5, expected 0..4, no more than count"),
        ("count: 5, gang: 2", "count: got 5, expected a multiple of gang, 2"),
        ("count: 4, gang: 4, min_member: 5", "min_member: got 5, expected 1..4, the size of"),
        ("count: 4, gang: 4, min_member: 0", "min_member: got 0, expected 1..4, the size of"),
        ("min_member: 2", "min_member: got 2, expected the key gang as well"),
        ("labels: {a b: c}", "labels: got 'a b', expected a label key"),
        ("duration: -1", "duration: got -1.0, expected 0..10000000000"),
        ("owner: ReplicaSte", "owner: got 'ReplicaSte', expected one of "),
        ("resources: {example.com/nic: -1}", "resources.example.com/nic: got -1, expected 0..1P"),
    ],
)
def test_pods_that_make_no_sense_are_refused(tmp_path: Path, pods: str, message: str) -> None:
    text = FLEET + f"workloads: [{{pods: {{{pods}}}}}]"
    assert refused(tmp_path, text).startswith(f"scenario s.yaml: workloads[0].pods.{message}")


@pytest.mark.parametrize(
    ("fleet", "message"),
    [
        ("shapes: [{cpu: 1, memory: 1Gi, count: 0}]", ".shapes[0].count: got 0, expected 1.."),
        ("shapes: [{cpu: 0, memory: 1Gi}]", ".shapes[0].cpu: got 0, expected 1m..10k"),
        ("shapes: [{cpu: 1, memory: 1}]", ".shapes[0].memory: got 1, expected 1Mi..1Pi"),
        ("shapes: [{cpu: 1, memory: 1Gi, gpus: 17}]", ".shapes[0].gpus: got 17, expected 0..16"),
        ("shapes: []", ".shapes: got nothing, expected at least one entry"),
        ("manifests: []", ".manifests: got nothing, expected at least one entry"),
        (
            "manifests: [n.yaml], limit: 3",
            ".limit: got 3, expected no such key together with manifests",
        ),
        ("openb: bundled, limit: 0", ".limit: got 0, expected 1.."),
        ("openb: bundled, zones: -1", ".zones: got -1, expected 0..1000"),
    ],
)
def test_machines_that_make_no_sense_are_refused(tmp_path: Path, fleet: str, message: str) -> None:
    text = refused(tmp_path, f"fleet: {{{fleet}}}")
    assert text.startswith(f"scenario s.yaml: fleet{message}")


@pytest.mark.parametrize(
    ("workload", "message"),
    [
        ("{pods: {}, arrival: {rate: 1, every: 2}}", "arrival: got 'rate and every', expected "),
        ("{pods: {}, arrival: {at: -1}}", "arrival.at: got -1.0, expected 0..10000000000"),
        ("{pods: {}, limit: 3}", "limit: got 3, expected no such key together with pods"),
        (
            "{synthetic: {count: 5, units: 2, gangs: true}}",
            "synthetic.count: got 5, expected a mul",
        ),
        ("{synthetic: {count: 5, classes: 0}}", "synthetic.classes: got 0, expected 1..10000"),
        ("{azure_vm: {vms: x}}", "azure_vm: unknown key; did you mean 'azure-vm'?"),
        ("{azure-vm: {vms: x, lifetime: mean}}", "azure-vm.lifetime: got 'mean', expected one of"),
    ],
)
def test_work_that_makes_no_sense_is_refused(tmp_path: Path, workload: str, message: str) -> None:
    text = refused(tmp_path, FLEET + f"workloads: [{workload}]")
    assert text.startswith(f"scenario s.yaml: workloads[0].{message}")


def test_a_profile_may_stand_in_a_file_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text("profiles: []\n")
    assert load(tmp_path, FLEET + "profile: p.yaml").profile == {"profiles": []}


def test_a_profile_that_is_not_there_is_refused(tmp_path: Path) -> None:
    assert refused(tmp_path, FLEET + "profile: p.yaml").startswith(
        "p.yaml: got nothing, expected a"
    )


def test_several_documents_are_no_scenario(tmp_path: Path) -> None:
    assert "got '2 documents', expected one mapping" in refused(tmp_path, "a: 1\n---\nb: 2\n")


def test_text_that_is_no_yaml_is_refused_with_its_line(tmp_path: Path) -> None:
    assert refused(tmp_path, FLEET + "a: [1,\n").startswith("scenario s.yaml, line 3: ")


def test_a_scenario_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"expected a readable file \(No such file"):
        load_scenario(tmp_path / "s.yaml")
