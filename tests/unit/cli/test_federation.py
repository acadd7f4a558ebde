"""The verbs of a federation, on the bundled fleet file."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from stretto.api.wire.kinds import POD
from stretto.cli.commands.federation.source import FleetOptions, OpenedFleet, opened_fleet
from stretto.cli.main import cli
from stretto.cli.sources.members import searched_pods
from stretto.cli.sources.webhooks import LimitedWebhooks, limited_webhooks
from stretto.sim.fleet.server.availability import ServerAvailability
from stretto.stores.kube.webhooks import HttpWebhookClient
from stretto.stores.webhooks import WebhookAnswer, WebhookCall

POLICY = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: huge, labels: {kubeadmiral.io/propagation-policy-name: NAME}}
spec:
  replicas: 90
  template:
    spec: {containers: [{name: main, image: x, resources: {requests: {cpu: "2"}}}]}
"""


def called(*words: str, on: str = "federation") -> Result:
    return CliRunner().invoke(cli, ["federation", *words, "--on", on])


def test_clusters_are_listed_with_their_fill() -> None:
    found = json.loads(called("clusters", "-o", "json").stdout)["clusters"]
    assert [each["name"] for each in found] == ["east", "lab", "west"]
    assert found[0]["filled"] == pytest.approx(0.625)


def test_a_cluster_is_explained_with_a_cure() -> None:
    done = called("explain", "web", "lab", "-o", "json")
    verdict = json.loads(done.stdout)["clusters"][0]
    assert (verdict["chosen"], verdict["cure"]) == (False, "add a toleration, or remove the taint")


def test_a_plan_of_what_does_not_fit_exits_with_3(tmp_path: Path) -> None:
    file = tmp_path / "huge.yaml"
    file.write_text(POLICY.replace("NAME", "by-capacity"))
    done = called("plan", str(file))
    assert done.exit_code == 3
    assert "replicas of default/huge fit nowhere" in done.stderr


def test_a_plan_without_its_policy_states_which_one_is_missing(tmp_path: Path) -> None:
    file = tmp_path / "huge.yaml"
    file.write_text(POLICY.replace("NAME", "absent"))
    done = called("plan", str(file))
    assert done.exit_code == 3
    assert "absent does not exist" in done.stderr


def test_a_rollout_shows_every_cluster() -> None:
    found = json.loads(called("rollout", "web", "-o", "json").stdout)
    assert [row["waits_for"] for row in found["clusters"]] == ["done", "done"]


def test_a_migration_is_shown_within_its_budget() -> None:
    done = called("migrate", "--from", "west", "--at-most", "3", "-o", "json")
    found = json.loads(done.stdout)
    assert found["beyond_budget"] == 1
    assert [each["name"] for each in found["objects"]] == ["default/search"]


