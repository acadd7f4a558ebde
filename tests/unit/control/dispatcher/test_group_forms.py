"""PodGroups of scheduler-plugins and Volcano form gangs where the store has their kinds."""

from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiohttp import web

from stretto.api.kinds.table import kind_of
from stretto.api.types.workload_groups import FORMS
from stretto.api.wire.kinds import PLUGINS_POD_GROUP, VOLCANO_POD_GROUP, Kind
from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.control.reporting.reporter import ReportConfig
from stretto.daemons.group_forms import with_served_groups
from stretto.framework.profile.profile import load_profile
from stretto.plane.config import PlaneConfig
from stretto.plane.copy import PlaneCopy, SchedulingRules, StoreState
from stretto.state.ingest.queues import names_unit
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.kube.paths import object_path, status_path
from stretto.testing import Harness, make_node, make_pod
from tests.unit.stores.kube_server import Server

EVERY = tuple(FORMS)
KEYS = [(kind, key) for kind, form in FORMS.items() for key in form.keys]


def foreign_group(kind: Kind, name: str, min_member: int) -> bytes:
    return msgspec.json.encode(
        {
            "apiVersion": kind.api_version,
            "kind": kind.kind,
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"minMember": min_member, "minResources": {"cpu": "2"}},
        }
    )


def cluster(*forms: Kind, cpu: str = "2", **more: Any) -> Harness:
    config = {"tier": "numpy", "group_forms": forms, **more}
    return Harness(nodes=[make_node("n", cpu=cpu)], config=config)


@pytest.mark.parametrize(("kind", "key"), KEYS)
@pytest.mark.parametrize("part", ["labels", "annotations"])
def test_pods_that_name_a_foreign_group_start_together(kind: Kind, key: str, part: str) -> None:
    harness = cluster(*EVERY)
    harness.create(kind, foreign_group(kind, "g", 3))
    pods = [make_pod(name, cpu="1", **{part: {key: "g"}}) for name in "abc"]
    assert harness.placed(*pods[:2]) == {"a": "", "b": ""}
    assert harness.placed(pods[2]) == {"a": "", "b": "", "c": ""}
    harness.create_nodes(make_node("m", cpu="1"))
    harness.settle(20)
    assert all(harness.placements().values())


@pytest.mark.parametrize(
    ("notes", "named"),
    [
        *(({key: "g"}, True) for _, key in KEYS),
        ({"godel.bytedance.com/pod-group-name": "g"}, True),
        ({"stretto.dev/queue": "q"}, True),
        ({"kueue.x-k8s.io/pod-group-name": "g"}, False),
        ({"example.com/group-name": "g"}, False),
        ({}, False),
    ],
)
def test_pods_on_nodes_are_announced_if_they_name_a_group_or_a_queue(
    notes: dict[str, str], named: bool
) -> None:
    assert names_unit(make_pod("p", annotations=notes)) == named


def test_a_pod_waits_for_its_foreign_group() -> None:
    harness = cluster(*EVERY)
    pod = make_pod("a", cpu="1", labels={"scheduling.x-k8s.io/pod-group": "g"})
    assert harness.placed(pod) == {"a": ""}
    harness.create(PLUGINS_POD_GROUP, foreign_group(PLUGINS_POD_GROUP, "g", 1))
    harness.settle()
    assert harness.node_of("a") == "n"


def test_groups_of_one_name_and_different_kinds_are_different() -> None:
    harness = cluster(*EVERY)
    harness.create(PLUGINS_POD_GROUP, foreign_group(PLUGINS_POD_GROUP, "g", 1))
    harness.create(VOLCANO_POD_GROUP, foreign_group(VOLCANO_POD_GROUP, "g", 2))
    plugins = make_pod("a", labels={"scheduling.x-k8s.io/pod-group": "g"})
    volcano = make_pod("b", annotations={"scheduling.k8s.io/group-name": "g"})
    assert harness.placed(plugins, volcano) == {"a": "n", "b": ""}


def test_without_the_kind_the_labels_are_ignored() -> None:
    pod = make_pod("a", labels={"scheduling.x-k8s.io/pod-group": "g"})
    assert cluster().placed(pod) == {"a": "n"}


