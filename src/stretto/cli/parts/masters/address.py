"""The Mesos master of a command: address, trust and credentials, and reading of its documents."""

import base64
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import SplitResult, urlencode, urlsplit

import click

from stretto.base.errors import InputError, NotAllowedError, UnreachableError
from stretto.cli.options import INPUT_FILE, Completer

if TYPE_CHECKING:
    import ssl

    from click.shell_completion import CompletionItem

    from stretto.stores.kube.login.messages import HttpResponse

DEFAULT_MASTER: Final = "http://127.0.0.1:5050"
ANSWER_WITHIN: Final = 2.0
"""Maximum number of seconds for an answer during completion by a shell."""
Body = TypeVar("Body", bound=Callable[..., Any])


@dataclass(frozen=True, kw_only=True)
class MasterAccess:
    """Options for a master."""

    #: URL of the master.
    master: str
    #: File with principal and secret.
    credential: Path | None
    #: File with a bearer token.
    token: Path | None
    #: File with the certificate authorities of the master.
    ca: Path | None


@dataclass(frozen=True, kw_only=True)
class FrameworkOptions(MasterAccess):
    """Options for the explanation of missing offers."""

    #: Id or name of the framework; ``None`` for no explanation.
    framework: str | None
    #: Id or host name of an agent; ``None`` for all.
    agent: str | None


def trust_options(body: Body) -> Body:
    """Add the options for credentials and certificates of a master."""
    for option in (
        click.option("--ca", type=INPUT_FILE, help="Certificate authorities of the master, PEM."),
        click.option("--token", type=INPUT_FILE, help="File with a bearer token for the master."),
        click.option(
            "--credential", type=INPUT_FILE, help="File with the principal and the secret."
        ),
    ):
        body = option(body)
    return body


def master_options(body: Body) -> Body:
    """Add the options of `MasterAccess`."""
    text = f"The master [{DEFAULT_MASTER}]."
    option = click.option("--master", default=DEFAULT_MASTER, metavar="URL", help=text)
    return option(trust_options(body))


def framework_options(body: Body) -> Body:
    """Add the options of `FrameworkOptions`."""
    for option in (
        click.option(
            "--agent",
            metavar="ID",
            shell_complete=completes("slaves"),
            help="With --framework: explain this agent only, by its id or host name.",
        ),
        click.option(
            "--framework",
            metavar="NAME",
            shell_complete=completes("frameworks"),
            help="Explain why a Mesos framework has no offers.",
        ),
    ):
        body = option(body)
    return master_options(body)


def completes(list_name: str) -> Completer:
    """Return the completion of a parameter by the ids in a list of the given master.

    Frameworks are completed by their names, unless these have white space.

    Args:
        list_name: ``frameworks``, ``slaves`` or ``tasks``.
    """

    def names(given: Mapping[str, Any]) -> Iterator[str]:
        access = MasterAccess(
            master=given.get("master") or DEFAULT_MASTER,
            credential=given.get("credential"),
            token=given.get("token"),
            ca=given.get("ca"),
        )
        for each in document(access, f"/{list_name}", {}, ANSWER_WITHIN)[list_name]:
            name: str = each["name"] if list_name == "frameworks" else each["id"]
            yield each["id"] if any(map(str.isspace, name)) else name

    def propose(
        context: click.Context, _parameter: click.Parameter, prefix: str
    ) -> "list[CompletionItem]":
        from stretto.cli.completion import matching

        return matching(lambda: names(context.params), prefix)

    return propose


def address(access: MasterAccess) -> SplitResult:
    """Return the parts of the master's URL.

    Raises:
        InputError: the text is not the URL of a server.
    """
    expected = f"a URL, such as {DEFAULT_MASTER}"
    try:
        url = urlsplit(access.master)
        is_usable = url.scheme in ("http", "https") and bool(url.hostname) and url.port != 0
    except ValueError as error:
        raise InputError("--master", access.master, expected, str(error)) from error
    if not is_usable:
        raise InputError("--master", access.master, expected)
    return url


def trust(access: MasterAccess) -> "ssl.SSLContext | None":
    """Return the verification of the master's certificate; ``None`` for plain HTTP.

    Raises:
        InputError: the file of authorities cannot be used.
    """
    from stretto.stores.kube.login.trust import verifying_context

    if address(access).scheme == "http":
        if access.ca is not None:
            raise InputError("--ca", str(access.ca), "no authorities with an http --master")
        return None
    try:
        return verifying_context(cafile=str(access.ca) if access.ca is not None else None)
    except (OSError, ValueError) as error:
        raise InputError("--ca", str(access.ca), f"certificates in PEM: {error}") from error


def authorization(access: MasterAccess) -> str:
    """Return the ``Authorization`` header; empty without credentials.

    Raises:
        InputError: both kinds of credentials are given, or a file is not usable.
    """
    from stretto.offers.master.server.credentials import read_credentials

    if access.token is not None and access.credential is not None:
        raise InputError("--token", str(access.token), "either --token or --credential")
    if access.token is not None:
        token = access.token.read_text(encoding="utf-8", errors="replace").strip()
        if not token or not all(" " < each <= "~" for each in token):
            raise InputError("--token", str(access.token), "one line of printable ASCII characters")
        return f"Bearer {token}"
    if access.credential is None:
        return ""
    first = read_credentials(access.credential)[0]
    pair = f"{first.principal}:{first.secret}".encode()
    return f"Basic {base64.b64encode(pair).decode()}"


def document(
    access: MasterAccess, path: str, query: Mapping[str, str], within: float | None = None
) -> Any:
    """Read a JSON document of the master.

    Args:
        access: the master.
        path: the path of the document.
        query: parameters of the request.
        within: maximum number of seconds for the connection and for the answer; ``None`` for the
            default.

    Raises:
        UnreachableError: the master does not answer, or answers without JSON.
        NotAllowedError: the master refuses the credentials.
        InputError: an option cannot be used.
    """
    import asyncio

    import msgspec

    name = f"the master at {access.master}"
    answer = asyncio.run(_get(access, f"{path}?{urlencode(query)}", within))
    if answer.status in (401, 403):
        hint = "name credentials with --credential or --token"
        raise NotAllowedError(f"reading {access.master}", f"it answers {answer.status}", hint)
    if answer.status != 200:
        hint = "only `stretto master` has this document" if answer.status == 404 else ""
        raise UnreachableError(name, f"it answers {answer.status} to {path}", hint)
    try:
        return msgspec.json.decode(answer.body)
    except msgspec.DecodeError as error:
        raise UnreachableError(name, f"it answers no JSON: {error}") from error


async def _get(access: MasterAccess, path: str, within: float | None) -> "HttpResponse":
    from stretto.stores.kube.login.access import FixedLogin, Login
    from stretto.stores.kube.login.messages import HttpRequest, LostError, NotSentError
    from stretto.stores.kube.transport.client import HttpClient
    from stretto.stores.kube.transport.options import KubeOptions

    login = Login(access.master.rstrip("/"), trust(access), authorization(access))
    options = KubeOptions() if within is None else KubeOptions(connect=within, answer=within)
    client = HttpClient(FixedLogin(login), options)
    try:
        return await client.exchange(HttpRequest("GET", path))
    except (NotSentError, LostError) as error:
        hint = "start it with `stretto master`"
        raise UnreachableError(f"the master at {access.master}", str(error), hint) from error
    finally:
        await client.close()
