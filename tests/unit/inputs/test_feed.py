"""A scenario made real: objects before the start, arrivals in the order of time."""

from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from stretto.api.admission.request import ForbiddenError
from stretto.api.codec import decode
from stretto.api.wire.kinds import NAMESPACE, POD
from stretto.base.errors import InputError
from stretto.base.rng import Rng
from stretto.inputs.objects.admission import InputAdmission
from stretto.inputs.objects.equal_specs import PodTemplateAdmission
from stretto.inputs.objects.pod_templates import PodTemplates, TemplateSpec
from stretto.inputs.scenario.feed import Feed, materialise
from stretto.inputs.scenario.read import load_scenario
from stretto.inputs.traces.openb.figures import bundled_openb
from stretto.inputs.traces.openb.protocol import protocol_input
from stretto.testing import make_pod

SMALL = "fleet: {like: '8cpu-32gib:3'}\n"
GROUP = "godel.bytedance.com/pod-group-name"


def feed(folder: Path, text: str, seed: int = 0) -> Feed:
    (folder / "s.yaml").write_text(text)
    return materialise(load_scenario(folder / "s.yaml"), Rng(seed))


def refused(folder: Path, text: str) -> str:
    with pytest.raises(InputError) as caught:
        feed(folder, text)
    return str(caught.value).replace(f"{folder}/", "")


def arrivals(found: Feed) -> list[tuple[float, str, str]]:
    return [(each.time_s, each.kind.kind, each.name) for each in found.arrivals]


def test_the_openb_example_is_the_published_study(repo_root: Path) -> None:
    scenario = load_scenario(repo_root / "examples" / "openb.yaml")
    found = materialise(scenario, Rng(scenario.seed))
    drawn = protocol_input(bundled_openb(), scenario.seed)
    assert tuple(each.name for each in found.arrivals) == drawn.names
    assert len(found.nodes) == 1213


def test_the_zones_of_the_openb_example_are_alike(repo_root: Path) -> None:
    scenario = load_scenario(repo_root / "examples" / "openb.yaml")
    nodes = materialise(scenario, Rng(1)).nodes
    gpus = Counter[str]()
    for node in nodes:
        gpus[node.zone] += node.gpus
    assert max(gpus.values()) - min(gpus.values()) < 40


@pytest.mark.parametrize("name", ["openb", "quickstart", "kubernetes"])
def test_every_object_of_the_examples_is_well_formed(repo_root: Path, name: str) -> None:
    scenario = load_scenario(repo_root / "examples" / f"{name}.yaml")
    found = materialise(scenario, Rng(scenario.seed))
    for kind, body in found.objects:
        decode(kind, body)
    for each in found.arrivals[:500]:
        decode(each.kind, each.body)


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    text = "fleet: {synthetic: {count: 9, zones: 3}}\nworkloads: [{synthetic: {count: 40}}]"
    assert feed(tmp_path, text, 5) == feed(tmp_path, text, 5)
    assert feed(tmp_path, text, 5) != feed(tmp_path, text, 6)


def test_a_pod_group_comes_right_before_its_pods(tmp_path: Path) -> None:
    found = feed(tmp_path, SMALL + "workloads: [{name: g, pods: {count: 4, gang: 2}}]")
    assert [name for _, _, name in arrivals(found)] == ["g-0", "g-0", "g-1", "g-1", "g-2", "g-3"]
    assert Counter(kind for _, kind, _ in arrivals(found)) == {"Pod": 4, "PodGroup": 2}


def test_units_arrive_as_one(tmp_path: Path) -> None:
    pods = "{name: g, pods: {count: 4, gang: 2}, arrival: {every: 10}}"
    times = [time for time, _, _ in arrivals(feed(tmp_path, SMALL + f"workloads: [{pods}]"))]
    assert times == [0, 0, 0, 10, 10, 10]


def test_arrivals_stand_in_the_order_of_time(tmp_path: Path) -> None:
    late, early = "{name: b, pods: {}, arrival: {at: 5}}", "{name: a, pods: {}}"
    found = arrivals(feed(tmp_path, SMALL + f"workloads: [{late}, {early}]"))
    assert found == [(0.0, "Pod", "a-0"), (5.0, "Pod", "b-0")]


def test_pods_have_the_fields_of_their_keys(tmp_path: Path) -> None:
    keys = "cpu: 1500m, memory: 1500k, priority: 7, labels: {a: b}, owner: Job, duration: 30"
    more = "resources: {example.com/nic: 1}, spec: {nodeSelector: {disk: ssd}}"
    found = feed(tmp_path, SMALL + f"workloads: [{{name: x, pods: {{{keys}, {more}}}}}]")
    pod = msgspec.json.decode(found.arrivals[0].body)
    requests = pod["spec"]["containers"][0]["resources"]["requests"]
    assert requests == {"cpu": "1500m", "memory": "1500k", "example.com/nic": "1"}
    assert (pod["spec"]["priority"], pod["spec"]["nodeSelector"]) == (7, {"disk": "ssd"})
    assert pod["metadata"]["ownerReferences"][0]["kind"] == "Job"
    assert found.arrivals[0].duration_s == 30


