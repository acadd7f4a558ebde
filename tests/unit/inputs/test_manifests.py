"""Kubernetes files: read, checked among themselves, controllers turned into pods."""

import io
import sys
from pathlib import Path

import msgspec
import pytest

from stretto.api.edit.skipped import SkippedObjects
from stretto.base.errors import InputError, StrettoError
from stretto.inputs.objects.admission import InputContext
from stretto.inputs.objects.manifests import ManifestOptions, load_objects
from stretto.inputs.objects.reading import read_manifests
from stretto.inputs.objects.relations import InputObject

NODE = "apiVersion: v1\nkind: Node\nmetadata: {name: %s, labels: {disk: %s}}\n"
GROUP = "godel.bytedance.com/pod-group-name"


def pod(name: str, more: str = "") -> str:
    spec = "spec: {containers: [{name: main}]}"
    return f"apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}{more}}}\n{spec}\n"


def controller(kind: str, name: str, spec: str, template: str = "") -> str:
    version = "batch/v1" if kind == "Job" else "apps/v1"
    template += ", restartPolicy: Never" if kind == "Job" else ""
    inner = f"{{metadata: {{labels: {{app: x}}}}, spec: {{containers: [{{name: c}}]{template}}}}}"
    plain = kind in ("Job", "ReplicationController")
    spec += "" if plain else "selector: {matchLabels: {app: x}}, "
    body = f"spec: {{{spec}template: {inner}}}"
    return f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: {name}}}\n{body}\n"


def gang(name: str, members: int) -> str:
    version = "scheduling.godel.kubewharf.io/v1alpha1"
    head = f"apiVersion: {version}\nkind: PodGroup\nmetadata: {{name: {name}}}\n"
    return f"{head}spec: {{minMember: {members}}}\n"


def owned(by: str, kind: str = "Pod") -> str:
    return f", ownerReferences: [{{apiVersion: v1, kind: {kind}, name: {by}, uid: ''}}]"


def load(folder: Path, *texts: str, keep: bool = False) -> list[InputObject]:
    (folder / "app.yaml").write_text("---\n".join(texts))
    return load_objects([folder / "app.yaml"], ManifestOptions(keep_missing_owners=keep))


def refused(folder: Path, *texts: str) -> str:
    with pytest.raises(StrettoError) as caught:
        load(folder, *texts)
    return str(caught.value).removeprefix(f"{folder}/")


def names(objects: list[InputObject]) -> list[str]:
    return [each.name for each in objects]


# ---------------------------------------------------------------- reading


def test_objects_get_the_default_namespace_and_scheduler(tmp_path: Path) -> None:
    (item,) = load(tmp_path, pod("web"))
    body = msgspec.json.decode(item.body)
    assert (item.namespace, body["metadata"]["namespace"]) == ("default", "default")
    assert body["spec"]["schedulerName"] == "stretto"


def test_a_pod_keeps_the_name_of_another_scheduler(tmp_path: Path) -> None:
    text = pod("web").replace("{containers", "{schedulerName: other, containers")
    (item,) = load(tmp_path, text)
    assert msgspec.json.decode(item.body)["spec"]["schedulerName"] == "other"


def test_a_folder_gives_its_files_in_the_order_of_their_names(tmp_path: Path) -> None:
    for name in ("b.yml", "a.yaml", "c.json", "readme.md"):
        (tmp_path / name).write_text(pod(name.split(".")[0]) if name != "c.json" else POD_JSON)
    assert names(read_manifests(tmp_path)) == ["a", "b", "c"]


def test_a_folder_is_read_with_its_sub_folders(tmp_path: Path) -> None:
    (tmp_path / "b" / "c").mkdir(parents=True)
    (tmp_path / ".git").mkdir()
    for name in ("b/c/one.yaml", "a.yaml", ".git/no.yaml"):
        (tmp_path / name).write_text(pod(Path(name).stem))
    assert names(read_manifests(tmp_path)) == ["a", "one"]


