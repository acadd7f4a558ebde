"""Mistakes of users, as typed: exit code, object, place, expectation, advice; no traceback.

Each file's own tests hold the details; here stands that the whole command answers as promised, one
case for each point of the list, and that nothing is done before the answer.
"""

import errno
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from stretto.cli.main import cli

NODES = "sn,cpu_milli,memory_mib,gpu,model\nn1,64000,262144,8,G2\nn2,64000,262144,2,T4\n"
FIVE = "name,cpu_milli,memory_mib,num_gpu,gpu_milli"
LONG = f"{FIVE},gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time"
FLEET = "fleet: {like: '16cpu-64gib:4'}\n"
GPUS = "fleet: {like: '16cpu-64gib-4gpu-T4:2'}\n"
POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: p%s}\nspec: {containers: [{name: c}]}\n"

Typed = Callable[..., Result]


@pytest.fixture
def typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Typed:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STRETTO_STATE", str(tmp_path / "state"))
    (tmp_path / "n.csv").write_text(NODES)
    (tmp_path / "p.csv").write_text(f"{FIVE}\np1,1000,1024,1,500\n")
    return lambda *words: CliRunner().invoke(cli, words)


def compare(typed: Typed, *words: str) -> Result:
    named = () if "--nodes" in words else ("--nodes", "n.csv")
    pods = () if "--pods" in words else ("--pods", "p.csv")
    return typed("compare", "--format", "openb", *named, *pods, "--seeds", "1", "-q", *words)


def run(typed: Typed, text: str, *words: str) -> Result:
    Path("s.yaml").write_text(text)
    return typed("run", "s.yaml", "--speed", "0", "--no-plots", "--tier", "numpy", "-q", *words)


def refused(result: Result, code: int = 2) -> str:
    assert result.exit_code == code, result.output
    assert result.stderr.startswith("stretto: error: ")
    assert "Traceback" not in result.output
    assert result.stdout == ""
    return result.stderr.removeprefix("stretto: error: ").strip()


# ---------------------------------------------------------------- traces

LISTS = {
    "a missing column": ("name,cpu_milli,memory_mib,num_gpu\na,1,1,0", "line 1", "gpu_milli"),
    "a doubled column": (f"{FIVE},name\na,1,1,0,0,a", "line 1", "each column once"),
    "a strange column": (f"{FIVE},colour\na,1,1,0,0,red", "line 1", "a known column"),
    "a negative amount": (f"{FIVE}\na,-5,1,0,0", "line 2, column cpu_milli", "got '-5'"),
    "a fraction": (f"{FIVE}\na,1.5,1,0,0", "line 2, column cpu_milli", "an integer"),
    "an absurd amount": (f"{FIVE}\na,1,9{'9' * 30},0,0", "column memory_mib", "an integer"),
    "more GPUs than a node may have": (f"{FIVE}\na,1,1,99,1000", "column num_gpu", "0..16"),
    "shares of two GPUs": (f"{FIVE}\na,1,1,2,500", "column gpu_milli", "num_gpu 1 may share"),
    "a name twice": (f"{FIVE}\na,1,1,0,0\na,1,1,0,0", "line 3, column name", "rename one"),
    "no name": (f"{FIVE}\n,1,1,0,0", "line 2, column name", "a name of letters"),
    "too few cells": (f"{FIVE}\na,1,1", "line 2", "5 cells"),
    "an open quote": (f'{FIVE}\n"a,1,1,0,0', "line 2", "well-formed CSV"),
    "an unknown model": (
        f"{LONG}\na,1,1,1,9,G22,LS,Running,0,1,0",
        "gpu_spec",
        "did you mean 'G2'",
    ),
    "a life that ends first": (f"{LONG}\na,1,1,0,0,,LS,Running,9,1,0", "deletion_time", "before"),
    "a header alone": (FIVE, "p.csv", "at least one pod"),
    "nothing": ("", "p.csv", "text in the file"),
    "a binary file": ("\x7fELF\0\0", "p.csv", "text, not a binary file"),
}