def test_a_wrong_field_in_a_pods_spec_is_refused_before_the_run(tmp_path: Path) -> None:
    pods = "{name: x, pods: {spec: {nodeSelector: 5}}}"
    assert "spec.nodeSelector: got 5, expected an object" in (
        refused(tmp_path, SMALL + f"workloads: [{pods}]")
    )


def test_two_workloads_with_the_same_names_are_refused(tmp_path: Path) -> None:
    text = SMALL + "workloads: [{name: a, pods: {}}, {name: a, pods: {}}]"
    assert refused(tmp_path, text) == (
        "scenario s.yaml: got 'Pod default/a-0', expected a unique name; "
        "name the workloads: their objects get the name as a prefix"
    )


def test_a_queue_becomes_an_object(tmp_path: Path) -> None:
    found = feed(tmp_path, SMALL + "queues: [{name: ml, weight: 3}]")
    kind, body = found.objects[0]
    assert kind.kind == "Queue"
    assert msgspec.json.decode(body)["spec"] == {"weight": 3}


def test_a_queue_with_a_wrong_field_is_refused(tmp_path: Path) -> None:
    message = refused(tmp_path, SMALL + "queues: [{name: ml, weight: much}]")
    assert message.startswith("scenario s.yaml: queues[0]: weight: got 'much'")


def test_machines_can_be_filtered_and_limited(tmp_path: Path) -> None:
    found = feed(tmp_path, "fleet: {openb: bundled, filter: 'model=G2', limit: 3}")
    assert [node.gpu_model for node in found.nodes] == ["G2", "G2", "G2"]


def test_machines_can_be_described(tmp_path: Path) -> None:
    shape = "{count: 2, name: big, cpu: 4, memory: 8Gi, gpus: 1, model: T4, labels: {a: b}}"
    found = feed(tmp_path, f"fleet: {{shapes: [{shape}]}}")
    assert [node.name for node in found.nodes] == ["big-0", "big-1"]
    assert found.nodes[0].memory_mib == 8192


def test_a_philly_job_is_a_gang_with_a_duration(tmp_path: Path) -> None:
    (tmp_path / "j.csv").write_text("job_id,submit_time_s,num_gpus,duration_s\n3,7.0,2,60.5\n")
    found = feed(tmp_path, SMALL + "workloads: [{philly: {jobs: j.csv}}]")
    assert arrivals(found)[0] == (7.0, "PodGroup", "job-3")
    assert [each.duration_s for each in found.arrivals] == [None, 60.5, 60.5]


def test_a_trace_may_come_at_other_times(tmp_path: Path) -> None:
    (tmp_path / "j.csv").write_text("job_id,submit_time_s,num_gpus,duration_s\n3,7.0,1,60.5\n")
    found = feed(tmp_path, SMALL + "workloads: [{philly: {jobs: j.csv}, arrival: {at: 2}}]")
    assert arrivals(found) == [(2.0, "Pod", "job-3-0")]


def test_a_trace_without_its_times_comes_at_once_and_stays(tmp_path: Path) -> None:
    (tmp_path / "j.csv").write_text("job_id,submit_time_s,num_gpus,duration_s\n3,7.0,1,60.5\n")
    found = feed(tmp_path, SMALL + "workloads: [{philly: {jobs: j.csv}, times: false}]")
    assert (found.arrivals[0].time_s, found.arrivals[0].duration_s) == (0.0, None)


def test_a_pod_deleted_when_it_is_created_is_left_out(tmp_path: Path) -> None:
    header = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,creation_time,deletion_time"
    (tmp_path / "p.csv").write_text(f"{header}\na,1,1,0,0,5,5\nb,1,1,0,0,5,9\n")
    found = feed(tmp_path, SMALL + "workloads: [{openb: {pods: p.csv}}]")
    assert [(each.name, each.departure_s) for each in found.arrivals] == [("b", 9.0)]


def test_a_named_trace_puts_its_name_before_its_pods(tmp_path: Path) -> None:
    (tmp_path / "v.csv").write_text(
        "vm_id,arrival_s,batch_id,vcpu,memory_gb,duration_min_s,duration_max_s,censored\n"
        "1,0,4,1,1,0,300,0\n2,0,4,1,1,0,300,0\n"
    )
    source = "azure-vm: {vms: v.csv, gangs: true, lifetime: max}"
    found = feed(tmp_path, SMALL + f"workloads: [{{name: az, {source}}}]")
    assert [name for _, _, name in arrivals(found)] == ["az-batch-4", "az-vm-1", "az-vm-2"]


def test_a_file_that_is_not_there_is_named_with_the_workload(tmp_path: Path) -> None:
    message = refused(tmp_path, SMALL + "workloads: [{philly: {jobs: j.csv}}]")
    assert message.startswith("scenario s.yaml: workloads[0]: j.csv: got nothing, expected a read")


def test_manifests_wait_until_they_arrive_and_the_rest_is_there(repo_root: Path) -> None:
    found = materialise(load_scenario(repo_root / "examples" / "kubernetes.yaml"), Rng(0))
    kinds = Counter(kind.kind for kind, _ in found.objects)
    assert kinds == {"Node": 3, "PodGroup": 1, "Namespace": 1}
    assert found.pods == len(found.arrivals) == 4 + 3 + 3


