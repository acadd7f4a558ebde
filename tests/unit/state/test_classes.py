import json
from typing import Any

import numpy as np
import pytest

from stretto.api.types.heads import decode_pod_head
from stretto.base.errors import InputError
from stretto.state.classes import table as module
from stretto.state.classes.table import GPU, GPU_MILLI, GPU_MODELS, PORTS_ONLY, PodClasses
from stretto.state.rows.resources import CPU, MEMORY, MIB, PODS, ResourceColumns
from stretto.testing import make_pod
from tests.support.hand_fed_cluster import changed


def intern(classes: PodClasses, body: bytes) -> int:
    return classes.intern(decode_pod_head(body), body)


def a_pod(**spec: Any) -> bytes:
    return make_pod("p", spec=spec)


@pytest.fixture
def classes() -> PodClasses:
    return PodClasses(ResourceColumns())


def test_pods_that_request_the_same_are_one_class(classes: PodClasses) -> None:
    assert intern(classes, make_pod("a")) == intern(classes, make_pod("b", labels={"x": "y"}))


def test_what_a_class_requests_is_exact(classes: PodClasses) -> None:
    pod = classes[intern(classes, make_pod("a", cpu="1500m", memory="1Mi"))]
    assert (pod.requests, pod.ports, pod.devices) == (((CPU, 1500), (MEMORY, MIB)), (), ())


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"cpu": "1500m"}, {"cpu": "1.5"}),
        ({"memory": "1Gi"}, {"memory": "1024Mi"}),
        ({"memory": "1Gi"}, {"memory": "1073741824"}),
        ({"ports": [80, 81]}, {"ports": [81, 80]}),
        ({"resources": {"x.io/a": "0"}}, {}),
        ({"node": "n1"}, {"node": "n2"}),
        ({"owner": {"kind": "Job", "name": "j", "uid": "u"}}, {}),
        ({"namespace": "x"}, {"namespace": "y"}),
        ({"priority": 5}, {"priority": 7}),
    ],
)
def test_another_spelling_is_the_same_class(
    classes: PodClasses, one: dict[str, Any], other: dict[str, Any]
) -> None:
    assert intern(classes, make_pod("a", **one)) == intern(classes, make_pod("b", **other))


@pytest.mark.parametrize(
    "more",
    [
        {"cpu": "101m"},
        {"memory": "129Mi"},
        {"resources": {"x.io/a": "1"}},
        {"ports": [80]},
        {"gpus": 1},
        {"spec": {"nodeSelector": {"a": "b"}}},
        {"spec": {"tolerations": [{"operator": "Exists"}]}},
        {"spec": {"overhead": {"cpu": "1m"}}},
        {"spec": {"resources": {"requests": {"cpu": "7"}}}},
        {"spec": {"initContainers": [{"name": "i", "resources": {"requests": {"cpu": "9"}}}]}},
    ],
)
def test_another_preference_is_another_class(classes: PodClasses, more: dict[str, Any]) -> None:
    assert intern(classes, make_pod("a")) != intern(classes, make_pod("a", **more))


def test_what_is_a_pods_own_makes_no_class_however_it_is_found(classes: PodClasses) -> None:
    one = intern(classes, make_pod("a", priority=5, spec={"restartPolicy": "Never"}))
    classes._by_bytes.clear()
    assert intern(classes, make_pod("a", priority=7)) == one
    assert classes[one].spec.priority is None


def test_the_order_of_fields_does_not_matter(classes: PodClasses) -> None:
    terms = [{"key": "a", "operator": "Exists"}, {"operator": "Exists", "key": "a"}]
    ids = {intern(classes, a_pod(tolerations=[term])) for term in terms}
    assert len(ids) == 1


def test_a_sidecar_is_not_an_init_container(classes: PodClasses) -> None:
    init = {"name": "i", "resources": {"requests": {"cpu": "1"}}}
    sidecar = {**init, "restartPolicy": "Always"}
    ids = {intern(classes, a_pod(initContainers=[each])) for each in (init, sidecar)}
    assert len(ids) == 2


def test_the_hosts_network_makes_ports_matter(classes: PodClasses) -> None:
    ports = [{"name": "c", "ports": [{"containerPort": 80}]}]
    apart = intern(classes, a_pod(containers=ports))
    shared = intern(classes, a_pod(containers=ports, hostNetwork=True))
    assert (classes[apart].ports, len(classes[shared].ports)) == ((), 1)


