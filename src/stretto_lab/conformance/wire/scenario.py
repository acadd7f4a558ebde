"""A recorded scenario of KubeAdmiral: clusters, requests of the user, and outcomes."""

from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any

import msgspec

from stretto_lab.conformance import lines


class RecordedCluster(msgspec.Struct, frozen=True, rename="camel"):
    """A cluster in its state at the start of the scenario."""

    #: Name.
    name: str
    #: Labels.
    labels: dict[str, str] = {}
    #: Taints.
    taints: list[dict[str, Any]] = []
    #: True if its ServiceAccount is used.
    use_service_account: bool = False
    #: Status by type of condition.
    conditions: dict[str, str] = {}
    #: Status of its capacity.
    resources: dict[str, Any] = {}


class UserStep(msgspec.Struct, frozen=True):
    """A request of the user."""

    #: Seconds since the scenario began.
    t: float
    #: The server.
    server: str
    #: HTTP method.
    method: str
    #: Path of the request.
    path: str
    #: HTTP status of the answer.
    code: int = 0
    #: Body of the request.
    body: Any = None
    #: Media type of a patch.
    content_type: str = ""

    @property
    def was_refused(self) -> bool:
        """True if the recorded server refused it, by a schema that other servers may not have."""
        return self.code >= 400


class NoteAction(Enum):
    """Actions of the user outside the API, by the text of the note."""

    #: The controllers start.
    START = "controller manager started"
    #: The controllers stop.
    STOP = "controller manager stopped"
    #: An API server stops answering; connections stay open.
    SILENCE = "the API server is stopped"
    #: It answers again.
    RESUME = "the API server goes on"


class RecordedNote(msgspec.Struct, frozen=True):
    """An action of the user outside the API."""

    #: Seconds since the scenario began.
    t: float
    #: Description of the action.
    text: str

    @property
    def action(self) -> NoteAction | None:
        """The action; ``None`` for a remark."""
        words = self.text.removeprefix(f"{self.server}: ")
        return next((each for each in NoteAction if words.startswith(each.value)), None)

    @property
    def server(self) -> str:
        """The server in the note; empty for the controllers."""
        server, colon, _ = self.text.partition(": ")
        return server if colon else ""


class RecordedCall(msgspec.Struct, frozen=True):
    """A call of a scheduler webhook, and its answer."""

    #: Seconds since the scenario began.
    t: float
    #: Path of the call.
    path: str
    #: The request.
    request: Any
    #: HTTP status of the answer; ``hang`` if it came too late.
    code: int | str
    #: The answer.
    answer: Any = None


class RecordedOutcome(msgspec.Struct, frozen=True):
    """The writes of KubeAdmiral after a step."""

    #: Seconds since the scenario began.
    t: float
    #: Name of the wait that ended.
    label: str
    #: Federated objects by name.
    federated: dict[str, Any]
    #: Objects of each member by kind and name.
    members: dict[str, Any]
    #: Status of the sources by kind and name.
    source: dict[str, Any]


Step = UserStep | RecordedNote | RecordedOutcome
"""One line as input of the replay."""


class WireScenario(msgspec.Struct, frozen=True):
    """A scenario."""

    #: Name.
    id: str
    #: Family; reports count agreement by it.
    family: str
    #: Clusters.
    clusters: tuple[RecordedCluster, ...]
    #: Steps in order of time.
    steps: tuple[Step, ...]
    #: Calls of webhooks.
    calls: tuple[RecordedCall, ...] = ()
    #: Errors of the connection to a server, by the name of the cluster that could not join.
    faults: dict[str, str] = {}
    #: Number of the recording, whose scenarios share objects.
    recording: int = 1

    @property
    def begins_without_controllers(self) -> bool:
        """True if the user starts the controllers, which do not run before."""
        notes = (each for each in self.steps if isinstance(each, RecordedNote))
        first = next(notes, None)
        return first is not None and first.action is NoteAction.START

    @property
    def changes_servers(self) -> bool:
        """True if servers stop or clusters join and leave, which affects other scenarios."""
        return not self.clusters or any(map(_changes_servers, self.steps))


def _changes_servers(step: Step) -> bool:
    if isinstance(step, UserStep):
        return "/federatedclusters" in step.path and step.method in ("POST", "DELETE")
    return isinstance(step, RecordedNote)


_REFUSALS = ("tls: ", "x509: ", "Unauthorized", "orbidden")
"""Parts of messages about answers of a server; other messages concern objects of the scenario."""


def read(path: Path) -> WireScenario:
    """Read a scenario.

    Raises:
        InputError: the file cannot be read.
    """
    decoded = [msgspec.json.decode(line) for _, line in lines.numbered(path)]
    head = next(each for each in decoded if each["type"] == "scenario")
    clusters = msgspec.convert(head["clusters"], tuple[RecordedCluster, ...])
    steps = sorted(_steps(decoded), key=lambda each: (each.t, isinstance(each, UserStep)))
    calls = [each for each in decoded if each["type"] == "webhook"]
    return WireScenario(
        head["id"],
        head["family"],
        clusters,
        tuple(steps),
        msgspec.convert(calls, tuple[RecordedCall, ...]),
        dict(_faults(decoded)),
        head.get("pass", 1),
    )


def _faults(decoded: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """Errors of servers for clusters that could not join: an error of TLS, or a refusal."""
    for each in decoded:
        parts = each.get("path", "").split("/")
        if each["type"] != "write" or parts[-3:-2] != ["federatedclusters"]:
            continue
        conditions = ((each.get("body") or {}).get("status") or {}).get("conditions") or ()
        for condition in conditions:
            text = str(condition.get("message", ""))
            if condition["type"] == "Joined" and any(mark in text for mark in _REFUSALS):
                yield parts[-2], text


def _steps(decoded: list[dict[str, Any]]) -> Iterator[Step]:
    """The steps of a scenario, as they were recorded."""
    for each in decoded:
        if each["type"] == "user":
            yield UserStep(
                each["t"],
                each["server"],
                each["method"],
                each["path"],
                each.get("code", 0),
                each.get("body"),
                each.get("contentType", ""),
            )
        elif each["type"] == "note":
            yield RecordedNote(each["t"], each["text"])
        elif each["type"] == "outcome":
            yield RecordedOutcome(
                each["t"],
                each.get("label") or "",
                each["federated"],
                each["members"],
                each["source"],
            )
