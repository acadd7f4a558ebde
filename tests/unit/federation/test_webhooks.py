"""Scheduling profiles whose plugins run on another server."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from stretto.api.kinds.federation import SCHEDULING_PROFILE, WEBHOOK_CONFIGURATION
from stretto.api.wire.kinds import DEPLOYMENT
from stretto.federation.settings import KUBEADMIRAL, FederationSettings
from stretto.sim.fleet.parts import FleetParts
from stretto.stores.store import Patch
from stretto.stores.webhooks import WebhookAnswer, WebhookCall
from tests.support.federation_world import FederationWorld

Fields = dict[str, Any]


class ScriptedServer:
    """Answers each path by a function of the request."""

    def __init__(self, **answers: Callable[[Fields], Any]) -> None:
        self.answers = answers
        self.calls: list[tuple[str, Fields]] = []

    def send(self, calls: Sequence[WebhookCall]) -> Sequence[WebhookAnswer]:
        return [self.answer(each) for each in calls]

    def answer(self, call: WebhookCall) -> WebhookAnswer:
        path, request = call.url.rpartition("/")[2], json.loads(call.body)
        self.calls.append((path, request))
        found = self.answers[path](request)
        if isinstance(found, str):
            return WebhookAnswer(problem=found)
        return WebhookAnswer(json.dumps(found).encode())


def name_of(request: Fields) -> str:
    return str(request["cluster"]["metadata"]["name"])


def world_with(
    server: ScriptedServer,
    settings: FederationSettings = FederationSettings(),  # noqa: B008
    versions: Sequence[str] = ("v1alpha1",),
) -> FederationWorld:
    world = FederationWorld(settings, FleetParts(webhooks=server))
    paths = {f"{stage}Path": f"/{stage}" for stage in server.answers}
    spec = {"payloadVersions": versions, "urlPrefix": "http://hook", "httpTimeout": "2s", **paths}
    world.create(WEBHOOK_CONFIGURATION.kind, "hook", spec=spec)
    enabled = {"enabled": [{"type": "Webhook", "name": "hook"}]}
    plugins = dict.fromkeys(server.answers, enabled)
    world.create(SCHEDULING_PROFILE.kind, "hooked", spec={"plugins": plugins})
    world.policy(schedulingProfile="hooked")
    return world


def scale(world: FederationWorld, replicas: int) -> None:
    world.host.patch(DEPLOYMENT, [Patch("default", "web", {"spec": {"replicas": replicas}})])
    world.run()


def test_a_webhook_excludes_clusters() -> None:
    server = ScriptedServer(filter=lambda request: {"selected": name_of(request) != "beta"})
    world = world_with(server)
    world.deployment(6)
    world.run()
    assert world.placed() == {"alpha": 3, "gamma": 3}


@pytest.mark.parametrize(
    ("stage", "answer"), [("score", {"score": None, "error": None}), ("score", None)]
)
def test_null_members_of_an_answer_are_absent(stage: str, answer: object) -> None:
    world = world_with(ScriptedServer(**{stage: lambda _: answer}))
    world.deployment(3)
    world.run()
    assert world.placed() == {"alpha": 1, "beta": 1, "gamma": 1}


def test_a_selection_of_null_selects_nothing() -> None:
    world = world_with(ScriptedServer(select=lambda _: {"selectedClusterNames": None}))
    world.deployment(3)
    world.run()
    condition = world.condition("Scheduled")
    assert condition is not None
    assert condition[1] == "NoClusterSelected"


def scaled_under_an_empty_selection(settings: FederationSettings) -> FederationWorld:
    """A Deployment that was placed before its webhook selected no cluster."""
    answers: list[list[str]] = [["alpha", "beta"]]
    world = world_with(
        ScriptedServer(select=lambda _: {"selectedClusterNames": answers[-1]}), settings
    )
    world.deployment(4)
    world.run()
    answers.append([])
    scale(world, 6)
    return world


def test_an_empty_selection_keeps_the_last_placement_and_a_condition_states_why() -> None:
    world = scaled_under_an_empty_selection(FederationSettings())
    assert world.placed() == {"alpha": 2, "beta": 2}
    assert "the select plugins chose no cluster" in str(world.condition("Scheduled"))


def test_an_empty_selection_deletes_the_object_under_the_settings_of_kubeadmiral() -> None:
    assert scaled_under_an_empty_selection(KUBEADMIRAL).placed() == {}


@pytest.mark.parametrize("settings", [FederationSettings(), KUBEADMIRAL])
def test_a_selection_that_is_no_answer_keeps_the_last_placement(
    settings: FederationSettings,
) -> None:
    answers: list[Any] = [{"selectedClusterNames": ["alpha"]}]
    world = world_with(ScriptedServer(select=lambda _: answers[-1]), settings)
    world.deployment(4)
    world.run()
    answers.append("no answer within 2 s")
    scale(world, 6)
    assert world.placed() == {"alpha": 4}


def test_a_webhook_reads_the_workload_and_the_cluster() -> None:
    server = ScriptedServer(filter=lambda _: {"selected": True})
    world = world_with(server)
    world.deployment(6)
    world.run()
    unit, cluster = server.calls[0][1]["schedulingUnit"], server.calls[0][1]["cluster"]
    assert (unit["name"], unit["desiredReplicas"], unit["currentClusters"]) == ("web", 6, [])
    assert unit["resourceRequest"]["cpu"] == "100m"
    assert cluster["status"]["resources"]["allocatable"]["cpu"] == "8"


def test_a_webhook_scores_and_another_stage_selects() -> None:
    server = ScriptedServer(
        score=lambda request: {"score": {"alpha": 1, "beta": 50, "gamma": 3}[name_of(request)]},
        select=lambda request: {
            "selectedClusterNames": [request["clusterScores"][0]["cluster"]["metadata"]["name"]]
        },
    )
    world = world_with(server)
    world.deployment(6)
    world.run()
    assert world.placed() == {"beta": 6}


def test_a_webhook_divides_the_replicas() -> None:
    server = ScriptedServer(replicas=lambda _: {"replicas": {"alpha": 1, "gamma": 4}})
    world = world_with(server)
    world.deployment(6)
    world.run()
    assert world.placed() == {"alpha": 1, "gamma": 4}
    assert "1 of 6 replicas" in str(world.condition("Scheduled"))


def test_a_profile_names_a_division() -> None:
    world = FederationWorld()
    enabled = {"replicas": {"enabled": [{"name": "PreferenceBinPack"}]}}
    world.create(SCHEDULING_PROFILE.kind, "packed", spec={"plugins": enabled})
    world.policy(schedulingProfile="packed")
    world.deployment(6)
    world.run()
    assert list((world.placed()).values()) == [6]


def test_a_profile_with_two_divisions_is_refused() -> None:
    world = FederationWorld()
    both = [{"name": "PreferenceBinPack"}, {"name": "ClusterCapacityWeight"}]
    world.create(SCHEDULING_PROFILE.kind, "two", spec={"plugins": {"replicas": {"enabled": both}}})
    world.policy(schedulingProfile="two")
    world.deployment(6)
    world.run()
    assert world.placed() == {}
    assert "at most one plugin" in str(world.condition("Accepted") or world.condition("Scheduled"))


@pytest.mark.parametrize(
    ("stage", "answer"),
    [
        ("replicas", {"replicas": {"nowhere": 3}}),
        ("replicas", {"replicas": {"alpha": 99}}),
        ("replicas", {"replicas": {"alpha": -1}}),
        ("filter", "HTTP status 500: boom"),
        ("filter", {"selected": True, "error": "overloaded"}),
        ("score", {"score": "many"}),
        ("select", {"selectedClusterNames": ["nowhere"]}),
    ],
)
def test_a_webhook_that_fails_keeps_the_placement(stage: str, answer: Any) -> None:
    equal = dict.fromkeys(("alpha", "beta", "gamma"), 2)
    good = {
        "filter": {"selected": True},
        "score": {"score": 1},
        "replicas": {"replicas": equal},
    }
    answers = [good.get(stage, {"selectedClusterNames": ["alpha", "beta", "gamma"]}), answer]
    server = ScriptedServer(**{stage: lambda _: answers[0]})
    world = world_with(server)
    world.deployment(6)
    world.run()
    answers.pop(0)
    scale(world, 9)
    condition = world.condition("Scheduled")
    assert world.placed() == {"alpha": 2, "beta": 2, "gamma": 2}
    assert condition is not None
    assert condition[:2] == ("False", "WebhookFailed")


def test_the_decision_is_repeated_until_the_webhook_answers() -> None:
    answers: list[Any] = ["no answer within 2 s", {"selected": True}]
    server = ScriptedServer(filter=lambda _: answers[0])
    world = world_with(server)
    world.deployment(6)
    world.run()
    answers.pop(0)
    world.run(60.0)
    assert world.placed() == {"alpha": 2, "beta": 2, "gamma": 2}
    assert world.condition("Scheduled") == ("True", "", "")


def test_kubeadmirals_profile_takes_a_failing_filter_for_a_rejection() -> None:
    answers: list[Any] = [{"selected": True}, "HTTP status 500: boom"]
    world = world_with(ScriptedServer(filter=lambda _: answers[0]), KUBEADMIRAL)
    world.deployment(6)
    world.run()
    answers.pop(0)
    scale(world, 9)
    assert world.placed() == {}


def test_a_server_that_supports_it_receives_all_clusters_in_one_call() -> None:
    server = ScriptedServer(
        filter=lambda request: {
            "selected": {each["metadata"]["name"]: True for each in request["clusters"][:2]}
        },
        score=lambda request: {"scores": {"alpha": len(request["clusters"])}},
    )
    world = world_with(server, versions=("v1alpha1", "v1alpha1-batch"))
    world.deployment(6)
    world.run()
    assert world.placed() == {"alpha": 3, "beta": 3}
    assert [path for path, _ in server.calls] == ["filter", "score"]


def test_an_unknown_payload_version_is_reported() -> None:
    world = world_with(ScriptedServer(filter=lambda _: {"selected": True}), versions=("v9",))
    world.deployment(6)
    world.run()
    condition = world.condition("Accepted")
    assert condition is not None
    assert "payloadVersions" in condition[2]


def test_a_webhook_that_does_not_exist_is_reported_until_it_does() -> None:
    world = FederationWorld(parts=FleetParts(webhooks=ScriptedServer()))
    plugins = {"filter": {"enabled": [{"type": "Webhook", "name": "hook"}]}}
    world.create(SCHEDULING_PROFILE.kind, "hooked", spec={"plugins": plugins})
    world.policy(schedulingProfile="hooked")
    world.deployment(6)
    world.run()
    condition = world.condition("Accepted")
    assert condition is not None
    assert condition[1] == "WebhookMissing"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"urlPrefix": ""}, "webhook/hook: spec.urlPrefix: got nothing, expected an address"),
        ({"urlPrefix": "hook:80"}, "spec.urlPrefix: got 'hook:80'"),
        ({"scorePath": None}, "spec.scorePath: got nothing, expected a path"),
    ],
)
def test_a_webhook_that_cannot_be_called_states_which_field_is_wrong(
    change: Fields, said: str
) -> None:
    world = world_with(ScriptedServer(score=lambda _: {"score": 1}))
    world.host.patch(WEBHOOK_CONFIGURATION.kind, [Patch("", "hook", {"spec": change})])
    world.deployment(3)
    world.run()
    condition = world.condition("Accepted")
    assert condition is not None
    assert said in condition[2]


@pytest.mark.parametrize(
    ("plugins", "said", "clusters"),
    [
        ({"filter": {"disabled": [{"name": "TaintTolertion"}]}}, "did you mean TaintToler", 3),
        ({"filter": {"enabled": [{"name": "x", "type": "webhook"}]}}, "got 'webhook', expe", 0),
        ({"score": {"enabled": [{"name": "ClusterAffinity", "wait": -1}]}}, "wait: got -1", 0),
    ],
)
def test_a_profile_states_which_plugin_is_wrong(plugins: Fields, said: str, clusters: int) -> None:
    world = FederationWorld()
    world.create(SCHEDULING_PROFILE.kind, "own", spec={"plugins": plugins})
    world.policy(schedulingProfile="own")
    world.deployment(3)
    world.run()
    condition = world.condition("Accepted")
    assert condition is not None
    assert said in condition[2]
    assert len(world.placed()) == clusters
