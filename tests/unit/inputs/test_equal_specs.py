"""Pods with equal specs are checked and admitted once, with the answer of each pod alone."""

import warnings
from pathlib import Path
from typing import Any

import msgspec
import pytest

from stretto.base.errors import InputError
from stretto.inputs.objects import equal_specs
from stretto.inputs.objects.admission import InputContext
from stretto.inputs.objects.checked import ObjectChecks
from stretto.inputs.objects.equal_specs import UnknownFieldWarning
from stretto.inputs.objects.manifests import ManifestOptions, load_objects

Pod = dict[str, Any]


def pod(name: str, **metadata: Any) -> Pod:
    spec = {"containers": [{"name": "c", "image": "work", "resources": {"limits": {"cpu": "1"}}}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, **metadata}, "spec": spec}


def loaded(folder: Path, *objects: Pod, lenient: bool = False) -> list[Pod]:
    path = folder / "all.yaml"
    path.write_text("\n---\n".join(msgspec.json.encode(each).decode() for each in objects))
    options = ManifestOptions(lenient=lenient)
    return [msgspec.json.decode(each.body) for each in load_objects([path], options)]


STORED = {"resourceVersion": "7", "uid": "u-1", "creationTimestamp": "2026-01-01T00:00:00Z"}
QUOTED = {"note": '{"x":1,"spec":{}}', "spec": "x"}


@pytest.mark.parametrize(
    "others",
    [
        [pod("b"), pod("c", labels={"app": "web"})],
        [pod("b", **STORED), pod("c")],
        [pod("b", annotations=QUOTED), pod("c", annotations=QUOTED)],
        [pod("b", namespace="lab"), pod("c", ownerReferences=[])],
        [{**pod("b"), "status": {"phase": "Running"}}, pod("c")],
    ],
)
def test_pods_with_equal_specs_are_held_as_each_alone(tmp_path: Path, others: list[Pod]) -> None:
    objects = [pod("a"), *others]
    assert loaded(tmp_path, *objects) == [loaded(tmp_path, each)[0] for each in objects]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (pod("b", labels={"app": "no good!"}), "pod b: metadata.labels.app"),
        (pod("b", lables={}), "pod b: metadata.lables: unknown field 'lables'"),
        (pod("B"), "metadata.name: got 'B'"),
        ({"apiVersion": "v1", "kind": "Pod", "sepc": 1, **pod("b")}, "unknown field 'sepc'"),
        (pod("b", annotations={"kubernetes.io/config.mirror": "x"}), "must set spec.nodeName"),
        (pod("b", labels=3), "metadata.labels"),
    ],
)
def test_the_metadata_of_each_pod_are_checked(tmp_path: Path, wrong: Pod, message: str) -> None:
    with pytest.raises(InputError) as alone:
        loaded(tmp_path, wrong)
    with pytest.raises(InputError) as behind:
        loaded(tmp_path, pod("a"), wrong)
    assert message in str(behind.value)
    assert str(alone.value).partition(": ")[2] == str(behind.value).partition(": ")[2]


def test_a_number_that_is_too_large_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"pod b: metadata.generation: got .*, expected at most"):
        loaded(tmp_path, pod("a"), pod("b", generation=2**70))


def test_an_unknown_field_of_a_spec_is_warned_of_for_each_pod(tmp_path: Path) -> None:
    objects = [{**pod(name), "spec": {**pod(name)["spec"], "nodeNmae": "x"}} for name in "abc"]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        loaded(tmp_path, *objects, lenient=True)
    assert sum(each.category is UnknownFieldWarning for each in caught) == 3


def test_a_quota_counts_every_pod(tmp_path: Path) -> None:
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "q", "namespace": "default"},
        "spec": {"hard": {"pods": "2"}},
    }
    path = tmp_path / "all.yaml"
    objects = [quota, *map(pod, "abcd")]
    path.write_text("\n---\n".join(msgspec.json.encode(each).decode() for each in objects))
    refused: list[str] = []
    found = load_objects([path], context=InputContext((), refused))
    assert (sum(each.kind.kind == "Pod" for each in found), len(refused)) == (2, 2)


def test_a_thousand_equal_pods_have_one_full_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[object] = []
    full = equal_specs.validate
    monkeypatch.setattr(equal_specs, "validate", lambda item: (calls.append(item), full(item)))
    assert len(loaded(tmp_path, *(pod(f"p-{n}") for n in range(1000)))) == 1000
    assert len(calls) == 1


def test_a_full_table_of_specs_is_cleared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(equal_specs, "SPECS", 1)
    objects = [{**pod(f"p-{n}"), "status": {"phase": f"{n % 2}"}} for n in range(4)]
    assert len(loaded(tmp_path, *objects)) == 4


def test_every_object_is_counted_with_its_errors(tmp_path: Path) -> None:
    path = tmp_path / "all.yaml"
    objects = [pod("a"), pod("b", labels={"app": "no good!"}), pod("c")]
    path.write_text("\n---\n".join(msgspec.json.encode(each).decode() for each in objects))
    checks = ObjectChecks()
    load_objects([path], context=InputContext((), [], checks))
    assert [(each.object, bool(each.errors)) for each in checks.objects()] == [
        ("Pod default/a", False),
        ("Pod default/b", True),
        ("Pod default/c", False),
    ]


def test_a_bare_word_that_yaml_reads_as_a_boolean_is_to_be_quoted(tmp_path: Path) -> None:
    path = tmp_path / "space.yaml"
    path.write_text("apiVersion: v1\nkind: Namespace\nmetadata: {name: y}\n")
    with pytest.raises(InputError, match="got True, expected a text; quote it: YAML reads y, n"):
        load_objects([path])