def test_a_story_begins_with_the_federated_object() -> None:
    steps = json.loads(called("story", "web", "-o", "json").stdout)["steps"]
    assert [each["event"] for each in steps][:2] == ["federated", "placed"]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["explain", "absent"], 6, "no federated object has this name"),
        (["explain", "web", "esat"], 2, "east"),
        (["migrate"], 2, "--undo"),
        (["migrate", "--from", "moon"], 6, "no cluster has this name"),
        (["migrate", "--from", "east", "--apply"], 2, "a host to write to"),
        (["clusters", "-o", "xml"], 2, "xml"),
        (["rollout", "namespace/default"], 6, "namespace/default"),
    ],
)
def test_bad_input_states_the_fix(words: list[str], code: int, said: str) -> None:
    done = called(*words)
    assert done.exit_code == code, done.output
    assert said in done.stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("federation: {clusters: []}", "at least one cluster"),
        ("federation: {clusters: [{name: a}, {name: a}]}", "each cluster once"),
        ("federation: {clusters: [{name: a, cpus: 3}]}", "cpus"),
        ("federation: {clusters: [{name: a}], objects: [{kind: Pod}]}", "metadata.name"),
    ],
)
def test_a_malformed_fleet_file_names_the_field(text: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "fleet.yaml"
    file.write_text(text)
    done = called("clusters", on=str(file))
    assert done.exit_code == 2
    assert said in done.stderr


BROKEN = """
federation:
  clusters: [{name: east, nodes: 1, cpu: 4}]
  seconds: 10
  objects:
    - apiVersion: core.kubeadmiral.io/v1alpha1
      kind: PropagationPolicy
      metadata: {name: wrong, namespace: default}
      spec: {schedulingMode: Divide, placement: [{cluster: east, preferences: {weight: -2}}]}
    - apiVersion: core.kubeadmiral.io/v1alpha1
      kind: PropagationPolicy
      metadata: {name: none, namespace: default}
      spec: {schedulingMode: Divide, placement: [{cluster: east, preferences: {weight: 0}}]}
    - &web
      apiVersion: apps/v1
      kind: Deployment
      metadata: {name: web, labels: {kubeadmiral.io/propagation-policy-name: wrong}}
      spec: {replicas: 2, template: {spec: {containers: [{name: main, image: "web:v1"}]}}}
    - <<: *web
      metadata: {name: idle, labels: {kubeadmiral.io/propagation-policy-name: none}}
"""


@pytest.fixture
def broken(tmp_path: Path) -> str:
    file = tmp_path / "broken.yaml"
    file.write_text(BROKEN)
    return str(file)


def test_an_object_whose_policy_is_wrong_is_explained(broken: str) -> None:
    done = called("explain", "web", "-o", "json", on=broken)
    (east,) = json.loads(done.stdout)["clusters"]
    assert (done.exit_code, east["chosen"]) == (0, False)
    assert "weight is -2: set it from 0" in east["why"]


def test_a_run_shows_the_reasons_of_the_conditions(broken: str) -> None:
    done = CliRunner().invoke(cli, ["run", broken, "--json", "-"])
    found = {each["name"]: each["problem"] for each in json.loads(done.stdout)["objects"]}
    assert "weight is -2" in found["default/web"]
    assert "gives every cluster the weight 0" in found["default/idle"]


KINDLESS = """
apiVersion: core.kubeadmiral.io/v1alpha1
kind: FederatedTypeConfig
metadata: {name: widgets.lab}
spec: {sourceType: {group: lab, version: v1, kind: Widget}}
"""


def test_a_run_warns_of_a_configuration_that_does_not_apply(broken: str) -> None:
    file = Path(broken)
    objects = file.read_text().replace("  objects:\n", f"  objects:\n{indent(KINDLESS)}")
    file.write_text(objects)
    done = CliRunner().invoke(cli, ["run", broken])
    assert "FederatedTypeConfig widgets.lab: " in done.stderr
    assert "spec.sourceType.pluralName: got nothing" in done.stderr


def indent(manifest: str) -> str:
    """A manifest as the first object of a fleet file."""
    first, *rest = manifest.strip().splitlines()
    return "".join(f"{line}\n" for line in (f"    - {first}", *(f"      {x}" for x in rest)))


def test_a_plan_refuses_a_configuration_that_does_not_apply(tmp_path: Path) -> None:
    manifest = tmp_path / "kind.yaml"
    manifest.write_text(KINDLESS)
    done = called("plan", str(manifest))
    assert done.exit_code == 2
    assert "expected a configuration that applies" in done.stderr


def test_policies_are_compared_after_a_cluster_is_lost() -> None:
    done = called("simulate", "--lose", "west", "--policy", "stretto", "-o", "json")
    found = json.loads(done.stdout)["policies"][0]
    assert (found["running"], found["pending"]) == (19, 0)
    assert found["filled"]["east"] == pytest.approx(0.9062)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--lose", "moon"], "cluster"),
        (["--add", "south"], "NAME:NODES:CPU"),
        (["--policy", "magic"], "stretto"),
        (["--clusters", "3"], "a trace as FILE"),
        (["--gangs"], "a trace as FILE"),
        (["--limit", "3"], "a trace as FILE"),
    ],
)
def test_a_bad_what_if_is_refused(words: list[str], said: str) -> None:
    done = called("simulate", *words)
    assert done.exit_code == 2
    assert said in done.stderr


TRACE = "vm_id,arrival_s,batch_id,vcpu,memory_gb,duration_min_s,duration_max_s,censored\n"


@pytest.fixture
def trace(tmp_path: Path) -> str:
    """Six VMs of four cores that run for a minute."""
    rows = (f"{at},0,{at},4,1,60,60,0\n" for at in range(6))
    file = tmp_path / "vms.csv"
    file.write_text(TRACE + "".join(rows))
    return str(file)


def traced(*words: str) -> Result:
    return CliRunner().invoke(cli, ["federation", "simulate", *words])


def test_a_trace_runs_over_clusters_that_share_its_nodes(trace: str) -> None:
    words = ("--nodes-like", "8cpu-32gib:3", "--clusters", "east=2,west=1")
    done = traced(trace, *words, "--policy", "stretto", "-o", "json")
    found = json.loads(done.stdout)["policies"][0]
    assert found["jobs"] == {"arrived": 6, "started": 6, "ended": 6, "mean_wait_s": 0.0}
    assert found["mean_filled"].keys() == {"east", "west"}


def test_a_trace_runs_on_the_clusters_of_a_fleet_file(trace: str) -> None:
    done = traced(trace, "--on", "federation", "--policy", "stretto", "-o", "json")
    found = json.loads(done.stdout)["policies"][0]
    assert found["filled"].keys() == {"east", "west", "lab"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--clusters", "3"], "add --nodes"),
        (["--clusters", "east=x", "--nodes-like", "8cpu-32gib:3"], "NAME=SHARE"),
        (["--clusters", "5", "--nodes-like", "8cpu-32gib:3"], "fewer --clusters"),
        (["--clusters", "3", "--on", "federation"], "no such option with --on FILE"),
        (["--gpus", "3", "--format", "azure-vm"], "no such option with --format azure-vm"),
    ],
)
def test_a_bad_trace_is_refused(words: list[str], said: str, trace: str) -> None:
    done = traced(trace, *words)
    assert done.exit_code == 2
    assert said in done.stderr


