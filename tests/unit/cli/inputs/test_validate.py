"""``stretto validate`` recognises the kind of a file and reports what is wrong with it."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from stretto.cli.main import cli

SCENARIO = "fleet: {shapes: [{count: 1, cpu: 4, memory: 8Gi}]}\nworkloads: [{pods: {cpu: 3}}]\n"
PROFILE = "profiles: [{schedulerName: mine}]\n"
POD = """
apiVersion: v1
kind: Pod
metadata: {name: a}
spec: {containers: [{name: main, image: work}]}
"""
TRACE = "jobid,submitted_time,run_time,num_gpus,application\nj1,0,10,1,x\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a valid file of each kind."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STRETTO_STATE", str(tmp_path / "state"))
    monkeypatch.setattr("stretto.framework.kernels.tiers.has_numba", lambda: False)
    Path("scenario.yaml").write_text(SCENARIO)
    Path("profile.yaml").write_text(PROFILE)
    Path("pod.yaml").write_text(POD)
    Path("pod.json").write_text(
        '{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "b"}, '
        '"spec": {"containers": [{"name": "c", "image": "i"}]}}'
    )
    Path("manifests").mkdir()
    Path("manifests/pod.yaml").write_text(POD)
    return tmp_path


def run_of(*words: str) -> Result:
    return CliRunner().invoke(cli, list(words))


def kinds_of(*files: str) -> dict[str, str]:
    result = run_of("validate", *files, "--json", "-", "-q")
    assert result.exit_code == 0, result.stderr
    report = json.loads(result.stdout)
    assert (report["schema"], report["valid"]) == ("stretto.validate/v1", True)
    return {each["file"]: each["kind"] for each in report["files"]}


def test_each_kind_of_text_is_recognised() -> None:
    assert kinds_of("scenario.yaml", "profile.yaml", "pod.yaml", "pod.json", "manifests") == {
        "scenario.yaml": "scenario",
        "profile.yaml": "profile",
        "pod.yaml": "manifests",
        "pod.json": "manifests",
        "manifests": "manifests",
    }


def test_a_patch_of_kustomize_is_named_as_such() -> None:
    Path("kustomization.yaml").write_text("patches: [{path: patch.yaml}]\n")
    Path("patch.yaml").write_text(
        "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 2}}"
    )
    result = run_of("validate", "patch.yaml", "-q")
    assert (result.exit_code, "a patch of Kustomize" in result.stderr) == (2, True)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
def test_text_with_a_byte_order_mark_is_read(encoding: str) -> None:
    Path("marked.yaml").write_text(POD, encoding=encoding)
    assert kinds_of("marked.yaml") == {"marked.yaml": "manifests"}


@pytest.mark.parametrize("data", [b"", b"\x00\x01\x02", "kind: Pod".encode("utf-16-le")])
def test_a_file_without_text_has_no_kind(data: bytes) -> None:
    Path("odd.yaml").write_bytes(data)
    result = run_of("validate", "odd.yaml", "--json", "-", "-q")
    assert result.exit_code == 2
    assert json.loads(result.stdout)["files"][0]["kind"] == ""


def test_what_stretto_writes_is_recognised(folder: Path) -> None:
    words = ["run", "scenario.yaml", "--speed", "0", "--no-plots", "-q", "--store", "sqlite:s.db"]
    assert run_of(*words).exit_code == 0
    assert run_of("record", "--on", "sqlite:s.db", "--out", "tape.jsonl.gz").exit_code == 0
    (record,) = (folder / "state/runs").glob("*.sqlite")
    assert kinds_of("s.db", "tape.jsonl.gz", str(record)) == {
        "s.db": "store",
        "tape.jsonl.gz": "recording",
        str(record): "run record",
    }


def test_the_examples_are_valid(repo_root: Path) -> None:
    examples = sorted(str(path) for path in (repo_root / "examples").glob("*.yaml"))
    assert set(kinds_of(*examples).values()) == {"fleet", "scenario"}


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("s.yaml", SCENARIO.replace("cpu: 3", "cqu: 3"), "did you mean 'cpu'?"),
        ("s.yaml", SCENARIO.replace("fleet", "flet"), "flet"),
        ("p.yaml", PROFILE.replace("schedulerName", "schedulrName"), "schedulerName"),
        ("m.yaml", POD.replace("image: work", "image: 7"), "image"),
        ("r.jsonl", '{"recording": "stretto.recording/v9"}\n', "stretto.recording/v1"),
        ("t.csv", "colour,shape\nred,round\n", "a trace in one of the formats"),
        ("x.bin", "\x00\x01", "one of: scenario, fleet, profile, manifests"),
    ],
)
def test_an_invalid_file_is_refused_with_its_place(name: str, text: str, said: str) -> None:
    Path(name).write_text(text)
    result = run_of("validate", name)
    assert (result.exit_code, said in result.stderr) == (2, True), result.stderr
    assert name in result.stderr


def test_every_file_is_checked_although_the_first_is_wrong() -> None:
    Path("bad.yaml").write_text("fleet: 3\n")
    Path("worse.yaml").write_text("profiles: 3\n")
    result = run_of("validate", "bad.yaml", "scenario.yaml", "worse.yaml")
    assert result.exit_code == 2
    assert [line.split()[:2] for line in result.stdout.splitlines() if ".yaml" in line] == [
        ["bad.yaml", "scenario"],
        ["scenario.yaml", "scenario"],
        ["worse.yaml", "profile"],
    ]
    assert "bad.yaml" in result.stderr
    assert "worse.yaml" in result.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["simulate", "scenario.yaml"], "try: stretto run scenario.yaml"),
        (["compare", "scenario.yaml"], "try: stretto run scenario.yaml"),
        (["plan", "scenario.yaml"], "try: stretto run scenario.yaml"),
        (["run", "pod.yaml"], "try: stretto plan pod.yaml"),
        (["run", "manifests"], "try: stretto plan manifests"),
        (["run", "profile.yaml"], "--profile profile.yaml"),
        (["plan", "profile.yaml"], "--profile profile.yaml"),
    ],
)
def test_a_file_of_another_kind_names_the_verb_that_reads_it(words: list[str], said: str) -> None:
    result = run_of(*words)
    assert (result.exit_code, said in result.stderr) == (2, True), result.stderr


DEPLOYMENT = """
apiVersion: apps/v1
kind: %s
metadata: {name: %s}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: %s}}
    spec: {containers: [{name: main, image: work, resources: {limits: {cpu: %s}}}]}
