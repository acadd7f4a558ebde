"""Values as internal Go structs: names, order, nil values, and differences between two."""

from stretto.api.schema.internals import internal_difference, internal_form


def test_a_struct_has_all_its_fields_in_the_order_of_go() -> None:
    found = internal_form("core.HTTPGetAction", {"port": "web", "path": "/"})
    assert list(found.items()) == [
        ("Path", "/"),
        ("Port", "web"),
        ("Host", ""),
        ("Scheme", ""),
        ("HTTPHeaders", None),
    ]


def test_metadata_keep_their_names_in_json() -> None:
    template = {"metadata": {"name": "a", "labels": {"z": "1", "b": "2"}}}
    found = internal_form("core.PodTemplateSpec", template)
    assert list(found) == ["name", "labels", "Spec"]
    assert list(found["labels"]) == ["b", "z"]


def test_the_security_context_of_a_pod_contains_its_namespaces() -> None:
    found = internal_form("core.PodSpec", {"hostPID": True, "serviceAccount": "old"})
    assert found["SecurityContext"]["HostPID"] is True
    assert found["ServiceAccountName"] == "old"


def test_an_empty_list_differs_from_an_absent_one() -> None:
    assert internal_form("core.ExecAction", {"command": []}) == {"Command": []}
    assert internal_form("core.ExecAction", {}) == {"Command": None}


def test_a_difference_consists_of_the_changed_lines_and_their_context() -> None:
    old, new = {"name": "a"}, {"name": "a", "readOnly": True, "mountPath": "<x>"}
    assert internal_difference("core.VolumeMount", old, new) == (
        "@@ -1,8 +1,8 @@\n"
        " {\n"
        '  "Name": "a",\n'
        '- "ReadOnly": false,\n'
        '+ "ReadOnly": true,\n'
        '  "RecursiveReadOnly": null,\n'
        '- "MountPath": "",\n'
        '+ "MountPath": "\\u003cx\\u003e",\n'
        '  "SubPath": "",\n'
        '  "MountPropagation": null,\n'
        '  "SubPathExpr": ""\n'
    )


def test_the_difference_of_large_values_is_not_shown() -> None:
    old, new = ({"mountPath": letter * 20_000} for letter in "ab")
    assert "too large" in internal_difference("core.VolumeMount", old, new)


def test_the_difference_of_many_lines_is_not_shown() -> None:
    old, new = (
        {"containers": [{"env": [{"name": name, "value": value} for name in map(str, range(200))]}]}
        for value in "ab"
    )
    assert "too large" in internal_difference("core.PodSpec", old, new)