@pytest.fixture(scope="module")
def opened() -> Iterator[OpenedFleet]:
    """The bundled fleet at its end."""
    with opened_fleet(FleetOptions(on="federation")) as fleet:
        yield fleet


def pod_in(opened: OpenedFleet, cluster: str) -> str:
    assert opened.members is not None
    return str(opened.members[cluster].store.list(POD).records[0].name)


def test_a_pod_is_explained_by_its_workload_and_by_its_own_cluster(opened: OpenedFleet) -> None:
    pod = pod_in(opened, "east")
    found = json.loads(called("explain", f"pod/default/{pod}", "-o", "json").stdout)
    assert (found["pod_cluster"], found["object"]) == ("east", "Deployment default/search")
    assert [each["cluster"] for each in found["clusters"]] == ["east", "lab", "west"]
    assert found["pod"]["state"] == "bound"


def test_the_table_ends_with_the_node_of_the_pod(opened: OpenedFleet) -> None:
    done = called("explain", pod_in(opened, "west"))
    assert "its share is" in done.stdout
    assert "has the best score" in done.stdout


@pytest.mark.parametrize("name", ["moon", "pod/moon", "pod/shop/moon"])
def test_a_name_of_no_object_and_no_pod_is_refused(name: str) -> None:
    done = called("explain", name)
    assert done.exit_code == 6
    assert "no pod of a member" in done.stderr


def test_members_that_cannot_be_read_are_named(opened: OpenedFleet) -> None:
    assert opened.members is not None
    opened.members["west"].served.set_availability(ServerAvailability.SILENT)
    with searched_pods(opened, "moon", "") as search:
        assert search.unread.keys() == {"west"}
    opened.members["west"].served.set_availability(ServerAvailability.ANSWERS)


def test_a_pod_of_one_cluster_is_not_found_in_another(opened: OpenedFleet) -> None:
    done = called("explain", pod_in(opened, "east"), "west")
    assert done.exit_code == 6


HOOKED = """
federation:
  clusters: [{name: east}, {name: west}]
  seconds: 1
  objects:
    - apiVersion: core.kubeadmiral.io/v1alpha1
      kind: SchedulerPluginWebhookConfiguration
      metadata: {name: hook}
      spec: {payloadVersions: [v1alpha1], urlPrefix: "http://127.0.0.1:9", filterPath: /filter}
    - apiVersion: core.kubeadmiral.io/v1alpha1
      kind: SchedulingProfile
      metadata: {name: hooked}
      spec: {plugins: {filter: {enabled: [{type: Webhook, name: hook}]}}}
    - apiVersion: core.kubeadmiral.io/v1alpha1
      kind: PropagationPolicy
      metadata: {name: spread, namespace: default}
      spec: {schedulingMode: Divide, schedulingProfile: hooked}
"""


@pytest.fixture
def hooked(tmp_path: Path) -> str:
    """A fleet whose policy has a profile with a webhook, and a manifest beside it."""
    manifest = tmp_path / "huge.yaml"
    manifest.write_text(POLICY.replace("replicas: 90", "replicas: 2").replace("NAME", "spread"))
    file = tmp_path / "fleet.yaml"
    objects = yaml.safe_load(HOOKED)
    objects["federation"]["objects"].append(
        {**yaml.safe_load(manifest.read_text()), "apiVersion": "apps/v1"}
    )
    file.write_text(yaml.safe_dump(objects))
    return str(file)


def only_west(_: object, calls: Sequence[WebhookCall]) -> list[WebhookAnswer]:
    clusters = [json.loads(each.body)["cluster"]["metadata"]["name"] for each in calls]
    return [WebhookAnswer(json.dumps({"selected": x == "west"}).encode()) for x in clusters]


def test_a_plan_names_a_webhook_that_does_not_answer(hooked: str, tmp_path: Path) -> None:
    done = called("plan", str(tmp_path / "huge.yaml"), on=hooked)
    assert done.exit_code == 3
    assert "webhook/hook" in done.stdout


def test_an_explanation_leaves_out_a_webhook_that_does_not_answer(hooked: str) -> None:
    done = called("explain", "huge", on=hooked)
    assert done.exit_code == 0
    assert "webhook/hook: " in done.stderr
    assert "its plugins are left out" in done.stderr


def test_webhooks_that_answer_decide(
    hooked: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LimitedWebhooks, "send", only_west)
    assert "west=2" in called("plan", str(tmp_path / "huge.yaml"), on=hooked).stdout
    found = json.loads(called("explain", "huge", "-o", "json", on=hooked).stdout)["clusters"]
    assert [each["why"] for each in found] == [
        "the filter webhook/hook rejects it",
        "its share is 2",
    ]


def test_a_call_waits_a_limited_time(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[float] = []

    def send(_: object, calls: Sequence[WebhookCall]) -> list[WebhookAnswer]:
        sent.extend(each.timeout_s for each in calls)
        return [WebhookAnswer() for _ in calls]

    monkeypatch.setattr(HttpWebhookClient, "send", send)
    with limited_webhooks() as client:
        client.send([WebhookCall("http://hook", b"", 60.0), WebhookCall("http://hook", b"", 1.0)])
    assert sent == [5.0, 1.0]