def test_the_second_pod_of_a_template_is_not_decoded_again(
    classes: PodClasses, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = intern(classes, make_pod("a"))
    monkeypatch.setattr(module, "decode_spec", None)
    assert intern(classes, make_pod("b")) == found


def test_a_shared_body_is_found_without_its_head(classes: PodClasses) -> None:
    body = make_pod("a")
    assert classes.intern_shared(None, body) == intern(classes, body)
    assert classes.intern_shared(None, body) == intern(classes, body)


# ---------------------------------------------------------------- devices


def test_gpus_are_devices_and_no_amounts(classes: PodClasses) -> None:
    pod = classes[intern(classes, make_pod("a", gpus=2, cpu="1", memory="0"))]
    assert pod.requests == ((CPU, 1000),)
    assert [(each.kind, each.count, each.milli) for each in pod.devices] == [(GPU, 2, 1000)]


def test_shares_and_models_come_from_annotations(classes: PodClasses) -> None:
    pod = classes[intern(classes, make_pod("a", gpus=1, gpu_milli=300, gpu_models="B|A|"))]
    assert (pod.devices[0].milli, pod.devices[0].models) == (300, ("A", "B"))


def test_other_annotations_make_no_class(classes: PodClasses) -> None:
    noted = make_pod("a", gpus=1, annotations={"x": "y"})
    assert intern(classes, noted) == intern(classes, make_pod("a", gpus=1))


def test_zero_devices_are_no_request(classes: PodClasses) -> None:
    assert classes[intern(classes, make_pod("a", resources={GPU: "0"}))].devices == ()


@pytest.mark.parametrize("milli", ["0", "1001", "-1", "x", "", "\u00b2", "9" * 5000, "1.5", " 5"])
def test_a_share_that_is_none_is_refused_by_its_annotation(classes: PodClasses, milli: str) -> None:
    with pytest.raises(InputError, match=f"pod default/a, annotation {GPU_MILLI}"):
        intern(classes, make_pod("a", gpus=1, gpu_milli=milli))


def test_shares_of_several_devices_are_refused(classes: PodClasses) -> None:
    with pytest.raises(InputError, match="one device only"):
        intern(classes, make_pod("a", gpus=2, gpu_milli=500))


def test_more_devices_than_a_node_may_have_are_refused(classes: PodClasses) -> None:
    with pytest.raises(InputError, match="0 to 16 devices"):
        intern(classes, make_pod("a", gpus=17))


def test_annotations_of_the_wrong_type_are_refused(classes: PodClasses) -> None:
    body = changed(make_pod("a", gpus=1), metadata={"annotations": {GPU_MODELS: 5}})
    with pytest.raises(InputError):
        intern(classes, body)


# ---------------------------------------------------------------- refused


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({"tolerations": [{"key": 5}]}, r"pod default/p: spec\.tolerations\[0\]\.key"),
        ({"nodeSelector": {"a": 1}}, r"pod default/p: spec\.nodeSelector\.a"),
        ({"overhead": {"cpu": "x"}}, "overhead"),
        ({"containers": [{"resources": {"requests": {"cpu": "1x"}}}]}, r"requests.*cpu"),
    ],
)
def test_an_unreadable_spec_is_refused_with_its_path(
    classes: PodClasses, spec: dict[str, Any], path: str
) -> None:
    with pytest.raises(InputError, match=path):
        intern(classes, a_pod(**spec))


@pytest.mark.parametrize("amount", ["-1", "5E", "9E"])
def test_amounts_that_would_spoil_sums_are_refused(classes: PodClasses, amount: str) -> None:
    with pytest.raises(InputError, match="pod default/a, requests memory"):
        intern(classes, make_pod("a", memory=amount))


def test_of_a_refused_pod_nothing_is_kept(classes: PodClasses) -> None:
    for _ in range(2):
        with pytest.raises(InputError):
            intern(classes, make_pod("a", gpus=1, gpu_milli="x"))
    assert (len(classes), classes._by_bytes, classes._by_form) == (0, {}, {})


def test_a_pods_own_place_cannot_be_requested_twice(classes: PodClasses) -> None:
    found = intern(classes, make_pod("a", resources={"pods": "5"}))
    assert classes.requests_of(np.array([found], np.int32))[0, PODS] == 1
    assert PODS not in dict(classes[found].requests)


