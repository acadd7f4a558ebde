"""The replay of a recorded session against an API server in this process."""

import base64
import json
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from stretto.api.edit.yaml_text import load_documents
from stretto.api.wire.kinds import EVENT
from stretto.base.clock import ManualClock, timestamp
from stretto.base.rng import Rng
from stretto.stores.embedded.memory import MemoryStore
from stretto.web.api.authn.users import TokenTable, User
from stretto.web.api.message import Answer, ApiRequest, ApiResponse, ApiStream
from stretto.web.api.server import ApiServer, ApiSettings
from stretto_lab.conformance.apiserver.matching import Bindings, Difference, differences
from stretto_lab.conformance.apiserver.sessions import (
    RecordedLine,
    RecordedRequest,
    SessionSetup,
)

_START: Final = 1_795_575_600.0
"""Start of the replay in seconds since the epoch: the hour in which sessions were recorded."""
_POLLS: Final = 4
"""Number of attempts of an action that waits for an answer."""
_USERS: Final = ("admin", "alice", "bob", "carol")
_GROUPS: Final = {"admin": ("system:masters",), "alice": ("dev",), "bob": ("dev", "ops")}


class SessionReplay:
    """One session: a fresh server, its placeholders and its open watches."""

    def __init__(self, setup: SessionSetup) -> None:
        """Start the server of a session."""
        self._clock = ManualClock(_START)
        self._uncached = "--watch-cache=false" in setup.flags
        users = {f"token-{name}": _user(name) for name in _USERS}
        nodes = {f"token-system:node:n{number}": _node(f"n{number}") for number in range(1, 4)}
        store = MemoryStore(self._clock, Rng(1))
        settings = ApiSettings(
            self._clock,
            Rng(2),
            TokenTable(users | nodes),
            uses_accounts=setup.server in ("sa", "full"),
            aggregates_roles=setup.server == "full",
            allows_privileged=False,
            authentication={"client-ca-file": "certificates"},
        )
        self._server = ApiServer(store, settings)
        tokens = {name: f"token-{name}" for name in _USERS}
        tokens |= {f"system:node:n{number}": f"token-system:node:n{number}" for number in (1, 2, 3)}
        self._bindings = Bindings(tokens, _now(_START))
        self._streams: dict[str, ApiStream] = {}

    def differences(self, line: RecordedLine) -> Iterator[Difference]:
        """Differences between the answers of a line and the recorded ones."""
        if line.request is not None:
            answer = self._server.handle(self._request(line.request))
            yield from self._compared(line, answer)
        elif line.action is not None:
            self._act(line.action)
        if line.events:
            self._server.tick()  # the recorder waited for asynchronous work of the server
        for name, events in line.events.items():
            stream = self._streams.get(name)
            got = [] if stream is None else _events(stream)
            yield from differences(events, got, self._bindings, f"events.{name}")

    def _request(self, recorded: RecordedRequest) -> ApiRequest:
        fill = self._bindings.filled
        headers = {name.lower(): fill(value) for name, value in recorded.headers.items()}
        headers.setdefault("user-agent", "wire")
        body = b""
        if recorded.json is not msgspec.UNSET:
            body = json.dumps(fill(recorded.json)).encode()
        elif recorded.body_base64:
            body = base64.b64decode(recorded.body_base64)
        elif recorded.body_made is not None:
            made = recorded.body_made
            text = str(fill(made["template"]))
            body = text.replace(made["at"], made["fill"] * int(made["times"])).encode()
        elif recorded.body:
            body = str(fill(recorded.body)).encode()
        return ApiRequest(recorded.method, str(fill(recorded.path)), headers, body)

    def _compared(self, line: RecordedLine, answer: Answer) -> Iterator[Difference]:
        if answer.status != line.status:
            text = (
                answer.body[:400].decode(errors="replace")
                if isinstance(answer, ApiResponse)
                else ""
            )
            yield "status", line.status, f"{answer.status} {text}"
            return
        got_headers = {**answer.headers, "Content-Type": answer.content_type}
        for name, value in line.headers.items():
            if name != "Transfer-Encoding":
                yield from differences(
                    value, got_headers.get(name, ""), self._bindings, f"headers.{name}"
                )
        if "Warning" in got_headers and "Warning" not in line.headers:
            yield "headers.Warning", "(absent)", got_headers["Warning"]
        if isinstance(answer, ApiStream):
            yield from self._stream(line, answer)
        elif "yaml" in answer.content_type and line.body is not None:
            yield from differences(_yaml(line.body), _yaml(answer.body.decode()), self._bindings)
        elif line.json is not msgspec.UNSET:
            yield from differences(line.json, _decoded(answer.body), self._bindings)
        elif line.body is not None:
            yield from differences(line.body, answer.body.decode(errors="replace"), self._bindings)
        elif line.json_digest is not None:
            got = digest(line.json_digest, answer)
            yield from differences(line.json_digest, got, self._bindings, "digest")

    def _stream(self, line: RecordedLine, stream: ApiStream) -> Iterator[Difference]:
        if line.stream:
            self._streams[line.stream] = stream
            return
        if line.stream_json is not None:
            got = _events(stream)
            self._pass(stream.timeout)
            got += _events(stream)
            got = [each for each in got if each != {"stream_end": True}]
            yield from differences(line.stream_json, got, self._bindings, "stream")
        stream.close()

    def _act(self, action: dict[str, Any]) -> None:
        if "sleep_s" in action:
            self._pass(float(action["sleep_s"]))
        elif "until" in action:
            self._wait(action)
        elif "compact" in action:
            self._server.compact(() if self._uncached else (EVENT,))
        elif "close_stream" in action:
            stream = self._streams.pop(action["close_stream"], None)
            if stream is not None:
                stream.close()

    def _wait(self, action: dict[str, Any]) -> None:
        headers = {"Authorization": "Bearer ${TOKEN:admin}", **action.get("headers", {})}
        if "json" in action:
            headers["Content-Type"] = "application/json"
        request = RecordedRequest(
            action["method"], action["path"], headers, action.get("json", msgspec.UNSET)
        )
        for _ in range(_POLLS):
            answer = self._server.handle(self._request(request))
            if _is_awaited(answer, action):
                return
            self._pass(1.0)

    def _pass(self, seconds: float) -> None:
        """Advance the monotonic time; the wall clock stays, so that recorded times are equal."""
        self._clock.advance(seconds)
        self._clock.jump_wall(-seconds)
        self._server.tick()