def test_files_of_other_tools_in_a_folder_are_named(tmp_path: Path) -> None:
    (tmp_path / "chart" / "templates").mkdir(parents=True)
    texts = {
        "kustomization.yaml": "resources: [a.yaml]",
        "chart/Chart.yaml": "name: x",
        "chart/values.yaml": "replicas: 1",
        "chart/templates/web.yaml": "kind: {{ .Values.kind }}",
        "loose.yaml": pod("{{ .Name }}"),
        "empty.yaml": "",
        "docs.yml": "nav: [a, b]",
        "a.yaml": pod("web"),
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    skipped = SkippedObjects()
    assert names(read_manifests(tmp_path, skipped=skipped)) == ["web"]
    said = "\n".join(skipped.lines()).replace(f"{tmp_path}/", "")
    assert "kustomization.yaml (Kustomize: run kubectl kustomize" in said
    assert "chart/templates, chart/" in said
    assert "(Helm: run helm template" in said
    assert "loose.yaml (template with {{ }}" in said
    assert "docs.yml, empty.yaml (no Kubernetes objects)" in said


def test_patches_of_a_kustomization_are_no_manifests(tmp_path: Path) -> None:
    text = "resources: [a.yaml]\npatches: [{path: p.yaml}, {patch: x}]\n"
    (tmp_path / "kustomization.yaml").write_text(f"{text}patchesStrategicMerge: [q.yaml]")
    for name in ("a", "p", "q"):
        (tmp_path / f"{name}.yaml").write_text(pod("web", f", labels: {{from: {name}}}"))
    assert [each.where for each in read_manifests(tmp_path)] == [str(tmp_path / "a.yaml")]


def test_a_patch_of_a_kustomization_elsewhere_is_no_manifest(tmp_path: Path) -> None:
    (tmp_path / "overlay").mkdir()
    text = "resources: [../a.yaml]\npatches: [{path: ../p.yaml}]\n"
    (tmp_path / "overlay" / "kustomization.yaml").write_text(text)
    for name in ("a", "p"):
        (tmp_path / f"{name}.yaml").write_text(pod("web"))
    assert [each.where for each in read_manifests(tmp_path)] == [str(tmp_path / "a.yaml")]


JSON_PATCH = "- {op: replace, path: /spec/replicas, value: 2}"
MERGE_PATCH = "apiVersion: v1\nkind: Namespace\nmetadata: {name: x}\n$patch: delete"
PART = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x}\nspec: {replicas: 2}"


@pytest.mark.parametrize("text", [JSON_PATCH, MERGE_PATCH, PART])
def test_a_patch_on_its_own_is_refused_with_the_command_that_applies_it(
    tmp_path: Path, text: str
) -> None:
    (tmp_path / "patches").mkdir()
    named = "patches: [{path: patches/p.yaml}]"
    (tmp_path / "kustomization.yaml").write_text(named if text is PART else "")
    (tmp_path / "patches" / "p.yaml").write_text(text)
    with pytest.raises(InputError) as caught:
        load_objects([tmp_path / "patches" / "p.yaml"])
    assert "got 'a patch of Kustomize', expected whole objects; run kubectl" in str(caught.value)


def test_a_patch_in_a_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text(JSON_PATCH)
    (tmp_path / "a.yaml").write_text(pod("web"))
    skipped = SkippedObjects()
    assert names(read_manifests(tmp_path, skipped=skipped)) == ["web"]
    assert "p.yaml (Kustomize: " in skipped.lines()[0]


def test_a_broken_object_in_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("apiVersion: v1\nmetadata: {name: x}")
    with pytest.raises(InputError, match="kind: got nothing"):
        read_manifests(tmp_path)


@pytest.mark.parametrize("name", ["'{{ .Release.Name }}-web'", "{{ .Release.Name }}"])
def test_a_template_is_refused_with_the_command_that_renders_it(tmp_path: Path, name: str) -> None:
    message = refused(tmp_path, pod("x").replace("{name: x}", f"\n  name: {name}"))
    assert "got 'a template with {{ }}', expected plain YAML; run helm template" in message