# ---------------------------------------------------------------- ids


def test_requests_hold_amounts_and_the_pods_own_place(classes: PodClasses) -> None:
    found = intern(classes, make_pod("a", cpu="2", memory="3"))
    requests = classes.requests_of(np.array([found, found], np.int32))
    assert requests[1, [CPU, MEMORY, PODS]].tolist() == [2000, 3, 1]


def test_ports_and_devices_make_a_class_special(classes: PodClasses) -> None:
    ids = [intern(classes, make_pod("a", **m)) for m in ({}, {"ports": [1]}, {"gpus": 1})]
    assert classes.special[ids].tolist() == [0, 1 | PORTS_ONLY, 1]


def test_many_names_of_resources_do_not_multiply_the_table(classes: PodClasses) -> None:
    for number in range(60):
        intern(classes, make_pod("a", resources={f"x.io/{number}": "1"}))
    assert classes._requests.size < 100 * 100


def test_the_table_grows_with_the_classes(classes: PodClasses) -> None:
    ids = [intern(classes, make_pod("a", cpu=f"{n}m")) for n in range(1, 301)]
    assert classes.requests_of(np.array(ids, np.int32))[:, CPU].tolist() == list(range(1, 301))
    assert len(classes.special) == len(classes._requests)


def test_requests_in_scan_steps_are_rounded_up(classes: PodClasses) -> None:
    found = intern(classes, make_pod("a", cpu="1", memory=str(MIB + 1)))
    assert classes.scaled_requests(found) == [(CPU, 1000), (MEMORY, 2)]


@pytest.fixture
def two_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CLASS_LIMIT", 2)


def left(classes: PodClasses, cpu: int) -> int:
    """A class whose only pod was deleted."""
    found = intern(classes, make_pod("a", cpu=f"{cpu}m"))
    classes.use(found)
    classes.release(found)
    return found


@pytest.mark.usefixtures("two_kept")
def test_beyond_the_limit_the_class_unused_for_longest_is_forgotten(classes: PodClasses) -> None:
    ids = [left(classes, cpu) for cpu in (1, 2, 1, 3)]
    left(classes, 4)
    assert ids[0] == ids[2]
    assert [classes.serial(each) > 0 for each in (ids[0], ids[1], ids[3])].count(False) == 1


@pytest.mark.usefixtures("two_kept")
def test_an_id_is_given_again_under_another_serial(classes: PodClasses) -> None:
    ids = [left(classes, cpu) for cpu in range(1, 4)]
    before = classes[ids[1]].serial
    again = intern(classes, make_pod("a", cpu="77m"))
    assert again == ids[0]
    assert classes.serial(again) > before


@pytest.mark.usefixtures("two_kept")
def test_a_dropped_class_is_compiled_again_when_it_returns(classes: PodClasses) -> None:
    first = left(classes, 1)
    serial = classes.serial(first)
    left(classes, 2), left(classes, 3)
    assert classes[intern(classes, make_pod("a", cpu="1m"))].serial > serial


@pytest.mark.usefixtures("two_kept")
def test_a_class_with_pods_is_never_forgotten(classes: PodClasses) -> None:
    kept = intern(classes, make_pod("a", cpu="1"))
    classes.use(kept, 2)
    classes.release(kept)
    for cpu in range(1, 20):
        left(classes, cpu)
    assert dict(classes[kept].requests)[CPU] == 1000


def test_a_forgotten_id_has_no_class(classes: PodClasses, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CLASS_LIMIT", 0)
    gone = left(classes, 1)
    with pytest.raises(KeyError):
        classes[gone]
    assert classes.serial(gone) == 0


def test_the_cache_of_bytes_is_bounded(
    classes: PodClasses, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BYTES_LIMIT", 3)
    monkeypatch.setattr(module, "SHARED_BODIES", 3)
    for number in range(20):
        classes.intern_shared(None, make_pod("a", cpu=f"{number}m"))
    assert len(classes._by_bytes) <= 3
    assert len(classes._by_body) <= 3


def test_deep_nesting_is_refused_and_not_fatal(classes: PodClasses) -> None:
    deep = "[" * 100_000 + "]" * 100_000
    body = json.dumps(json.loads(make_pod("a"))).replace('"main"', f'"main", "x": {deep}').encode()
    with pytest.raises(InputError, match="nested too deeply"):
        intern(classes, body)