@pytest.mark.parametrize("name", LISTS)
def test_a_bad_pod_list_is_refused_with_place_and_remedy(typed: Typed, name: str) -> None:
    text, where, expected = LISTS[name]
    Path("p.csv").write_text(text)
    message = refused(compare(typed))
    assert where in message
    assert expected in message


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        ("n1,1000,1024,8,G2\nn1,1000,1024,8,G2", "line 3, column sn: got 'n1'"),
        ("n1,0,1024,0,", "line 2, column cpu_milli: got '0'"),
        ("n1,1000,1024,8,", "line 2, column model: got ''"),
        ("", "expected at least one node"),
    ],
)
def test_a_bad_node_list_is_refused(typed: Typed, row: str, complaint: str) -> None:
    Path("n.csv").write_text(f"sn,cpu_milli,memory_mib,gpu,model\n{row}\n")
    assert complaint in refused(compare(typed))


@pytest.mark.parametrize("name", ["gone.csv", "no/such/folder/p.csv", "."])
def test_a_file_that_cannot_be_read_is_exit_2(typed: Typed, name: str) -> None:
    assert name in refused(compare(typed, "--pods", name))


# ---------------------------------------------------------------- names and options


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--policy", "fgdd"), "unknown policy 'fgdd'; did you mean fgd?"),
        (("--arrive", "nan"), "--arrive: got 'nan', expected a percentage"),
        (("--seeds", "9-1"), "--seeds: got '9-1', expected ascending ranges"),
        (("--out", "no/such"), "--out: got 'no/such', expected a path whose folder exists"),
        (("--out", "n.csv"), "--out: got 'n.csv', expected a folder, not a file"),
        (("--polcy", "fgd"), "No such option '--polcy'"),
    ],
)
def test_a_bad_option_is_refused_by_its_name(
    typed: Typed, words: tuple[str, str], complaint: str
) -> None:
    assert complaint in refused(compare(typed, *words))


@pytest.mark.parametrize("words", [(), ("bench",)])
def test_a_missing_command_is_reported_with_the_list_of_all(
    typed: Typed, words: tuple[str, ...]
) -> None:
    message = refused(typed(*words))
    assert message.startswith("missing command\n\nUsage: stretto")
    assert "commands:" in message.lower()


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--store", "sqllite:x"), "unknown store 'sqllite:x'; did you mean sqlite:PATH?"),
        (("--profile", "defualt"), "did you mean default"),
    ],
)
def test_a_bench_refuses_unknown_options_before_its_setup(
    typed: Typed, words: tuple[str, str], complaint: str
) -> None:
    assert complaint in refused(typed("bench", "engine", "-q", *words))


# ---------------------------------------------------------------- scenarios

