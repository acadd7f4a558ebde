"""Exchanges with kube-apiserver 1.36.3: status, message, refused fields and shown members."""

import json
import re
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from stretto.web.api.message import ApiRequest, ApiResponse
from stretto.web.api.server import ApiServer

LINES = Path(__file__).with_name("exchanges.jsonl").read_text().splitlines()
TOPICS = {
    topic: list(exchanges)
    for topic, exchanges in groupby(map(json.loads, LINES), key=lambda each: each["topic"])
}


def answered(server: ApiServer, exchange: Any) -> Any:
    """Return the response to a recorded request, in the form of the record."""
    method, path, media, body = exchange["request"]
    data = body if isinstance(body, str) else "" if body is None else json.dumps(body)
    answer = server.handle(ApiRequest(method, path, {"content-type": media}, data.encode()))
    assert isinstance(answer, ApiResponse)
    item = json.loads(answer.body) if answer.body.startswith(b"{") else {}
    found: dict[str, Any] = {"name": exchange["name"], "status": answer.status}
    if "message" in exchange:
        found["message"] = item.get("message")
    if "quotes" in exchange:
        found |= {"message": without_identity(str(item.get("message"))), "quotes": True}
    if "fields" in exchange:
        causes = item.get("details", {}).get("causes", ())
        found["fields"] = [each.get("field", "") for each in causes]
    if "shows" in exchange:
        found["shows"] = {path: member(item, path) for path in exchange["shows"]}
    if answer.headers.get("Warning"):
        found["warnings"] = list(answer.headers["Warning"])
    return found


def without_identity(message: str) -> str:
    """A message without the uids, times and versions of the objects that it quotes."""
    message = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "UID", message)
    message = re.sub(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ", "TIME", message)
    return re.sub(r"(resourceVersion\W+)\d+", r"\1RV", message)


def member(item: Any, path: str) -> Any:
    for name in path.split("."):
        item = item.get(name) if isinstance(item, dict) else None
    return item


@pytest.mark.parametrize("topic", TOPICS)
def test_answers_are_those_of_kube_apiserver(server: ApiServer, topic: str) -> None:
    for exchange in TOPICS[topic]:
        found = answered(server, exchange)
        server.tick()
        assert found == {key: exchange[key] for key in exchange if key not in ("topic", "request")}
