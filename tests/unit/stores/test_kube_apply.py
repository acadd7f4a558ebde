"""Server-side apply: what a manager has created or updated counts as applied."""

from stretto.stores.kube.apply import with_applied

CREATED = {
    "manager": "ours",
    "operation": "Update",
    "apiVersion": "v1",
    "fieldsV1": {"f:data": {"f:a": {}}},
}
APPLIED = {**CREATED, "operation": "Apply", "fieldsV1": {"f:data": {"f:b": {}}}}
OTHER = {**CREATED, "manager": "kubectl-edit"}
STATUS = {**CREATED, "subresource": "status"}


def test_what_was_created_and_what_was_applied_become_one_entry() -> None:
    found = with_applied([CREATED, OTHER, APPLIED], "ours")
    assert found is not None
    assert OTHER in found
    (own,) = [each for each in found if each["manager"] == "ours"]
    assert (own["operation"], own["fieldsV1"]) == ("Apply", {"f:data": {"f:a": {}, "f:b": {}}})


def test_an_object_that_was_only_applied_stays_as_it_is() -> None:
    assert with_applied([APPLIED, OTHER, STATUS], "ours") is None


def test_a_field_that_one_entry_owns_whole_stays_owned_beside_its_members() -> None:
    whole = {**APPLIED, "fieldsV1": {"f:data": {}}}
    found = with_applied([CREATED, whole], "ours")
    assert found is not None
    assert found[0]["fieldsV1"] == {"f:data": {".": {}, "f:a": {}}}