def test_braces_inside_a_text_are_no_template(tmp_path: Path) -> None:
    text = pod("web").replace("name: main", "name: main, args: ['--format={{.Names}}']")
    assert names(load(tmp_path, text)) == ["web"]


def test_a_file_with_a_secret_only_is_an_empty_input(tmp_path: Path) -> None:
    assert load(tmp_path, "apiVersion: v1\nkind: Secret\nmetadata: {name: key}\n") == []


def test_a_replication_controller_is_its_pods(tmp_path: Path) -> None:
    text = controller("ReplicationController", "web", "replicas: 2, ").replace("apps/v1", "v1")
    assert len(load(tmp_path, text)) == 2


@pytest.mark.parametrize(
    ("name", "said"),
    [("Chart.yaml", "got 'a file of Helm', expected Kubernetes objects; run helm template"),
     ("kustomization.yml", "got 'a file of Kustomize'")],
)  # fmt: skip
def test_a_file_of_a_tool_is_refused_with_its_command(tmp_path: Path, name: str, said: str) -> None:
    (tmp_path / name).write_text("name: x")
    with pytest.raises(InputError) as caught:
        load_objects([tmp_path / name])
    assert said in str(caught.value)


def test_windows_line_ends_and_a_byte_order_mark_are_read(tmp_path: Path) -> None:
    assert names(load(tmp_path, "\ufeff" + pod("web").replace("\n", "\r\n"))) == ["web"]


POD_JSON = (
    '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"c"},"spec":{"containers":[{"name":"x"}]}}'
)


def test_a_folder_without_manifests_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"expected a folder with \.yaml, \.yml, \.json files"):
        read_manifests(tmp_path)


def test_a_dash_reads_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(pod("web").encode())))
    assert names(read_manifests(Path("-"))) == ["web"]


def test_a_list_is_unfolded(tmp_path: Path) -> None:
    text = msgspec.json.encode({"apiVersion": "v1", "kind": "List", "items": [
        msgspec.json.decode(POD_JSON)
    ]}).decode()  # fmt: skip
    assert names(load(tmp_path, text)) == ["c"]


def test_a_malformed_field_is_refused_with_file_and_path(tmp_path: Path) -> None:
    text = pod("web").replace("main", "7")
    assert refused(tmp_path, text) == (
        "app.yaml: pod web: spec.containers[0].name: got 7, expected a text"
    )


def test_an_unknown_field_of_an_object_that_is_not_scheduled_is_refused(tmp_path: Path) -> None:
    text = (
        "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: c}\nspec: {schedul: '* * * * *'}\n"
    )
    assert "did you mean 'schedule'" in refused(tmp_path, text)


def test_an_unknown_kind_is_answered_with_the_nearest(tmp_path: Path) -> None:
    text = pod("web").replace("kind: Pod", "kind: Pood")
    message = refused(tmp_path, text)
    assert "app.yaml, line 1: kind: got 'v1 Pood', expected a known kind" in message
    assert "did you mean v1 Pod" in message


def test_what_does_not_concern_scheduling_is_passed_over(tmp_path: Path) -> None:
    secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: key}\n---\n"
    (tmp_path / "app.yaml").write_text(secret + pod("web"))
    assert [each.name for each in load_objects([tmp_path / "app.yaml"])] == ["web"]


def test_an_object_without_a_name_is_refused(tmp_path: Path) -> None:
    assert "app.yaml: pod: metadata.name: got nothing, expected a DNS-1123 name" in refused(
        tmp_path, pod("''")
    )


def test_a_generated_name_is_made_up(tmp_path: Path) -> None:
    text = pod("x").replace("name: x", "generateName: web-")
    assert names(load(tmp_path, text)) == ["web-00000"]


def test_a_file_of_comments_has_no_objects(tmp_path: Path) -> None:
    assert "expected at least one Kubernetes object" in refused(tmp_path, "# nothing yet\n")


