"""URLs: the values of ``url()``, parsed as by Go's package ``net/url``."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qs, quote, unquote

from stretto.api.checks.fields.errors import quoted
from stretto.cel.language.types import CelType, struct
from stretto.cel.running.values import CelOpaque, EvaluationError

_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_ESCAPE: Final = re.compile(r"%(?![0-9A-Fa-f]{2})(.{0,2})", re.DOTALL)
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_HOST: Final = re.compile(r"(\[[^\]]*\]|[^:]*)(?::(.*))?", re.DOTALL)
_BAD_HOST: Final = re.compile(r"[ \"<>\\^`{|}]")
_PATH: Final = "/:@&=+$,;!'()*~-._%"
_URL: Final = struct("kubernetes.URL")


@dataclass(frozen=True)
class UrlValue(CelOpaque):
    """A URL."""

    #: The scheme; empty without.
    scheme: str
    #: Host and port.
    host: str
    #: The path with its escapes.
    path: str
    #: The query without the question mark.
    query: str
    kind: CelType = _URL

    @property
    def native(self) -> str:
        """Go's type and text of the value."""
        head = f"{self.scheme}:" if self.scheme else ""
        host = f"//{self.host}" if self.host or self.scheme else ""
        return f"(*url.URL){head}{host}{self.path}{f'?{self.query}' if self.query else ''}"

    @property
    def hostname(self) -> str:
        """The host without the port and without brackets."""
        match = _HOST.fullmatch(self.host)
        return (match[1] if match else self.host).strip("[]")

    @property
    def port(self) -> str:
        """The port; empty without."""
        match = _HOST.fullmatch(self.host)
        return (match[2] or "") if match else ""


def url_problem(text: str) -> str:
    """Return why a text is no absolute URL; empty if it is one. The text is that of Go."""
    if _CONTROL.search(text):
        return f"parse {quoted(text)}: net/url: invalid control character in URL"
    if not text:
        return f"parse {quoted(text)}: empty url"
    if text.startswith(":"):
        return f"parse {quoted(text)}: missing protocol scheme"
    match = _SCHEME.match(text)
    rest = text[match.end() :] if match else text
    if not rest.startswith("/") and not (match and rest):
        return f"parse {quoted(text)}: invalid URI for request"
    if not match and not text.startswith("/"):
        return f"parse {quoted(text)}: invalid URI for request"
    problem = _host_problem(rest.split("/")[2]) if rest.startswith("//") and match else ""
    escape = _ESCAPE.search(rest.partition("?")[0])
    if not problem and escape:
        problem = f"invalid URL escape {quoted('%' + escape[1])}"
    return f"parse {quoted(text)}: {problem}" if problem else ""


def _host_problem(authority: str) -> str:
    host = re.split(r"[?#]", authority)[0].rpartition("@")[2]
    match = _HOST.fullmatch(host)
    if match is None or (match[2] and not match[2].isdecimal()):
        port = host.rpartition(":")[2]
        return f"invalid port {quoted(':' + port)} after host"
    bad = _BAD_HOST.search(host)
    return f"invalid character {quoted(bad[0])} in host name" if bad else ""


def _url(text: str) -> UrlValue:
    problem = url_problem(text)
    if problem:
        raise EvaluationError(f"URL parse error during conversion from string: {problem}")
    rest = text.partition("#")[0]
    match = _SCHEME.match(rest)
    scheme = match[1].lower() if match else ""
    rest, _, query = rest[match.end() if match else 0 :].partition("?")
    host = ""
    if rest.startswith("//"):
        host, slash, path = rest[2:].partition("/")
        host, rest = host.rpartition("@")[2], f"{slash}{path}"
    return UrlValue(scheme, unquote(host), quote(rest, safe=_PATH), query)


def _query(value: UrlValue) -> dict[str, list[str]]:
    return parse_qs(value.query, keep_blank_values=True)


URLS: Final[Mapping[str, Any]] = {
    "url": _url,
    "isURL": lambda text: not url_problem(text),
    "getScheme": lambda value: value.scheme,
    "getHost": lambda value: value.host,
    "getHostname": lambda value: value.hostname,
    "getPort": lambda value: value.port,
    "getEscapedPath": lambda value: value.path,
    "getQuery": _query,
}
"""Functions of URLs by name."""