SCENARIOS = {
    "a typo in a key": ("workloads: [{pods: {cout: 4}}]", "workloads[0].pods.cout: unknown key"),
    "an unknown policy": ("policy: fgdd", "did you mean fgd"),
    "an unknown plugin": (
        "profile: {profiles: [{plugins: {score: {enabled: [{name: NodeResourceFit}]}}}]}",
        "did you mean NodeResourcesFit",
    ),
    "a gang without pods": ("workloads: [{pods: {count: 4, gang: 4, min_member: 0}}]", "1..4"),
    "a gang above its size": ("workloads: [{pods: {count: 4, gang: 4, min_member: 5}}]", "1..4"),
    "a negative count": ("workloads: [{pods: {count: -4}}]", "count: got -4"),
    "half a pod": ("workloads: [{pods: {count: 1.5}}]", "count: got 1.5"),
    "an absurd amount": ("workloads: [{pods: {cpu: 1e30}}]", "pods.cpu: got"),
    "names twice": ("workloads: [{name: a, pods: {}}, {name: a, pods: {}}]", "Pod default/a-0"),
    "a queue's typo": ("queues: [{name: a, wight: 3}]", "queues[0]: wight: unknown key; did you"),
    "a queue twice": ("queues: [{name: a}, {name: a}]", "rename one of the two queues"),
    "a queue's lost parent": (
        "queues: [{name: a}, {name: b, parent: aa}]",
        "queues[1].parent: got 'aa', expected the name of another queue; did you mean 'a'?",
    ),
    "queues in a circle": (
        "queues: [{name: a, parent: b}, {name: b, parent: a}]",
        "queues[0].parent: got 'a -> b -> a', expected queues without a cycle",
    ),
    "no manifests": ("workloads: [{manifests: [gone]}]", "gone: got nothing"),
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_bad_scenario_is_refused_with_the_path_of_the_key(typed: Typed, name: str) -> None:
    text, complaint = SCENARIOS[name]
    assert complaint in refused(run(typed, FLEET + text))


def test_a_gpu_model_that_no_machine_has_names_the_nearest(typed: Typed) -> None:
    message = refused(run(typed, GPUS + "workloads: [{pods: {gpus: 1, gpu_models: [T44]}}]"))
    assert "workloads[0]: pods.gpu_models[0]: got 'T44'" in message
    assert "did you mean 'T4'?" in message


# ---------------------------------------------------------------- manifests

OWNED = (
    "apiVersion: v1\nkind: Pod\nmetadata: {name: %s, uid: %s, ownerReferences: [%s]}\n"
    "spec: {containers: [{name: c}]}\n"
)
OWNER = "{apiVersion: v1, kind: Pod, name: %s, uid: %s}"
GROUP = (
    "apiVersion: scheduling.godel.kubewharf.io/v1alpha1\nkind: PodGroup\n"
    "metadata: {name: g}\nspec: {minMember: %s}\n"
)
MEMBER = POD.replace(
    "{name: p%s}", "{name: p, annotations: {godel.bytedance.com/pod-group-name: g}}"
)
MANIFESTS = {
    "a name twice": (POD % 1 + "---\n" + POD % 1, "rename one"),
    "a missing owner": (OWNED % ("a", "ua", OWNER % ("x", "ux")), "an owner that is in the input"),
    "owners in a circle": (
        OWNED % ("a", "ua", OWNER % ("b", "ub"))
        + "---\n"
        + OWNED % ("b", "ub", OWNER % ("a", "ua")),
        "owners without a cycle",
    ),
    "a gang of none": (GROUP % 0 + "---\n" + MEMBER, "spec.minMember: got 0"),
    "a gang above its size": (GROUP % 3 + "---\n" + MEMBER, "spec.minMember: got 3"),
    "a negative request": (
        POD.replace("{name: c}", "{name: c, resources: {requests: {cpu: '-1'}}}") % 1,
        "spec.containers[0].resources.requests.cpu: got '-1'",
    ),
    "an unknown unit": (
        POD.replace("{name: c}", "{name: c, resources: {requests: {cpu: 12q}}}") % 1,
        "got '12q', expected a quantity",
    ),
    "an unknown kind": (POD.replace("kind: Pod", "kind: Podd") % 1, "m.yaml, line 1: kind: got"),
    "no kind": ("apiVersion: v1\nmetadata: {name: p}\n", "every object has apiVersion and kind"),
    "nothing": ("", "text in the file"),
}


@pytest.mark.parametrize("name", MANIFESTS)
def test_a_bad_manifest_is_refused_with_file_and_field(typed: Typed, name: str) -> None:
    text, complaint = MANIFESTS[name]
    Path("m.yaml").write_text(text)
    message = refused(run(typed, FLEET + "workloads: [{manifests: [m.yaml]}]"))
    assert "m.yaml" in message
    assert complaint in message


# ---------------------------------------------------------------- where things are written


def test_a_file_of_another_program_is_no_store(typed: Typed) -> None:
    Path("other.db").write_text("hello, world\n" * 100)
    message = refused(run(typed, FLEET, "--store", "sqlite:other.db"))
    assert message.startswith("other.db: got 'a file of another kind', expected a store of Stretto")
    assert Path("other.db").read_text().startswith("hello")


def test_a_full_disk_names_the_file_and_what_to_do(
    typed: Typed, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(source: object, target: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("os.replace", full)
    result = run(typed, FLEET, "--json", "out.json")
    assert result.exit_code == 1
    assert "out.json: No space left on device; free space and retry" in result.stderr
    assert not list(Path().glob(".out.json*"))


def test_output_that_was_closed_is_no_error(typed: Typed, tmp_path: Path) -> None:
    child = subprocess.Popen(
        f"exec {shlex.quote(sys.executable)} -m stretto.cli.main explain --runs >&-",
        shell=True,
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert "Traceback" not in child.communicate()[1]
    assert child.returncode == 0


def test_a_reader_that_goes_away_does_not_cost_the_record(typed: Typed, tmp_path: Path) -> None:
    Path("s.yaml").write_text(FLEET)
    line = "-m stretto.cli.main run s.yaml --speed 0 --no-plots --tier numpy -q"
    subprocess.run(
        f"{shlex.quote(sys.executable)} {line} | true", shell=True, cwd=tmp_path, check=True
    )
    assert len(list((tmp_path / "state" / "runs").glob("*-s.sqlite"))) == 1
