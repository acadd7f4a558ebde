"""Traces, dumps and scenarios become recordings."""

import json
from pathlib import Path
from typing import Any

import pytest

from stretto.api.wire.kinds import NODE, POD, POD_GROUP, PRIORITY_CLASS
from stretto.base.errors import InputError
from stretto.inputs.conversion.convert import ConvertSettings, convert, timeline_of
from stretto.inputs.conversion.fleets import fleet_timeline
from stretto.inputs.neutral.bounds import TraceBounds, parse_window
from stretto.inputs.neutral.fleet import Fleet, FleetNode, FleetNodeChange, FleetPod
from stretto.inputs.objects.recordings import load_recording
from stretto.sim.history.histories import history_of

JOBS = "job_id,submit_time_s,num_gpus,duration_s\n1,100,2,60\n2,150,1,30\n3,900,1,30\n"
SPEC = {"name": "c", "image": "i"}
NODE_YAML = """
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: "8", memory: 16Gi, pods: "110"}}
"""
POD_YAML = """
apiVersion: v1
kind: Pod
metadata: {name: NAME, namespace: web, uid: NAME-uid}
spec: {containers: [{name: c, image: i, env: [{name: PASSWORD, value: x}]}]NODE}
status: {phase: PHASE}
"""


def pod_yaml(name: str, node: str = "", phase: str = "Pending") -> str:
    spec = f", nodeName: {node}" if node else ""
    return POD_YAML.replace("NAME", name).replace("NODE", spec).replace("PHASE", phase)


def written(folder: Path, name: str, *documents: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("---".join(documents))
    return path


def listed(changes: Any) -> list[tuple[float, str, str]]:
    return [(at, what.name, body["metadata"]["name"]) for at, what, _, body in changes]


def test_a_trace_becomes_a_recording(tmp_path: Path) -> None:
    settings = ConvertSettings(nodes_like="8cpu-16gib-4gpu-T4:1")
    report = convert(written(tmp_path, "j.csv", JOBS), tmp_path / "j.jsonl.gz", settings)
    pods = history_of(load_recording(tmp_path / "j.jsonl.gz")).pods
    assert (report.format, report.nodes, report.gangs, report.origin_s) == ("philly", 1, 1, 100)
    assert [(pod.arrived, pod.run_time) for pod in pods] == [(0, 60), (0, 60), (50, 30), (800, 30)]


@pytest.mark.parametrize(
    ("bounds", "pods"),
    [
        (TraceBounds(start_s=170), ["job-2-0", "job-3-0"]),
        (TraceBounds(end_s=150), ["job-1-0", "job-1-1"]),
        (TraceBounds(jobs=1), ["job-1-0", "job-1-1"]),
        (TraceBounds(sample=0.4), ["job-1-0", "job-1-1"]),
    ],
)
def test_a_part_of_a_trace_is_kept_by_job(
    tmp_path: Path, bounds: TraceBounds, pods: list[str]
) -> None:
    path = written(tmp_path, "j.csv", JOBS)
    timeline = timeline_of(path, ConvertSettings(bounds=bounds))
    found = [body for kind, body in timeline.objects if kind is POD]
    found += [body for _, _, kind, body in timeline.changes if kind is POD]
    assert [body["metadata"]["name"] for body in found] == pods


def test_an_empty_part_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "j.csv", JOBS)
    with pytest.raises(InputError, match="at least one pod in the selected part"):
        timeline_of(path, ConvertSettings(bounds=TraceBounds(start_s=5000)))


def test_the_window_start_is_second_zero(tmp_path: Path) -> None:
    path = written(tmp_path, "j.csv", JOBS)
    timeline = timeline_of(path, ConvertSettings(bounds=TraceBounds(start_s=120)))
    assert listed(timeline.changes) == [(30, "ADDED", "job-2-0"), (780, "ADDED", "job-3-0")]


def test_a_job_that_runs_at_the_window_start_has_the_rest_of_its_time(tmp_path: Path) -> None:
    settings = ConvertSettings(bounds=TraceBounds(start_s=170, end_s=180))
    convert(written(tmp_path, "j.csv", JOBS), tmp_path / "j.jsonl", settings)
    (pod,) = history_of(load_recording(tmp_path / "j.jsonl")).pods
    assert (pod.arrived, pod.run_time) == (0, 10)


