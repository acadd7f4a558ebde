"""The user of the credentials of a request."""

from collections.abc import Callable

from stretto.web.api.authn.users import ANONYMOUS, User, authenticated
from stretto.web.api.failures import ApiError
from stretto.web.api.message import ApiRequest


def authenticated_user(request: ApiRequest, authenticate: Callable[[str], User | None]) -> User:
    """Return the user of a request's credentials: of its certificate, otherwise of its token.

    Raises:
        ApiError: the token is unknown.
    """
    if request.peer is not None:
        return authenticated(request.peer)
    header = request.header("authorization").strip()
    scheme, _, token = header.partition(" ")
    token = token.strip()
    if scheme.lower() != "bearer" or not token:
        return ANONYMOUS
    user = authenticate(token)
    if user is None:
        raise ApiError(401, "Unauthorized", "Unauthorized")
    return user