def _yaml(text: str) -> Any:
    """The value of a YAML text, independent of the order of keys."""
    return [each for _, each in load_documents(text, "body")]


def _is_awaited(answer: Answer, action: dict[str, Any]) -> bool:
    """True if an answer has the status and the member that an action waits for."""
    if answer.status != action.get("status", answer.status):
        return False
    value = _decoded(answer.body) if "has" in action and isinstance(answer, ApiResponse) else None
    for part in action.get("has", "").split(".") if value is not None else ():
        value = value.get(part) if isinstance(value, dict) else None
    return value is not None or "has" not in action


def digest(want: Any, answer: ApiResponse) -> Any:
    """The parts of a large body that are in a recorded digest."""
    got = _decoded(answer.body)
    if not isinstance(want, dict):
        return got
    found: dict[str, Any] = dict.fromkeys(want)
    if not isinstance(got, dict):
        return found | _facts(want, answer, is_json=False)
    found = {key: got[key] for key in want if key in got}
    listed = got.get("items") or got.get("groups") or []
    names = [each.get("name") or each.get("metadata", {}).get("name") for each in listed]
    for key in ("groups", "order", "names"):
        if key in want:
            found[key] = names
    if isinstance(want.get("group"), list):
        found["group"] = [each for each, name in zip(listed, names, strict=True) if "b." in name]
    if "of it" in want:
        chosen = {each["name"] for each in want["of it"]}
        found["of it"] = [_service(each) for each in listed if each["metadata"]["name"] in chosen]
    if "keys" in want:
        found["keys"] = sorted(got)
    if "causes" in want:
        found["causes"] = got.get("details", {}).get("causes")
    found |= _documented(want, got)
    return found | _facts(want, answer, is_json=True)


def _documented(want: dict[str, Any], got: dict[str, Any]) -> dict[str, Any]:
    """The digest of an OpenAPI document: names, and some parts in full."""
    schemas = got.get("definitions") or (got.get("components") or {}).get("schemas") or {}
    paths = got.get("paths") or {}
    found: dict[str, Any] = {}
    for key, known in (("paths", paths), ("schemas", schemas), ("definitions", schemas)):
        if isinstance(want.get(key), list):
            found[key] = sorted(_beside(want[key], known))
        elif isinstance(want.get(key), int):
            found[key] = len(known)
    parts = (
        ("definitions", schemas),
        ("selected", schemas),
        ("selected_path", paths),
        ("selected_paths", paths),
    )
    for key, known in parts:
        if isinstance(want.get(key), dict):
            found[key] = {name: known[name] for name in want[key] if name in known}
    return found


def _beside(want: list[str], known: dict[str, Any]) -> Iterator[str]:
    """The names of the document, without those of other groups if one group is requested."""
    groups = {each.split("/")[2] for each in want if each.startswith("/apis/") and each[6:]}
    is_one = len(groups) == 1 and all(each.startswith("/apis/") for each in want)
    start = f"/apis/{groups.pop()}" if is_one else ""
    return (each for each in known if each.startswith(start))


def _facts(want: dict[str, Any], answer: ApiResponse, *, is_json: bool) -> dict[str, Any]:
    """The digest of a complete answer."""
    location = str(answer.headers.get("Location", "")).partition("=")[0]
    found = {"status": answer.status, "is_json": is_json, "location": location}
    return {key: each for key, each in found.items() if key in want}


def _service(item: dict[str, Any]) -> dict[str, Any]:
    """An APIService in the form of a digest."""
    words = ("type", "status", "reason", "message")
    conditions = (item.get("status") or {}).get("conditions") or ()
    return {
        "name": item["metadata"]["name"],
        "labels": item["metadata"].get("labels"),
        "spec": item["spec"],
        "conditions": [[each.get(word) for word in words] for each in conditions],
    }


def _now(seconds: float) -> str:
    return f"{timestamp(seconds)[:19]}Z"


def _user(name: str) -> User:
    return User(name, name, _GROUPS.get(name, ()))


def _node(name: str) -> User:
    return User(f"system:node:{name}", f"system:node:{name}", ("system:nodes",))


def _decoded(body: bytes) -> Any:
    try:
        return msgspec.json.decode(body)
    except msgspec.DecodeError:
        return body.decode(errors="replace")


def _events(stream: ApiStream) -> list[Any]:
    """The events that a stream has at present."""
    found: list[Any] = []
    while True:
        chunks = stream.poll()
        if chunks is None:
            return [*found, {"stream_end": True}]
        if not chunks:
            return found
        lines = b"".join(chunks).splitlines()
        found += [_decoded(line) for line in lines if line.strip()]
