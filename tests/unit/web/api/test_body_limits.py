"""Bodies of many values are refused before they are decoded; long texts are not."""

import pytest

from stretto.api.edit import yaml_text
from stretto.web.api.objects import json_text
from tests.unit.web.api.conftest import Send

MAPS = "/api/v1/namespaces/default/configmaps"


def test_a_body_of_very_many_values_is_refused_before_it_is_decoded(
    send: Send, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_text, "msgspec", None)  # a decoder that must not be reached
    data = {f"k{number}": "v" for number in range(60_000)}
    answer = send("POST", MAPS, {"metadata": {"name": "m"}, "data": data})
    assert (answer.status, answer.item["reason"]) == (413, "RequestEntityTooLarge")


def test_a_long_text_with_commas_has_few_values(send: Send) -> None:
    table = {"table": "1,2,3\n" * 50_000}
    assert send("POST", MAPS, {"metadata": {"name": "m"}, "data": table}).status == 201


def test_an_applied_json_text_is_not_read_as_yaml(
    send: Send, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(yaml_text, "load_documents", None)  # a reader that must not be reached
    item = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}}
    answer = send("PATCH", f"{MAPS}/m?fieldManager=t", item, "apply-patch+yaml")
    assert answer.status == 201