def test_a_daemon_reads_the_groups_whose_definitions_exist() -> None:
    store = MemoryStore(ManualClock(), Rng(0))
    config = PlaneConfig(load_profile("default"))
    assert with_served_groups(config, store).group_forms == ()
    definition = {"metadata": {"name": VOLCANO_POD_GROUP.resource}}
    crd = kind_of("apiextensions.k8s.io/v1", "CustomResourceDefinition")
    store.create(crd, [msgspec.json.encode(definition)])
    assert with_served_groups(config, store).group_forms == (VOLCANO_POD_GROUP,)


@pytest.mark.parametrize(("code", "forms"), [(200, EVERY), (404, ()), (403, ())])
def test_the_definitions_are_read_from_an_api_server(
    tmp_path: Path, code: int, forms: tuple[Kind, ...]
) -> None:
    with closing(Server(tmp_path)) as server:
        found = {"metadata": {"name": "x", "uid": "u", "resourceVersion": "1"}}
        server.rules = [lambda _: web.json_response(found, status=code)]
        config = with_served_groups(PlaneConfig(load_profile("default")), server.store())
    assert config.group_forms == forms
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/podgroups."
    assert [each.removeprefix(f"GET {path}") for each in server.requests] == [
        f.group for f in EVERY
    ]


def test_a_copy_of_a_cluster_reads_the_groups_of_the_cluster() -> None:
    harness = cluster(*EVERY, cpu="1")
    harness.create(PLUGINS_POD_GROUP, foreign_group(PLUGINS_POD_GROUP, "g", 2))
    labels = {"scheduling.x-k8s.io/pod-group": "g"}
    harness.placed(*(make_pod(name, cpu="1", labels=labels) for name in "ab"))
    kinds = ("v1", "Node"), ("v1", "Pod"), ("scheduling.x-k8s.io/v1alpha1", "PodGroup")
    records = [each for kind in kinds for each in harness.store.list(kind_of(*kind)).records]
    copy = PlaneCopy(StoreState("test", records), SchedulingRules("default", "numpy"))
    copy.settle()
    assert [each.node for each in copy.store.list(kind_of("v1", "Pod")).records] == ["", ""]


def volcano_status(harness: Harness) -> tuple[str, int, str]:
    """Phase, running pods and type of the condition of the group ``g``."""
    record = harness.store.get(VOLCANO_POD_GROUP, "default", "g")
    assert record is not None
    status = msgspec.json.decode(record.body)["status"]
    return status["phase"], status["running"], status["conditions"][0]["type"]


def test_a_group_of_volcano_gets_the_phases_for_which_its_controller_waits() -> None:
    harness = cluster(VOLCANO_POD_GROUP, report=ReportConfig(events=False))
    harness.create(VOLCANO_POD_GROUP, foreign_group(VOLCANO_POD_GROUP, "g", 2))
    harness.settle(3)
    before = volcano_status(harness)
    notes = {"scheduling.k8s.io/group-name": "g"}
    harness.placed(*(make_pod(name, cpu="1", annotations=notes) for name in "ab"))
    harness.settle(3)
    assert (before, volcano_status(harness)) == (
        ("Inqueue", 0, "Unschedulable"),
        ("Running", 2, "Scheduled"),
    )


def test_a_group_of_volcano_whose_pods_have_ended_keeps_its_phase() -> None:
    harness = cluster(VOLCANO_POD_GROUP, report=ReportConfig(events=False))
    body = msgspec.json.decode(foreign_group(VOLCANO_POD_GROUP, "g", 2))
    ended = {**body, "status": {"phase": "Completed", "running": 0}}
    harness.create(VOLCANO_POD_GROUP, msgspec.json.encode(ended))
    harness.settle(3)
    record = harness.store.get(VOLCANO_POD_GROUP, "default", "g")
    assert record is not None
    assert b"Completed" in record.body


@pytest.mark.parametrize(
    ("kind", "part"), [(PLUGINS_POD_GROUP, "/status"), (VOLCANO_POD_GROUP, "")]
)
def test_a_status_is_written_where_the_kind_has_it(kind: Kind, part: str) -> None:
    assert status_path(kind, "default", "g") == object_path(kind, "default", "g") + part