"""


def objects_of(*texts: str) -> list[dict[str, object]]:
    """The reported objects of one file with these documents."""
    Path("app.yaml").write_text("---\n".join(texts))
    report = json.loads(run_of("validate", "app.yaml", "--json", "-", "-q").stdout)
    return list(report["files"][0]["objects"])


def test_the_pods_that_an_object_becomes_are_counted() -> None:
    assert objects_of(DEPLOYMENT % ("Deployment", "web", "web", 1), POD) == [
        {"object": "Deployment default/web", "pods": 3, "errors": []},
        {"object": "Pod default/a", "pods": 1, "errors": []},
    ]
    assert "2 objects, 4 pods" in run_of("validate", "app.yaml").stdout


def test_every_wrong_object_of_a_file_is_reported() -> None:
    texts = (
        DEPLOYMENT % ("Deployment", "other", "api", 1),
        DEPLOYMENT % ("StatefulSet", "amount", "web", "lots"),
        DEPLOYMENT % ("Deployment", "good", "web", 1),
        POD.replace("spec:", "spek:"),
    )
    found = {each["object"]: len(list(each["errors"])) for each in objects_of(*texts)}
    assert found == {
        "Deployment default/other": 1,
        "StatefulSet default/amount": 1,
        "Deployment default/good": 0,
        "Pod default/a": 1,
    }
    done = run_of("validate", "app.yaml")
    assert done.exit_code == 2
    for said in (
        "labels that spec.selector matches",
        "expected a quantity",
        "unknown field 'spek'",
    ):
        assert said in done.stderr


def test_a_field_that_the_api_server_refuses_is_named_in_its_words() -> None:
    Path("app.yaml").write_text(POD.replace("spec: {", "spec: {dnsPolicy: Some, "))
    done = run_of("validate", "app.yaml")
    assert done.exit_code == 2
    assert 'app.yaml: Pod "a" is invalid: spec.dnsPolicy: Unsupported value: "Some"' in done.stderr


def test_a_gang_without_its_size_is_refused() -> None:
    gang = POD.replace("{name: a}", "{name: a, labels: {scheduling.x-k8s.io/pod-group: g}}")
    Path("app.yaml").write_text(gang)
    done = run_of("validate", "app.yaml")
    assert (done.exit_code, "the PodGroup in the input" in done.stderr) == (2, True)


def test_a_wrong_workload_has_one_error_for_all_its_pods() -> None:
    job = """
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: train}
spec:
  pytorchReplicaSpecs:
    Worker:
      replicas: 4
      template: {spec: {restartPolicy: Perhaps, containers: [{name: pytorch, image: work}]}}
