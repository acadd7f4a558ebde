"""Rules about names, labels and other texts, with the messages of kube-apiserver."""

import ipaddress
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final

from stretto.api.checks.fields.errors import (
    Errors,
    FieldError,
    first_errors,
    invalid,
    quoted,
    required,
    too_long,
)
from stretto.api.wire.names import LABEL_CHARS, SUBDOMAIN_CHARS

_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_DNS1035: Final = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_QUALIFIED: Final = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_PLAIN_NAME: Final = re.compile(
    r"(?:[a-z0-9]++(?:[-.][a-z0-9]++)*+/)?+[A-Za-z0-9]++(?:[-_.][A-Za-z0-9]++)*+"
)
"""Most qualified names; those of at most 63 characters need no other check."""
_SEARCH: Final = re.compile(
    r"_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*"
)
_WILDCARD: Final = re.compile(
    r"\*\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
)
_CONFIG_KEY: Final = re.compile(r"[-._a-zA-Z0-9]+")
_URL_PATH: Final = re.compile(r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+")
_SHORT_LIMIT: Final = 52
_ANNOTATIONS_LIMIT: Final = 256 << 10

ADDRESS_TEXT: Final = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
NETWORK_TEXT: Final = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
_ENV_TEXT: Final = (
    "a valid environment variable name must consist only of printable ASCII characters other than "
    "'='"
)
_URL_PATH_TEXT: Final = (
    "Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')"
)
_CONFIG_KEY_TEXT: Final = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. "
    "'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
)
_SEARCH_TEXT: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' "
    "or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex "
    "used for validation is "
    "'_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*')"
)
_WILDCARD_TEXT: Final = (
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which "
    "must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric "
    "character (e.g. '*.example.com', regex used for validation is "
    "'\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
LABEL_TEXT: Final = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used "
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
SUBDOMAIN_TEXT: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
DNS1035_TEXT: Final = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
    "alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', "
    "regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
)
LABEL_VALUE_TEXT: Final = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  "
    "or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
_NAME_PART: Final = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end "
    "with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
_QUALIFIED_SHAPE: Final = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start "
    "and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex "
    "used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS "
    "subdomain prefix and '/' (e.g. 'example.com/MyName')"
)


_PORT: Final = re.compile("[-a-z0-9]+")
_PORT_LIMIT: Final = 15
_HEADER: Final = re.compile("[-A-Za-z0-9]+")
_HEADER_TEXT: Final = (
    "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', "
    "regex used for validation is '[-A-Za-z0-9]+')"
)


def dns_label(text: str) -> list[str]:
    """Return the problems of an RFC 1123 label."""
    found = _length(text, LABEL_CHARS)
    if _LABEL.fullmatch(text):
        return found
    return [*found, "must not contain dots" if _SUBDOMAIN.fullmatch(text) else LABEL_TEXT]


def dns_subdomain(text: str, unit: str = "characters") -> list[str]:
    """Return the problems of an RFC 1123 subdomain; the message counts characters or bytes."""
    found = _length(text, SUBDOMAIN_CHARS, unit)
    return found if _SUBDOMAIN.fullmatch(text) else [*found, SUBDOMAIN_TEXT]


def short_subdomain(text: str) -> list[str]:
    """Return the problems of a name to which a controller appends a suffix."""
    found = dns_subdomain(text)
    if len(text) > _SHORT_LIMIT:
        found.append(f"must be no more than {_SHORT_LIMIT} characters")
    return found


def address_name(text: str) -> list[str]:
    """Return the problems of a name that is an IP address in canonical form."""
    try:
        shown = str(ipaddress.ip_address(text))
    except ValueError:
        return [ADDRESS_TEXT]
    return [] if shown == text else [f"must be in canonical form ({quoted(shown)})"]


def dns_1035(text: str) -> list[str]:
    """Return the problems of a DNS-1035 label."""
    found = _length(text, LABEL_CHARS)
    return found if _DNS1035.fullmatch(text) else [*found, DNS1035_TEXT]


def config_key(text: str) -> list[str]:
    """Return the problems of a key of a ConfigMap or a Secret."""
    found = _length(text, SUBDOMAIN_CHARS)
    if not _CONFIG_KEY.fullmatch(text):
        found.append(_CONFIG_KEY_TEXT)
    elif text in (".", ".."):
        found.append(f"must not be '{text}'")
    elif text.startswith(".."):
        found.append("must not start with '..'")
    return found


def port_name(text: str) -> list[str]:
    """Return the problems of the name of a port."""
    found = _length(text, _PORT_LIMIT)
    if not _PORT.fullmatch(text):
        found.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not any("a" <= each <= "z" for each in text):
        found.append("must contain at least one letter (a-z)")
    if "--" in text:
        found.append("must not contain consecutive hyphens")
    if text.startswith("-") or text.endswith("-"):
        found.append("must not begin or end with a hyphen")
    return found


def header_name(text: str) -> list[str]:
    """Return the problems of the name of an HTTP header."""
    return [] if _HEADER.fullmatch(text) else [_HEADER_TEXT]


def env_name(text: str) -> list[str]:
    """Return the problems of the name of an environment variable."""
    is_valid = text.isascii() and text.isprintable() and "=" not in text
    return [] if is_valid else [_ENV_TEXT]


def search_domain(text: str) -> list[str]:
    """Return the problems of a search domain of DNS, which may have underscores."""
    plain = text.removesuffix(".") if len(text) > 1 else text
    found = _length(plain, SUBDOMAIN_CHARS)
    return found if text == "." or _SEARCH.fullmatch(plain) else [*found, _SEARCH_TEXT]


