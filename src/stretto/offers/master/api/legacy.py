"""The endpoints that preceded the v1 API: documents and forms."""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from stretto.offers.master.api import views
from stretto.offers.master.api.actions import teardown
from stretto.offers.master.api.http import (
    HttpAnswer,
    MasterRequest,
    document,
    empty,
    of_verdict,
    only,
    plain,
)
from stretto.offers.master.api.permissions import permitted
from stretto.offers.master.api.queries import metrics_document, version_info
from stretto.offers.master.core.operators import maintenance, quota, resources
from stretto.offers.master.core.operators.verdict import OperatorVerdict, bad
from stretto.offers.master.core.state import MasterState
from stretto.offers.messages import text
from stretto.offers.messages.schema import Message

Endpoint = Callable[[MasterState, MasterRequest], HttpAnswer]
"""Function that answers a request."""
View = Callable[[MasterState, Mapping[str, str]], Any]
"""Function that creates a document from the parameters of a query."""


def _get(view: View) -> Endpoint:
    def answer(master: MasterState, request: MasterRequest) -> HttpAnswer:
        only(request, "GET")
        return document(view(master, request.query), request)

    return answer


def _health(master: MasterState, request: MasterRequest) -> HttpAnswer:
    del master, request
    return empty()


def _redirect(master: MasterState, request: MasterRequest) -> HttpAnswer:
    del request
    settings = master.settings
    return empty(307, Location=f"//{settings.hostname}:{settings.port}")


def _quota(master: MasterState, request: MasterRequest) -> HttpAnswer:
    """GET, POST, and DELETE of /quota/ROLE."""
    if request.method == "GET":
        return document(quota.quota_status(master), request)
    if request.method == "DELETE":
        role = request.path.rpartition("/quota/")[2]
        if role not in master.quotas:
            shown = f"Failed to remove quota for path '{request.path}'"
            return plain(400, f"{shown}: Role '{role}' has no quota set")
        if not permitted(master, "REMOVE_QUOTA", {"role": role}, request.principal):
            return plain(403)
        return of_verdict(quota.remove_legacy(master, role))
    only(request, "POST")
    body = request.body.decode(errors="replace")
    try:
        value = text.parse(request.body)
    except text.MessageError as error:
        return plain(400, f"Failed to parse set quota request JSON '{body}': {error}")
    try:
        wanted = text.read("quota.QuotaRequest", value)
    except text.MessageError as error:
        return plain(400, f"Failed to validate set quota request JSON '{body}': {error}")
    if not permitted(master, "SET_QUOTA", {"quota_request": wanted}, request.principal):
        return plain(403)
    return of_verdict(quota.set_legacy(master, wanted))


def _weights(master: MasterState, request: MasterRequest) -> HttpAnswer:
    if request.method == "GET":
        return document(views.weights(master), request)
    only(request, "PUT")
    body = request.body.decode(errors="replace")
    prefix = "Failed to parse update weights request JSON"
    try:
        value = text.parse(request.body)
    except text.MessageError as error:
        return plain(400, f"{prefix} '{body}': {error}")
    if not isinstance(value, list):
        return plain(400, f"{prefix} '{body}': Unexpected JSON type parsed")
    try:
        infos = [text.read("WeightInfo", each) for each in value]
    except text.MessageError as error:
        return plain(400, f"{prefix} '{body}': {error}")
    if not permitted(master, "UPDATE_WEIGHTS", {"weight_infos": infos}, request.principal):
        return plain(403)
    return of_verdict(quota.update_weights(master, infos))