"""
    (found,) = objects_of(job)
    assert (found["object"], len(list(found["errors"]))) == ("PyTorchJob default/train", 1)


def test_a_class_that_the_cluster_may_have_is_a_note() -> None:
    pod = POD.replace("spec: {", "spec: {priorityClassName: gold, ")
    Path("app.yaml").write_text(pod)
    done = run_of("validate", "app.yaml")
    assert done.exit_code == 0
    assert "no PriorityClass with name gold was found" in " ".join(done.stdout.split())


SECRET = "apiVersion: v1\nkind: Secret\nmetadata: {name: key}\n"


def test_what_a_command_leaves_out_is_named() -> None:
    Path("manifests/secret.yaml").write_text(SECRET)
    assert (
        "2 objects, 1 pod; skipped: 1 Secret (not scheduled)"
        in run_of("validate", "manifests").output
    )
    done = run_of("plan", "manifests", "--on", "scenario.yaml", "--json", "plan.json")
    assert "skipped: 1 Secret (not scheduled)\n" in done.output
    assert json.loads(Path("plan.json").read_text())["skipped"] == [
        "skipped: 1 Secret (not scheduled)"
    ]


def test_a_scenario_names_what_its_manifests_leave_out() -> None:
    Path("manifests/secret.yaml").write_text(SECRET)
    Path("scenario.yaml").write_text(
        SCENARIO.replace("{pods: {cpu: 3}}", "{manifests: [manifests]}")
    )
    said = "workloads[0]: skipped: 1 Secret (not scheduled)"
    assert said in run_of("validate", "scenario.yaml").output
    assert said in run_of("run", "scenario.yaml", "--speed", "0", "--no-plots").output


def test_a_plan_of_objects_without_pods_is_empty() -> None:
    Path("secret.yaml").write_text(SECRET)
    done = run_of("plan", "secret.yaml", "--on", "scenario.yaml")
    assert done.exit_code == 0
    assert "no pod would be created.\nskipped: 1 Secret (not scheduled)\n" in done.output


def test_a_plan_places_a_gang_of_another_scheduler_as_a_whole() -> None:
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: %s, labels: %s, annotations: %s}\n"
    marks = "{kueue.x-k8s.io/pod-group-name: g}", "{kueue.x-k8s.io/pod-group-total-count: '2'}"
    spec = "spec: {containers: [{name: c, resources: {requests: {cpu: 3}}}]}\n"
    Path("gang.yaml").write_text("---\n".join(pod % (name, *marks) + spec for name in "ab"))
    done = run_of("plan", "gang.yaml", "--on", "scenario.yaml")
    assert done.exit_code == 3
    assert "0 of 2 pods would be placed, 2 would stay pending" in done.output
