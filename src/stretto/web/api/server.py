"""The API server: processing of a request into a response, without sockets."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import msgspec

from stretto.api.wire.kinds import Kind
from stretto.base.clock import Clock
from stretto.base.rng import Rng
from stretto.stores.store import Store
from stretto.stores.webhooks import NO_WEBHOOKS
from stretto.web.api import failures
from stretto.web.api.admission.plugins import (
    ACCOUNTS,
    CHANGING,
    CHARGING,
    CONFIGURED,
    MUTATING,
    VALIDATING,
)
from stretto.web.api.authn.accounts import AccountTokens
from stretto.web.api.authn.impersonation import impersonated
from stretto.web.api.authn.requests import authenticated_user
from stretto.web.api.authn.users import TokenTable, User
from stretto.web.api.authz.escalation import no_escalation
from stretto.web.api.authz.requests import authorize, wanted_access
from stretto.web.api.authz.roles import after_role
from stretto.web.api.bootstrap.registrations import after_kinds
from stretto.web.api.bootstrap.start import make_objects
from stretto.web.api.call import Call, check_timeout
from stretto.web.api.crds.lifecycle import after_definition, refresh
from stretto.web.api.discovery.health import TEXT, no_page
from stretto.web.api.discovery.pages import page
from stretto.web.api.encoding import dumped
from stretto.web.api.failures import ApiError, PlainError, WarnedError, status_of
from stretto.web.api.flows.classification import FlowClassifier
from stretto.web.api.message import NO_CACHE, Answer, ApiRequest, ApiResponse
from stretto.web.api.negotiation import error_media, warning_headers
from stretto.web.api.resources import kubernetes_table
from stretto.web.api.routes import parse_route, verb_of
from stretto.web.api.selection.pages import Snapshots
from stretto.web.api.state import ApiState
from stretto.web.api.storage import ObjectStorage, PastStore
from stretto.web.api.turns import OwnTurns
from stretto.web.api.verbs.dispatch import dispatch
from stretto.web.api.webhooks.reviews import PendingReviews, PendingReviewsError

_LOG: Final = logging.getLogger(__name__)


@dataclass(frozen=True)
class ApiSettings:
    """Parts of a server besides its store."""

    #: Source of times.
    clock: Clock
    #: Source of names and identities.
    rng: Rng
    #: Tokens of users; ``None``: every request has the rights of an administrator.
    tokens: TokenTable | None = None
    #: True if pods need a ServiceAccount.
    uses_accounts: bool = False
    #: PEM key that signs tokens of ServiceAccounts; empty for a new key of this process.
    accounts_key: bytes = b""
    #: True if the server computes the rules of ClusterRoles that aggregate others.
    aggregates_roles: bool = True
    #: True if containers may be privileged.
    allows_privileged: bool = True
    #: How other servers authenticate clients: the data of ``extension-apiserver-authentication``.
    authentication: Mapping[str, str] = field(default_factory=dict)


class ApiServer:
    """The Kubernetes API over a store."""

    def __init__(self, store: Store, settings: ApiSettings) -> None:
        """Serve the objects of an embedded store."""
        self._settings = settings
        storage = ObjectStorage(store)
        self._state = ApiState(
            storage,
            kubernetes_table(),
            FlowClassifier(storage),
            settings.clock,
            settings.rng,
            (*MUTATING, *(ACCOUNTS if settings.uses_accounts else ()), *CHANGING),
            (*VALIDATING, *CONFIGURED, *CHARGING),
            (after_definition, after_kinds, after_role),
            accounts=AccountTokens(settings.accounts_key),
            authenticate=self._token_user,
            aggregates_roles=settings.aggregates_roles,
            allows_privileged=settings.allows_privileged,
            guards=(no_escalation,),
        )
        make_objects(self._state, settings.authentication)
        refresh(self._state)
        self._snapshots = Snapshots(self._state.storage, settings.clock)
        self._turns = OwnTurns(self._state)

    @property
    def state(self) -> ApiState:
        """State common to all requests."""
        return self._state

    def handle(self, request: ApiRequest) -> Answer:
        """Answer a request. Never raises for bad input. Webhooks are not called."""
        answer = self.attempt(request)
        while isinstance(answer, PendingReviews):
            calls = answer.calls
            request.memory.take(calls, NO_WEBHOOKS.send([each.call for each in calls]))
            answer = self.attempt(request)
        return answer

    def attempt(self, request: ApiRequest) -> Answer | PendingReviews:
        """Answer a request, or return the webhooks whose answers it needs first."""
        answer = self._attempted(request)
        flow = request.notes.flow
        if not flow or isinstance(answer, PendingReviews):
            return answer
        self._state.flows.count(flow)
        return answer.with_headers(flow)

    def _attempted(self, request: ApiRequest) -> Answer | PendingReviews:
        request.notes.clear()
        try:
            answer = self._answer(request)
            if request.method == "HEAD" and isinstance(answer, ApiResponse):
                return msgspec.structs.replace(answer, body=b"")
            return answer
        except PendingReviewsError as pending:
            return PendingReviews(pending.calls)
        except ApiError as error:
            return _failed(request, error, [])
        except PlainError as error:
            headers = {**NO_CACHE, "X-Content-Type-Options": "nosniff"}
            return ApiResponse(error.code, error.text.encode(), TEXT, headers)
        except Exception as error:  # noqa: BLE001 - one request must not end the process
            request.notes.fail(f"{type(error).__name__}: {error}")
            _LOG.exception("%s %s failed", request.method, request.path)
            status = status_of(ApiError(500, "InternalError", "an internal error occurred"))
            return ApiResponse(500, dumped(status, "application/json"), headers=NO_CACHE)

    def user_of(self, request: ApiRequest) -> User:
        """Return the user of a request before impersonation; a nameless user if unknown."""
        try:
            return self._user(request)
        except ApiError:
            return User("")

    def tick(self) -> None:
        """Run the periodic work of the server."""
        self._turns.move()
        self._snapshots.move()

    def compact(self, kinds: Sequence[Kind] = ()) -> None:
        """Drop the history of some kinds, or of all; older versions and pages are then too old."""
        self._snapshots.forget(kinds)
        store = self._state.storage.store
        if isinstance(store, PastStore):
            store.compact(kinds)

    def _answer(self, request: ApiRequest) -> Answer:
        storage = self._state.storage
        route = parse_route(request.path)
        verb = request.method.lower()
        if route is not None and route.resource:
            verb = verb_of(request.method, route, watches=request.watches)
        check_timeout(request, route, verb)
        wanted = wanted_access(request, route, verb)
        user = impersonated(storage, self._user(request), request, wanted)
        request.notes.classify(self._state.flows.headers(user, wanted))
        authorize(storage, user, request, wanted)
        if route is None or not route.resource:
            found = page(self._state, request)
            if found is not None:
                return found
        if route is None:
            raise failures.no_route()
        resource = self._state.resources.find(route.group, route.version, route.resource)
        if resource is None:
            raise failures.no_route() if self._is_built_in(route.group) else no_page()
        call = Call(request, route, resource, verb, user)
        try:
            return dispatch(self._state, call, self._snapshots)
        except ApiError as error:
            return _failed(request, error, call.warnings)

    def _is_built_in(self, group: str) -> bool:
        """Return whether a path contains a built-in group, whose other resources do not exist."""
        return any(each.group == group for each in self._state.resources.built_in())

    def _user(self, request: ApiRequest) -> User:
        if self._settings.tokens is None:
            return User("admin", "admin", ("system:masters", "system:authenticated"))
        return authenticated_user(request, self._state.authenticate)

    def _token_user(self, token: str) -> User | None:
        tokens = self._settings.tokens
        found = None if tokens is None else tokens.user(token)
        if found is None and token.count(".") == 2:
            now = self._settings.clock.now()
            return self._state.accounts.user(token, now, self._state.storage.uid_of)
        return found


def _failed(request: ApiRequest, error: ApiError, warnings: list[str]) -> ApiResponse:
    """Return a failure as a response, with the earlier warnings."""
    if isinstance(error, WarnedError):
        warnings = [*warnings, *error.warnings]
    headers = {**NO_CACHE, **warning_headers(warnings), **error.headers}
    media = error_media(request.header("accept"))
    body = b"" if request.method == "HEAD" else dumped(status_of(error), media)
    return ApiResponse(error.code, body, media, headers)