def test_a_placed_pod_that_runs_at_the_window_start_is_there() -> None:
    fleet = Fleet((FleetNode("n", 4000, 4096),), (PLACED,))
    timeline = fleet_timeline(fleet, "test", start_s=9)
    (pod,) = [body for kind, body in timeline.objects if kind is POD]
    assert (pod["spec"]["nodeName"], listed(timeline.changes)) == ("n", [(3, "DELETED", "p")])


@pytest.mark.parametrize("text", ["5", "9:2", "a:b", "3:3"])
def test_a_wrong_window_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="START:END"):
        parse_window(text)


PLACED = FleetPod(
    "p", 1000, 1024, arrival_s=5, start_s=8, duration_s=4, node="n", priority=7,
    priority_class="tier", owner="web",
)  # fmt: skip


def test_a_placed_pod_starts_and_ends_as_recorded() -> None:
    fleet = Fleet((FleetNode("n", 4000, 4096),), (FleetPod("first", 1, 1, arrival_s=0), PLACED))
    timeline = fleet_timeline(fleet, "test")
    changes = [(5, "ADDED", "p"), (8, "MODIFIED", "p"), (12, "DELETED", "p")]
    assert (listed(timeline.changes), timeline.counts.placed) == (changes, 1)


def test_owner_and_class_of_a_pod_are_objects() -> None:
    timeline = fleet_timeline(Fleet((), (PLACED,)), "test")
    (priority, pod) = (body for _, body in timeline.objects)
    assert (priority["kind"], priority["value"]) == (PRIORITY_CLASS.kind, 7)
    assert pod["spec"]["priorityClassName"] == "tier"
    assert pod["metadata"]["ownerReferences"][0]["name"] == "web"


def test_nodes_are_added_changed_and_removed() -> None:
    node = FleetNode("n", 4000, 4096)
    steps: tuple[FleetNodeChange, ...]
    steps = (FleetNodeChange(1, "n", node), FleetNodeChange(2, "n", node))
    fleet = Fleet(
        (), (FleetPod("p", 1, 1, arrival_s=0),), changes=(*steps, FleetNodeChange(3, "n", None))
    )
    changes = [(1, "ADDED", "n"), (2, "MODIFIED", "n"), (3, "DELETED", "n")]
    assert listed(fleet_timeline(fleet, "test").changes) == changes


def test_a_group_precedes_its_pods() -> None:
    pods = (FleetPod("a", 1, 1, arrival_s=0), FleetPod("b", 1, 1, arrival_s=3, group="g"))
    kinds = [kind for _, _, kind, _ in fleet_timeline(Fleet((), pods), "test").changes]
    assert kinds == [POD_GROUP, POD]


def test_nodes_of_the_download_decide_the_pods(repo_root: Path) -> None:
    traces = repo_root / "examples" / "traces"
    settings = ConvertSettings(nodes=traces / "cluster_spec.csv")
    counts = timeline_of(traces / "tiresias.csv", settings).counts
    assert counts.nodes > 0
    assert counts.pods < timeline_of(traces / "tiresias.csv").counts.pods


def test_a_log_that_describes_its_nodes_brings_them(repo_root: Path) -> None:
    assert timeline_of(repo_root / "examples" / "traces" / "small.swf").counts.nodes == 8


def test_a_table_with_a_column_map_becomes_a_recording(repo_root: Path) -> None:
    traces = repo_root / "examples" / "traces"
    settings = ConvertSettings(format="csv", keys={"columns": str(traces / "own.yaml")})
    assert timeline_of(traces / "own.csv", settings).counts.pods > 0


def test_unknown_fields_of_a_dump_are_ignored(
    tmp_path: Path, recwarn: pytest.WarningsRecorder
) -> None:
    text = NODE_YAML.replace("status:", "status2: {}\nstatus:")
    assert timeline_of(written(tmp_path, "d.yaml", text)).counts.nodes == 1
    assert list(recwarn) == []


def test_a_scenario_becomes_a_recording(tmp_path: Path, repo_root: Path) -> None:
    report = convert(repo_root / "examples" / "queues.yaml", tmp_path / "q.jsonl")
    history = history_of(load_recording(tmp_path / "q.jsonl"))
    assert (report.format, report.pods, report.nodes) == ("scenario", 12, 2)
    assert len(history.pods) == 12