# ---------------------------------------------------------------- relations


def test_an_object_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    message = refused(tmp_path, pod("web"), pod("web"))
    assert message.startswith(
        "app.yaml: Pod default/web: metadata.name: got 'web', expected a unique name"
    )


def test_an_owner_that_is_not_there_is_refused(tmp_path: Path) -> None:
    assert refused(tmp_path, pod("web", owned("gone", "ReplicaSet"))) == (
        "app.yaml: Pod default/web: metadata.ownerReferences[0]: got 'ReplicaSet gone', "
        "expected an owner that is in the input; "
        "add the owner, drop the reference, or keep missing owners"
    )


def test_missing_owners_can_be_kept(tmp_path: Path) -> None:
    assert names(load(tmp_path, pod("web", owned("gone")), keep=True)) == ["web"]


def test_owners_in_a_circle_are_refused(tmp_path: Path) -> None:
    texts = [pod("a", owned("b")), pod("b", owned("c")), pod("c", owned("a"))]
    message = refused(tmp_path, *texts)
    assert "expected owners without a cycle; drop one of the references" in message
    assert "Pod default/a -> Pod default/b" in message


def test_an_object_cannot_own_itself(tmp_path: Path) -> None:
    assert "got 'Pod default/a -> Pod default/a'" in refused(tmp_path, pod("a", owned("a")))


def test_a_namesake_of_the_owner_is_refused(tmp_path: Path) -> None:
    owner = pod("a", ", uid: new")
    text = pod("b", owned("a").replace("''", "old"))
    assert "expected the uid of Pod default/a, 'new'" in refused(tmp_path, owner, text)


def test_a_gang_above_the_number_of_its_pods_is_refused(tmp_path: Path) -> None:
    member = f", annotations: {{{GROUP}: train}}"
    assert refused(tmp_path, gang("train", 3), pod("a", member), pod("b", member)) == (
        "app.yaml: PodGroup default/train: spec.minMember: got 3, "
        "expected 1..2, the number of its pods; add pods to the same input"
    )


@pytest.mark.parametrize("members", [0, -1])
def test_a_gang_of_none_is_refused(tmp_path: Path, members: int) -> None:
    assert refused(tmp_path, gang("train", members), pod("a")).startswith(
        f"app.yaml: podgroup train: spec.minMember: got {members}, expected at least 1; "
    )


def test_a_gang_may_be_named_by_label(tmp_path: Path) -> None:
    assert load(tmp_path, gang("train", 1), pod("a", f", labels: {{{GROUP}: train}}"))


def test_a_gang_without_any_pod_is_refused(tmp_path: Path) -> None:
    assert "got 1, expected pods of the group" in refused(tmp_path, gang("train", 1))


def test_a_replication_controller_without_labels_states_what_to_add(tmp_path: Path) -> None:
    text = controller("ReplicationController", "web", "").replace("apps/v1", "v1")
    message = refused(tmp_path, text.replace("metadata: {labels: {app: x}}, ", ""))
    assert "spec.selector: got nothing" in message
    assert message.endswith("give spec.template labels, and repeat some in spec.selector")


def test_a_gang_counts_the_pods_of_the_state(tmp_path: Path) -> None:
    member = pod("b", f", namespace: default, annotations: {{{GROUP}: train}}")
    (tmp_path / "state.yaml").write_text(member)
    (held,) = load_objects([tmp_path / "state.yaml"])
    first = pod("a", f", annotations: {{{GROUP}: train}}")
    (tmp_path / "app.yaml").write_text(f"{gang('train', 2)}\n---\n{first}")
    context = InputContext([(held.kind, held.body)])
    assert len(load_objects([tmp_path / "app.yaml"], context=context)) == 2


def test_the_pods_of_a_gang_may_follow_in_a_state(tmp_path: Path) -> None:
    (tmp_path / "app.yaml").write_text(gang("train", 2))
    options = ManifestOptions(keep_missing_owners=True)
    assert names(load_objects([tmp_path / "app.yaml"], options)) == ["train"]