def _form(call: str, kind: str, field: str) -> Endpoint:
    """An endpoint for an operation in a form with ``slaveId`` and a JSON list of resources."""

    def answer(master: MasterState, request: MasterRequest) -> HttpAnswer:
        only(request, "POST")
        form = request.form
        for name in ("slaveId", field):
            if name not in form:
                return plain(400, f"Missing '{name}' query parameter in the request body")
        try:
            listed = json.loads(form[field])
            moved = [text.read("Resource", each) for each in listed]
        except (ValueError, TypeError) as error:
            where = f"Error in parsing '{field}' query parameter in the request body"
            return plain(400, f"{where}: {error}")
        if not permitted(master, call, {field: moved}, request.principal):
            return plain(403)
        operation = {"type": kind, kind.lower(): {field: moved}}
        return of_verdict(resources.apply(master, form["slaveId"], operation, request.principal))

    return answer


def _teardown(master: MasterState, request: MasterRequest) -> HttpAnswer:
    only(request, "POST")
    framework_id = request.form.get("frameworkId")
    if framework_id is None:
        return plain(400, "Missing 'frameworkId' query parameter in the request body")
    body = {"framework_id": {"value": framework_id}}
    if not permitted(master, "TEARDOWN", body, request.principal):
        return plain(403)
    return of_verdict(teardown(master, framework_id))


def _machines(call: str, act: Callable[[MasterState, list[Message]], OperatorVerdict]) -> Endpoint:
    def answer(master: MasterState, request: MasterRequest) -> HttpAnswer:
        only(request, "POST")
        try:
            value = text.parse(request.body)
            machines = [text.read("MachineID", each) for each in value]
        except (text.MessageError, TypeError) as error:
            return of_verdict(bad(str(error)))
        if not permitted(master, call, {"machines": machines}, request.principal):
            return plain(403)
        return of_verdict(act(master, machines))

    return answer


def _schedule(master: MasterState, request: MasterRequest) -> HttpAnswer:
    if request.method == "GET":
        return document(maintenance.schedule_message(master), request)
    only(request, "GET", "POST")
    try:
        schedule = text.read("maintenance.Schedule", text.parse(request.body))
    except text.MessageError as error:
        return plain(400, str(error))
    call = "UPDATE_MAINTENANCE_SCHEDULE"
    if not permitted(master, call, {"schedule": schedule}, request.principal):
        return plain(403)
    return of_verdict(maintenance.update_schedule(master, schedule))


def _toggle(master: MasterState, request: MasterRequest) -> HttpAnswer:
    if "level" in request.query:
        level = request.query["level"]
        if not level.isdigit():
            return plain(400, f"Invalid level '{level}'.\n")
        master.set_logging_level(int(level))
        return empty()
    return plain(200, f"{master.logging_level}\n")


ENDPOINTS: Final[Mapping[str, Endpoint]] = {
    "/health": _health,
    "/version": _get(lambda *_: version_info()),
    "/flags": _get(lambda master, _: {"flags": dict(master.settings.flags)}),
    "/state": _get(lambda master, _: views.state(master)),
    "/state.json": _get(lambda master, _: views.state(master)),
    "/state-summary": _get(lambda master, _: views.summary(master)),
    "/slaves": _get(views.agents),
    "/frameworks": _get(views.frameworks),
    "/tasks": _get(views.tasks),
    "/roles": _get(lambda master, _: views.roles(master)),
    "/quota": _quota,
    "/weights": _weights,
    "/redirect": _redirect,
    "/metrics/snapshot": _get(lambda master, _: metrics_document(master)),
    "/maintenance/schedule": _schedule,
    "/maintenance/status": _get(lambda master, _: maintenance.status(master)),
    "/machine/down": _machines("START_MAINTENANCE", maintenance.start),
    "/machine/up": _machines("STOP_MAINTENANCE", maintenance.stop),
    "/reserve": _form("RESERVE_RESOURCES", "RESERVE", "resources"),
    "/unreserve": _form("UNRESERVE_RESOURCES", "UNRESERVE", "resources"),
    "/create-volumes": _form("CREATE_VOLUMES", "CREATE", "volumes"),
    "/destroy-volumes": _form("DESTROY_VOLUMES", "DESTROY", "volumes"),
    "/teardown": _teardown,
    "/logging/toggle": _toggle,
}
"""Endpoints by path, without the optional prefix ``/master``."""