def test_a_dump_keeps_places_and_leaves_out_what_is_over(tmp_path: Path) -> None:
    pods = [pod_yaml("run", "n1", "Running"), pod_yaml("new"), pod_yaml("done", "n1", "Succeeded")]
    report = convert(written(tmp_path, "d.yaml", NODE_YAML, *pods), tmp_path / "d.jsonl")
    found = {pod.name: pod for pod in history_of(load_recording(tmp_path / "d.jsonl")).pods}
    assert {name: (pod.node, pod.bound) for name, pod in found.items()} == {
        "run": ("n1", 0.0),
        "new": ("", float("inf")),
    }
    assert (report.placed, report.notes) == (1, ("1 finished pods are omitted",))
    assert "PASSWORD" not in (tmp_path / "d.jsonl").read_text()


def test_a_folder_of_dumps_is_read_with_typed_lists(tmp_path: Path) -> None:
    written(tmp_path, "in/nodes.yaml", NODE_YAML)
    items = [{"metadata": {"name": "a", "namespace": "x"}, "spec": {"containers": [SPEC]}}]
    text = json.dumps({"kind": "PodList", "apiVersion": "v1", "items": items})
    written(tmp_path, "in/x/pods.json", text)
    counts = timeline_of(tmp_path / "in").counts
    assert (counts.nodes, counts.pods) == (1, 1)


def test_workload_objects_of_a_dump_are_counted_in_one_line(tmp_path: Path) -> None:
    jobs = [
        f"\napiVersion: batch/v1\nkind: Job\nmetadata: {{name: j{n}}}\nspec: {{template: {{}}}}\n"
        for n in range(2)
    ]
    notes = timeline_of(written(tmp_path, "d.yaml", NODE_YAML, *jobs)).notes
    assert notes == ("ignored: 2 Job (their pods are in the dump)",)


def test_pods_of_a_dump_without_nodes_lose_their_place(tmp_path: Path) -> None:
    timeline = timeline_of(written(tmp_path, "d.yaml", pod_yaml("run", "n1", "Running")))
    assert (timeline.counts.pods, timeline.counts.placed) == (1, 0)
    assert "kubectl get nodes,pods -A -o yaml" in timeline.notes[0]


def test_gpus_of_the_2023_trace_are_translated(tmp_path: Path) -> None:
    amounts = "{alibabacloud.com/gpu-count: '2', cpu: 8000m, memory: 1024Mi}"
    node = (
        "\napiVersion: v1\nkind: Node\n"
        "metadata: {name: a, labels: {alibabacloud.com/gpu-card-model: T4}}\n"
        f"status: {{allocatable: {amounts}, capacity: {amounts}}}\n"
    )
    pod = pod_yaml("p").replace(
        "uid: p-uid",
        "annotations: {alibabacloud.com/gpu-count: '1', alibabacloud.com/gpu-milli: '300',"
        " alibabacloud.com/gpu-card-model: T4|P100}",
    )
    objects = dict(timeline_of(written(tmp_path, "d.yaml", node, pod)).objects)
    assert objects[NODE]["status"]["allocatable"]["nvidia.com/gpu"] == "2"
    assert objects[NODE]["metadata"]["labels"]["nvidia.com/gpu.product"] == "T4"
    notes = objects[POD]["metadata"]["annotations"]
    assert (notes["stretto.dev/gpu-milli"], notes["stretto.dev/gpu-models"]) == ("300", "T4|P100")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"recording":"stretto.recording/v1"}\n', "a recording, expected a trace"),
        ("red,green\n1,2\n", "a trace in one of the formats"),
        ("- 1\n- 2\n", "a trace in one of the formats"),
    ],
)
def test_another_kind_of_file_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        timeline_of(written(tmp_path, "x", text))
    assert message in str(caught.value).replace("'", "")


def test_an_existing_file_is_not_replaced(tmp_path: Path) -> None:
    source, out = written(tmp_path, "j.csv", JOBS), written(tmp_path, "out.jsonl", "mine")
    with pytest.raises(InputError, match="add --force"):
        convert(source, out)
    assert out.read_text() == "mine"
    convert(source, out, force=True)
    assert load_recording(out).seconds == 830