def test_pods_that_a_node_runs_are_there_from_the_start(tmp_path: Path) -> None:
    spec = "spec: {nodeName: n-0, containers: [{name: c}]}\n"
    (tmp_path / "m.yaml").write_text(f"apiVersion: v1\nkind: Pod\nmetadata: {{name: x}}\n{spec}")
    found = feed(tmp_path, SMALL + "workloads: [{manifests: [m.yaml]}]")
    assert found.pods == 0
    assert len(found.objects) == 5


def test_a_fleet_of_manifests_needs_a_node(tmp_path: Path) -> None:
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec: {containers: [{name: c}]}\n"
    (tmp_path / "m.yaml").write_text(pod)
    assert refused(tmp_path, "fleet: {manifests: [m.yaml]}") == (
        "scenario s.yaml: fleet: manifests: got 'm.yaml', "
        "expected files with at least one Node; add some nodes"
    )


@pytest.mark.parametrize("arrival", ["{rate: 100}", "{diurnal: {low: 1, high: 9, period: 60}}"])
def test_work_may_arrive_at_random(tmp_path: Path, arrival: str) -> None:
    pods = f"{{pods: {{count: 50}}, arrival: {arrival}}}"
    times = [time for time, _, _ in arrivals(feed(tmp_path, SMALL + f"workloads: [{pods}]"))]
    assert times == sorted(times)
    assert len(set(times)) == 50


# ---------------------------------------------------------------- admission

CLASSES = """
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: gold}
value: 77
---
apiVersion: v1
kind: LimitRange
metadata: {name: defaults}
spec: {limits: [{type: Container, default: {example.com/slot: "2"}}]}
"""


def spec_of(found: Feed, row: int = 0) -> dict[str, Any]:
    spec: dict[str, Any] = msgspec.json.decode(found.arrivals[row].body)["spec"]
    return spec


def test_generated_pods_pass_admission(tmp_path: Path) -> None:
    (tmp_path / "classes.yaml").write_text(CLASSES)
    pods = "{pods: {count: 2, spec: {priorityClassName: gold}}}"
    found = feed(tmp_path, f"{SMALL}workloads: [{pods}, {{manifests: [classes.yaml]}}]\n")
    spec = spec_of(found, 1)
    assert (spec["priority"], len(spec["tolerations"])) == (77, 2)
    assert spec["containers"][0]["resources"]["requests"]["example.com/slot"] == "2"


def test_a_generated_pod_with_an_unknown_class_is_refused(tmp_path: Path) -> None:
    text = f"{SMALL}workloads: [{{pods: {{spec: {{priorityClassName: gold}}}}}}]\n"
    with pytest.raises(ForbiddenError, match="no PriorityClass with name gold was found"):
        feed(tmp_path, text)


def test_pods_of_known_specs_are_admitted_like_the_first(tmp_path: Path) -> None:
    templates = PodTemplates(TemplateSpec(classes=40, constrained=0.5, units=3, gangs=True), Rng(1))
    fast, admit = PodTemplateAdmission(), partial(InputAdmission(()).admit_body, POD, where="here")
    for body in templates.bodies(200):
        slow = InputAdmission(()).admit_body(POD, msgspec.json.decode(body), "here")
        assert msgspec.json.decode(fast.body(body, admit) or b"{}") == slow


def test_label_keys_of_generated_pods_are_merged_one_by_one() -> None:
    fast, admit = PodTemplateAdmission(), partial(InputAdmission(()).admit_body, POD, where="here")
    spread = {
        "maxSkew": 1,
        "topologyKey": "zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {},
        "matchLabelKeys": ["rev"],
    }
    for revision in ("1", "2"):
        pod = make_pod("p", labels={"rev": revision}, spec={"topologySpreadConstraints": [spread]})
        (term,) = msgspec.json.decode(fast.body(pod, admit) or b"")["spec"][
            "topologySpreadConstraints"
        ]
        assert term["labelSelector"]["matchExpressions"][0]["values"] == [revision]


def test_every_namespace_of_a_scenario_exists_with_its_own_label(tmp_path: Path) -> None:
    head = "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: %s}\n"
    text = head + "spec: {containers: [{name: c}]}\n"
    space = "apiVersion: v1\nkind: Namespace\nmetadata: {name: b, labels: {team: x}}\n"
    (tmp_path / "m.yaml").write_text("---\n".join((text % "a", text % "b", space)))
    found = feed(tmp_path, f"{SMALL}workloads: [{{manifests: [m.yaml]}}, {{pods: {{count: 1}}}}]\n")
    bodies = [msgspec.json.decode(body) for kind, body in found.objects if kind == NAMESPACE]
    metas = [body["metadata"] for body in bodies]
    own = "kubernetes.io/metadata.name"
    assert {each["name"]: each["labels"] for each in metas} == {
        "a": {own: "a"},
        "b": {own: "b", "team": "x"},
        "default": {own: "default"},
    }