def test_a_long_generated_name_is_cut(tmp_path: Path) -> None:
    (item,) = load(tmp_path, pod("x").replace("name: x", f"generateName: {'a' * 70}"))
    assert item.name == "a" * 58 + "00000"


def test_an_error_names_an_object_with_a_generated_name(tmp_path: Path) -> None:
    text = pod("x").replace("name: x", "generateName: web-, annotations: {a: 1}")
    assert "pod web-: metadata.annotations.a: got 1, expected a text" in refused(tmp_path, text)


# ---------------------------------------------------------------- controllers


def test_a_deployment_becomes_pods_of_its_replica_set(tmp_path: Path) -> None:
    pods = load(tmp_path, controller("Deployment", "web", "replicas: 3, "))
    owners = [each.meta().owner_references[0] for each in pods]
    assert len(pods) == 3
    assert {owner.kind for owner in owners} == {"ReplicaSet"}
    assert len({owner.uid for owner in owners}) == 1


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet", "StatefulSet", "Job"])
def test_one_pod_is_the_default(tmp_path: Path, kind: str) -> None:
    (item,) = load(tmp_path, controller(kind, "web", ""))
    assert item.kind.kind == "Pod"
    assert item.meta().labels["app"] == "x"


def test_the_pods_of_a_stateful_set_are_numbered(tmp_path: Path) -> None:
    text = controller("StatefulSet", "db", "replicas: 2, ordinals: {start: 5}, ")
    assert names(load(tmp_path, text)) == ["db-5", "db-6"]


def test_a_job_runs_no_more_pods_than_its_completions(tmp_path: Path) -> None:
    assert len(load(tmp_path, controller("Job", "sum", "parallelism: 9, completions: 2, "))) == 2


def test_a_suspended_job_has_no_pods(tmp_path: Path) -> None:
    assert load(tmp_path, controller("Job", "sum", "suspend: true, ")) == []


def test_a_daemon_set_has_a_pod_on_each_node_that_it_may_use(tmp_path: Path) -> None:
    tainted = (NODE % ("c", "ssd")) + "spec: {taints: [{key: k, value: v, effect: NoSchedule}]}\n"
    daemons = controller("DaemonSet", "agent", "", ", nodeSelector: {disk: ssd}")
    objects = load(tmp_path, NODE % ("a", "ssd"), NODE % ("b", "hdd"), tainted, daemons)
    (body,) = [each.body for each in objects if each.kind.kind == "Pod"]
    assert b'"values":["a"]' in body


@pytest.mark.parametrize(
    ("key", "effect", "pods"),
    [
        ("node.kubernetes.io/not-ready", "NoExecute", 1),
        ("node.kubernetes.io/not-ready", "NoSchedule", 0),
        ("node.kubernetes.io/unreachable", "NoExecute", 1),
        ("node.kubernetes.io/disk-pressure", "NoSchedule", 1),
        ("node.kubernetes.io/memory-pressure", "NoSchedule", 1),
        ("node.kubernetes.io/pid-pressure", "NoSchedule", 1),
        ("node.kubernetes.io/unschedulable", "NoSchedule", 1),
        ("node.kubernetes.io/network-unavailable", "NoSchedule", 0),
        ("dedicated", "NoSchedule", 0),
        ("dedicated", "NoExecute", 0),
        ("dedicated", "PreferNoSchedule", 1),
    ],
)
def test_a_daemon_set_tolerates_what_its_controller_adds(
    tmp_path: Path, key: str, effect: str, pods: int
) -> None:
    tainted = (NODE % ("c", "ssd")) + f"spec: {{taints: [{{key: {key}, effect: {effect}}}]}}\n"
    objects = load(tmp_path, tainted, controller("DaemonSet", "agent", ""))
    assert sum(each.kind.kind == "Pod" for each in objects) == pods


