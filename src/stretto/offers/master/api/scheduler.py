"""The v1 scheduler API: calls of frameworks."""

import base64

from stretto.offers.master.api.http import (
    HttpAnswer,
    MasterRequest,
    RequestError,
    empty,
    only,
    plain,
    read_call,
    stream_answer,
    wants_protobuf,
)
from stretto.offers.master.core.accepting import accept as accepting
from stretto.offers.master.core.frameworks import calls, subscriptions
from stretto.offers.master.core.frameworks.subscriptions import SubscriptionTerms
from stretto.offers.master.core.state import MasterState
from stretto.offers.master.state.frameworks import Framework, roles_of
from stretto.offers.master.state.outbox import EventKind
from stretto.offers.messages.schema import Message

_BODILESS = frozenset({"TEARDOWN", "REVIVE", "SUPPRESS", "UNKNOWN"})


def handle(master: MasterState, request: MasterRequest) -> HttpAnswer:
    """Answer a call.

    Raises:
        RequestError: the call is refused.
    """
    only(request, "POST")
    call = read_call(request, "scheduler.Call")
    error = call_error(call, request.principal)
    if error:
        return plain(400, f"Failed to validate scheduler::Call: {error}")
    kind = call["type"]
    if kind == "SUBSCRIBE":
        return _subscribe(master, request, call)
    framework = _framework(master, request, call)
    framework.count("calls")
    framework.count(f"calls/{kind.lower()}")
    body = call.get(kind.lower(), {})
    if kind == "UPDATE_FRAMEWORK":
        terms = subscriptions.subscription_of(body)
        denied = _roles_error(master, terms, request.principal)
        if denied:
            return plain(403, denied)
        refused = subscriptions.update(master, framework, terms)
        return plain(400, refused) if refused else empty()
    if kind == "ACCEPT":
        accepting.accept(master, framework, body)
    elif kind in calls.HANDLERS:
        calls.HANDLERS[kind](master, framework, body)
    else:
        return plain(501)
    return empty(202)


def call_error(call: Message, principal: str | None = None) -> str | None:
    """Error in a call, independent of the state; ``None`` if it is valid."""
    kind = call.get("type")
    if kind is None:
        return "Expecting 'type' to be present"
    field = kind.lower()
    if kind == "SUBSCRIBE":
        return _subscribe_error(call, principal)
    if "framework_id" not in call:
        return "Expecting 'framework_id' to be present"
    if kind not in _BODILESS and field not in call:
        return f"Expecting '{field}' to be present"
    if kind in ("ACKNOWLEDGE", "ACKNOWLEDGE_OPERATION_STATUS"):
        if len(base64.b64decode(call[field]["uuid"])) != 16:
            return "Not a valid UUID"
        if "agent_id" not in call[field]:
            return "Expecting 'agent_id' to be present"
    if kind == "UPDATE_FRAMEWORK":
        info = call[field]["framework_info"]
        if info.get("id") != call["framework_id"]:
            return "'framework_id' differs from 'update_framework.framework_info.id'"
    return None


def _subscribe_error(call: Message, principal: str | None) -> str | None:
    if "subscribe" not in call:
        return "Expecting 'subscribe' to be present"
    info = call["subscribe"]["framework_info"]
    given, outer = (
        info.get("id", {}).get("value", ""),
        call.get("framework_id", {}).get("value", ""),
    )
    if given != outer:
        return "'framework_id' differs from 'subscribe.framework_info.id'"
    own = info.get("principal")
    if principal is not None and own is not None and own != principal:
        return (
            f"Authenticated principal '{principal}' does not match principal '{own}' set in"
            " `FrameworkInfo`"
        )
    return None


def _subscribe(master: MasterState, request: MasterRequest, call: Message) -> HttpAnswer:
    protobuf = wants_protobuf(request)
    if "mesos-stream-id" in request.headers:
        text = "Subscribe calls should not include the 'Mesos-Stream-Id' header"
        raise RequestError(400, text)
    wanted = subscriptions.subscription_of(call["subscribe"])
    if request.principal is not None and "principal" not in wanted.info:
        wanted = wanted._replace(info=wanted.info | {"principal": request.principal})
    stream = master.new_stream(EventKind.SCHEDULER, protobuf)
    refused = _roles_error(master, wanted, request.principal)
    if refused:
        subscriptions.refuse(master, stream, refused)
        return stream_answer(stream, {"Mesos-Stream-Id": stream.id})
    subscriptions.subscribe(master, wanted, stream)
    framework = next((each for each in master.frameworks if each.stream == stream), None)
    if framework is not None:
        framework.count("calls")
        framework.count("calls/subscribe")
    return stream_answer(stream, {"Mesos-Stream-Id": stream.id})


def _roles_error(
    master: MasterState, wanted: SubscriptionTerms, principal: str | None
) -> str | None:
    """Error about roles that the principal may not use; ``None`` if there is none."""
    acls, roles = master.settings.acls, roles_of(wanted.info)
    denied = [each for each in roles if not acls.allows("register_frameworks", principal, [each])]
    return f"Not authorized to use roles '{{ {', '.join(denied)} }}'" if denied else None


def _framework(master: MasterState, request: MasterRequest, call: Message) -> Framework:
    """The subscribed framework that makes the call.

    Raises:
        RequestError: it is unknown or not subscribed, or the stream belongs to another framework.
    """
    framework_id = call["framework_id"]["value"]
    framework = master.frameworks.get(framework_id)
    if framework is None:
        raise RequestError(400, "Framework cannot be found")
    own = framework.info.get("principal", "")
    if request.principal is not None and request.principal != own:
        raise RequestError(
            400,
            f"Authenticated principal '{request.principal}' does not match principal '{own}' set in"
            " `FrameworkInfo`",
        )
    if framework.stream is None:
        raise RequestError(403, "Framework is not subscribed")
    stream = request.headers.get("mesos-stream-id")
    if stream is None:
        text = "All non-subscribe calls should include the 'Mesos-Stream-Id' header"
        raise RequestError(400, text)
    if stream != framework.stream.id:
        raise RequestError(
            400,
            f"The stream ID '{stream}' included in this request didn't match the stream ID"
            f" currently associated with framework ID {framework_id}",
        )
    return framework
