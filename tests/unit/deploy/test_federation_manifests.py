"""The manifests of a federation's controllers fit the command line, and their rights are narrow."""

from pathlib import Path
from typing import Any

import pytest

from stretto.api.edit.yaml_text import load_documents
from stretto.cli.commands.federation.run import run
from stretto.federation.objects.defaults import default_types, further_types

DEPLOY = Path(__file__).resolve().parents[3] / "deploy" / "federation"


def objects(name: str) -> list[dict[str, Any]]:
    text = (DEPLOY / name).read_text(encoding="utf-8")
    return [each for _, each in load_documents(text, name) if each]


def rules() -> list[dict[str, Any]]:
    return [rule for each in objects("rbac.yaml") for rule in each.get("rules", ())]


@pytest.mark.parametrize("name", ["controllers.yaml", "shards.yaml"])
def test_the_arguments_are_options_of_the_verb(name: str) -> None:
    pod = objects(name)[0]["spec"]["template"]["spec"]
    first, second, *rest = pod["containers"][0]["args"]
    assert (first, second) == ("federation", "run")
    assert run.make_context("run", rest).params["lease"].startswith("kube-admiral-system/")


def test_no_right_covers_everything() -> None:
    for rule in rules():
        assert "*" not in [*rule["apiGroups"], *rule["resources"], *rule["verbs"]]


def test_secrets_are_readable_in_the_system_namespace_only() -> None:
    holders = [
        (each["kind"], each["metadata"].get("namespace"))
        for each in objects("rbac.yaml")
        if any("secrets" in rule["resources"] for rule in each.get("rules", ()))
    ]
    assert holders == [("Role", "kube-admiral-system")]


def test_the_configured_kinds_of_a_new_host_are_permitted() -> None:
    permitted = {
        (group, resource)
        for rule in rules()
        if "update" in rule["verbs"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }
    sources = [each["spec"]["sourceType"] for each in default_types()]
    assert {(each["group"], each["pluralName"]) for each in sources} <= permitted


def test_the_further_kinds_are_those_of_the_product_with_their_rights() -> None:
    found = objects("further-kinds.yaml")
    configs = [each for each in found if each["kind"] == "FederatedTypeConfig"]
    kept = [{key: each[key] for key in ("metadata", "spec")} for each in configs]
    assert kept == list(further_types())
    permitted = {name for rule in found[0]["rules"] for name in rule["resources"]}
    assert {each["spec"]["sourceType"]["pluralName"] for each in kept} <= permitted


def test_a_kind_that_the_host_does_not_serve_may_be_checked() -> None:
    assert any(rule["resources"] == ["pods"] and rule["verbs"] == ["list"] for rule in rules())