def test_on_the_network_of_the_node_a_daemon_set_needs_no_other_network(tmp_path: Path) -> None:
    key = "node.kubernetes.io/network-unavailable"
    tainted = (NODE % ("c", "ssd")) + f"spec: {{taints: [{{key: {key}, effect: NoSchedule}}]}}\n"
    objects = load(tmp_path, tainted, controller("DaemonSet", "net", "", ", hostNetwork: true"))
    assert sum(each.kind.kind == "Pod" for each in objects) == 1


def test_the_affinity_of_a_daemon_set_to_its_node_replaces_the_required_one(tmp_path: Path) -> None:
    rule = "{key: disk, operator: In, values: [ssd]}"
    required = f"{{nodeSelectorTerms: [{{matchExpressions: [{rule}]}}]}}"
    affinity = f"{{nodeAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: {required}}}}}"
    daemons = controller("DaemonSet", "agent", "", f", affinity: {affinity}")
    objects = load(tmp_path, NODE % ("a", "ssd"), NODE % ("b", "hdd"), daemons)
    (body,) = [msgspec.json.decode(each.body) for each in objects if each.kind.kind == "Pod"]
    (term,) = body["spec"]["affinity"]["nodeAffinity"][
        "requiredDuringSchedulingIgnoredDuringExecution"
    ]["nodeSelectorTerms"]
    fields = [{"key": "metadata.name", "operator": "In", "values": ["a"]}]
    assert term == {"matchFields": fields}


def test_a_daemon_set_may_tolerate_every_taint(tmp_path: Path) -> None:
    tainted = (NODE % ("c", "ssd")) + "spec: {taints: [{key: k, value: v, effect: NoExecute}]}\n"
    daemons = controller("DaemonSet", "agent", "", ", tolerations: [{operator: Exists}]")
    assert len(load(tmp_path, tainted, daemons)) == 2


def test_a_controller_whose_pods_are_in_the_input_makes_none(tmp_path: Path) -> None:
    text = pod("web-1", owned("web", "ReplicaSet"))
    assert names(load(tmp_path, controller("ReplicaSet", "web", "replicas: 3, "), text)) == [
        "web-1"
    ]


def test_the_same_controllers_make_the_same_pods(tmp_path: Path) -> None:
    text = controller("Deployment", "web", "replicas: 2, ")
    assert load(tmp_path, text) == load(tmp_path, text)


def test_an_absurd_number_of_replicas_is_refused(tmp_path: Path) -> None:
    text = controller("Deployment", "web", "replicas: 2000000000, ")
    assert "expected 0..1000000 pods" in refused(tmp_path, text)


def test_a_template_with_a_token_needs_no_service_account(tmp_path: Path) -> None:
    volumes = ", volumes: [{name: t, projected: {sources: [{serviceAccountToken: {path: t}}]}}]"
    text = controller("Deployment", "web", "replicas: 2, ", volumes)
    assert len(load(tmp_path, text)) == 2


def test_a_value_that_is_a_template_is_named_as_such(tmp_path: Path) -> None:
    text = f"{controller('Deployment', 'web', '')}  # {{{{ end }}}}\n"
    assert "a template with {{ }}" in refused(tmp_path, text.replace("name: web", 'name: "{{x}}"'))
    typo = text.replace("template:", "templat:").replace("{name: c}", '{name: "{{x}}"}')
    assert "did you mean 'template'" in refused(tmp_path, typo)


def test_a_controller_whose_template_has_no_spec_is_refused(tmp_path: Path) -> None:
    text = controller("Deployment", "web", "").partition("template")[0] + "template: {}}"
    assert "spec.template.spec: got nothing, expected the spec of a pod" in refused(tmp_path, text)


def test_a_controller_without_a_template_is_refused(tmp_path: Path) -> None:
    text = controller("Deployment", "web", "").partition("template")[0] + "}"
    assert (
        "Deployment default/web: spec.template: got nothing, expected the template of its pods"
        in (refused(tmp_path, text))
    )
