"""The API server: from a request to a response, without sockets."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from stretto.api.wire.kinds import Kind
from stretto.base.clock import Clock
from stretto.base.rng import Rng
from stretto.stores.store import Store
from stretto.web.api import failures
from stretto.web.api.admission.plugins import MUTATING, VALIDATING
from stretto.web.api.authn.users import ANONYMOUS, TokenTable, User
from stretto.web.api.bootstrap import make_objects
from stretto.web.api.call import Call
from stretto.web.api.crds.lifecycle import after_definition, move_definitions, refresh
from stretto.web.api.discovery.health import TEXT, no_page
from stretto.web.api.discovery.pages import page
from stretto.web.api.encoding import dumped
from stretto.web.api.failures import ApiError, PlainError, status_of
from stretto.web.api.message import NO_CACHE, Answer, ApiRequest, ApiResponse
from stretto.web.api.negotiation import error_media
from stretto.web.api.resources import kubernetes_table
from stretto.web.api.routes import Route, parse_route, verb_of
from stretto.web.api.selection.pages import Snapshots
from stretto.web.api.state import ApiState
from stretto.web.api.storage import ObjectStorage, PastStore
from stretto.web.api.verbs.dispatch import dispatch


@dataclass(frozen=True)
class ApiSettings:
    """What a server needs besides its store."""

    #: Times.
    clock: Clock
    #: Names and identities.
    rng: Rng
    #: Who sends requests; ``None``: every request is that of an administrator.
    tokens: TokenTable | None = None
    #: Whether pods need a ServiceAccount.
    uses_accounts: bool = False


class ApiServer:
    """The Kubernetes API over a store."""

    def __init__(self, store: Store, settings: ApiSettings) -> None:
        """Serve the objects of an embedded store."""
        self._settings = settings
        self._state = ApiState(
            ObjectStorage(store),
            kubernetes_table(),
            settings.clock,
            settings.rng,
            MUTATING,
            VALIDATING,
            (after_definition,),
        )
        make_objects(self._state)
        refresh(self._state)
        self._snapshots = Snapshots()

    @property
    def state(self) -> ApiState:
        """What all requests share."""
        return self._state

    def handle(self, request: ApiRequest) -> Answer:
        """Answer a request. Never raises for bad input."""
        try:
            answer = self._answer(request)
            if request.method == "HEAD" and isinstance(answer, ApiResponse):
                return replace(answer, body=b"")
            return answer
        except ApiError as error:
            headers = {**NO_CACHE, **error.headers}
            media = error_media(request.header("accept"))
            return ApiResponse(error.code, dumped(status_of(error), media), media, headers)
        except PlainError as error:
            headers = {**NO_CACHE, "X-Content-Type-Options": "nosniff"}
            return ApiResponse(error.code, error.text.encode(), TEXT, headers)

    def tick(self) -> None:
        """Do what the server does by itself as time passes."""
        move_definitions(self._state)

    def compact(self, kinds: Sequence[Kind] = ()) -> None:
        """Forget the history of some kinds, or of all: older versions and pages are too old."""
        self._snapshots.forget(kinds)
        store = self._state.storage.store
        if isinstance(store, PastStore):
            store.compact(kinds)

    def _answer(self, request: ApiRequest) -> Answer:
        user = self._user(request)
        found = page(self._state, request)
        if found is not None:
            return found
        route = parse_route(request.path)
        if route is None:
            raise failures.no_route()
        watches = request.parameter("watch") in ("true", "1")
        verb = verb_of(request.method, route, watches=watches and request.method == "GET")
        resource = self._state.resources.find(route.group, route.version, route.resource)
        if resource is None:
            raise failures.no_route() if self._is_built_in(route) else no_page()
        call = Call(request, route, resource, verb, user)
        return dispatch(self._state, call, self._snapshots)

    def _is_built_in(self, route: Route) -> bool:
        """Whether a path names a version of Kubernetes, whose other resources are missing."""
        return any(
            (each.group, each.kind.version) == (route.group, route.version)
            for each in self._state.resources.built_in()
        )

    def _user(self, request: ApiRequest) -> User:
        tokens = self._settings.tokens
        if tokens is None:
            return User("admin", "admin", ("system:masters", "system:authenticated"))
        header = request.header("authorization")
        if not header:
            return ANONYMOUS
        scheme, _, token = header.partition(" ")
        user = tokens.user(token.strip()) if scheme.lower() == "bearer" else None
        if user is None:
            raise ApiError(401, "Unauthorized", "Unauthorized")
        return user