def wildcard_subdomain(text: str) -> list[str]:
    """Return the problems of a subdomain that begins with a wildcard."""
    found = _length(text, SUBDOMAIN_CHARS)
    return found if _WILDCARD.fullmatch(text) else [*found, _WILDCARD_TEXT]


def fully_qualified(text: str, segments: int = 2) -> list[str]:
    """Return the problems of a domain name with a minimum number of segments."""
    plain = text.removesuffix(".") if segments == 2 else text
    problems = dns_subdomain(plain)
    if problems:
        return problems
    if len(plain.split(".")) < segments:
        words = {2: "two", 3: "three"}
        return [f"should be a domain with at least {words[segments]} segments separated by dots"]
    return []


def driver_name(text: str, field: str) -> Errors:
    """Check the name of a driver of volumes or devices."""
    found = [too_long(field, LABEL_CHARS)] if len(text) > LABEL_CHARS else []
    return found + [invalid(field, text, each) for each in dns_subdomain(text.lower())]


def domain_path(text: str, field: str) -> Errors:
    """Check a path with a domain as its first segment."""
    if not text:
        return [required(field)]
    domain, slash, rest = text.partition("/")
    if not slash or not domain or not rest:
        detail = 'must be a domain-prefixed path (such as "acme.io/foo")'
        return [invalid(field, text, detail)]
    found = [invalid(field, domain, each) for each in dns_subdomain(domain)]
    if not _URL_PATH.fullmatch(rest):
        found.append(invalid(field, rest, _URL_PATH_TEXT))
    return found


def path_segment(text: str) -> list[str]:
    """Return the problems of a name that must only be valid in a path."""
    if text in (".", ".."):
        return [f"may not be '{text}'"]
    return [f"may not contain '{each}'" for each in ("/", "%") if each in text]


def label_value(text: str) -> list[str]:
    """Return the problems of the value of a label."""
    found = _length(text, LABEL_CHARS, "bytes")
    if text and not _QUALIFIED.fullmatch(text):
        found.append(LABEL_VALUE_TEXT)
    return found


def label_key(text: str) -> list[str]:
    """Return the problems of the key of a label."""
    return qualified_name(text)


def qualified_name(text: str) -> list[str]:
    """Return the problems of a qualified name, such as the name of a resource."""
    if len(text) <= LABEL_CHARS and _PLAIN_NAME.fullmatch(text):
        return []
    prefix, slash, name = text.rpartition("/")
    found = []
    if slash:
        if "/" in prefix:
            return [f"a valid label key {_QUALIFIED_SHAPE}"]
        if not prefix:
            found.append("prefix part must be non-empty")
        else:
            found += [f"prefix part {each}" for each in dns_subdomain(prefix, "bytes")]
    if not name:
        found.append("name part must be non-empty")
    elif len(name) > LABEL_CHARS:
        found.append(f"name part must be no more than {LABEL_CHARS} bytes")
    if not _QUALIFIED.fullmatch(name):
        found.append(_NAME_PART)
    return found


def _length(text: str, limit: int, unit: str = "characters") -> list[str]:
    is_long = len(text) > limit or (not text.isascii() and len(text.encode()) > limit)
    return [f"must be no more than {limit} {unit}"] if is_long else []


_NAME: Final = "[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?+"
_NAMES: Final = re.compile(rf"(?:(?:[a-z0-9]++(?:[-.][a-z0-9]++)*+/)?+{_NAME}\n)*+")
"""Lines of names, which may have a prefix."""
_VALUES: Final = re.compile(rf"(?:(?:{_NAME})?+\n)*+")
"""Lines of names without a prefix, which may be empty."""


def _are_plain(texts: Iterable[str], lines: re.Pattern[str]) -> bool:
    """Return whether all texts are valid: most are, and one expression reads all of them.

    Args:
        texts: the texts.
        lines: the expression for the lines of valid texts, which may refuse valid ones.
    """
    found = [*texts]
    joined = "\n".join(found) + "\n"
    is_plain = len(max(found, key=len)) <= SUBDOMAIN_CHARS and joined.count("\n") == len(found)
    return is_plain and lines.fullmatch(joined) is not None


def are_qualified_names(texts: Collection[str]) -> bool:
    """Return whether all texts are plain qualified names; false for some valid ones."""
    return not texts or _are_plain(texts, _NAMES)


def check_labels(labels: Mapping[str, Any] | None, field: str) -> Errors:
    """Check keys and values of labels."""
    if not labels or (
        _are_plain(labels, _NAMES) and _are_plain(map(str, labels.values()), _VALUES)
    ):
        return []
    return first_errors(_label_errors(labels, field))


def _label_errors(labels: Mapping[str, Any], field: str) -> Iterator[FieldError]:
    for key in sorted(labels):
        value = labels[key]
        for problem in label_key(key):
            yield invalid(field, key, problem)
        for problem in label_value(str(value)):
            yield invalid(field, value, problem)


def check_annotations(annotations: Mapping[str, Any] | None, field: str) -> Errors:
    """Check keys and the total size of annotations."""
    if not annotations:
        return []
    found: Errors = []
    if not _are_plain(annotations, _NAMES):
        names = ((key, qualified_name(key.lower())) for key in sorted(annotations))
        found += first_errors(
            invalid(field, key, each) for key, problems in names for each in problems
        )
    total = sum(len(key.encode()) + len(str(each).encode()) for key, each in annotations.items())
    if total > _ANNOTATIONS_LIMIT:
        found.append(too_long(field, _ANNOTATIONS_LIMIT))
    return found
