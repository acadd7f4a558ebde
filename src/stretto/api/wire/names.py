"""What may be written as a name, a label or an annotation key: Kubernetes' rules, with the reason.

Each check returns what it was given, so that it reads well inside an expression.
"""

import re
from collections.abc import Sequence
from typing import Final

from stretto.base.errors import InputError

_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_PART: Final = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = re.compile(rf"{_PART}(?:\.{_PART})*")
_SUBDOMAINS: Final = re.compile(rf"(?:{_PART}(?:\.{_PART})*,)*+")
_QUALIFIED: Final = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")

LABEL_CHARS: Final = 63
"""DNS stops a label here (RFC 1123), and Kubernetes its label keys and values too."""

SUBDOMAIN_CHARS: Final = 253
"""DNS stops a whole name here."""


def dns_label(text: str, where: str) -> str:
    """A name that may become one part of a host name: namespaces, containers, ports."""
    if len(text) > LABEL_CHARS or not _LABEL.fullmatch(text):
        raise InputError(
            where,
            text or None,
            f"a DNS label: at most {LABEL_CHARS} of a-z, 0-9 and '-', no '-' at either end",
            "rename it, for example to web-1",
        )
    return text


def dns_subdomain(text: str, where: str) -> str:
    """A name that may become a host name: pods, nodes and nearly all else."""
    if not is_dns_subdomain(text):
        raise InputError(
            where,
            text or None,
            f"a DNS-1123 name: at most {SUBDOMAIN_CHARS} of a-z, 0-9, '-' and '.', "
            "beginning and ending with a letter or digit",
            "rename it, for example to web-1.example",
        )
    return text


def is_dns_subdomain(text: str) -> bool:
    """Whether ``text`` may become a host name."""
    return len(text) <= SUBDOMAIN_CHARS and _SUBDOMAIN.fullmatch(text) is not None


def are_dns_subdomains(texts: Sequence[str]) -> bool:
    """Whether all of them may become host names: at a quarter of the price of asking for each."""
    joined = ",".join((*texts, ""))
    return (
        _SUBDOMAINS.fullmatch(joined) is not None
        and joined.count(",") == len(texts)
        and max(map(len, texts), default=0) <= SUBDOMAIN_CHARS
    )


def label_key(text: str, where: str) -> str:
    """A label or annotation key: ``name`` or ``prefix.example/name``."""
    prefix, slash, name = text.rpartition("/")
    good = len(name) <= LABEL_CHARS and _QUALIFIED.fullmatch(name) is not None
    if not good or (slash and not is_dns_subdomain(prefix)):
        raise InputError(
            where,
            text or None,
            f"a label key: at most {LABEL_CHARS} of letters, digits, '-', '_' and '.', "
            "with an optional DNS prefix and '/' before",
            "write it like app or example.com/app",
        )
    return text


def label_value(text: str, where: str) -> str:
    """A label's value: empty, or like a key's name."""
    if text and (len(text) > LABEL_CHARS or not _QUALIFIED.fullmatch(text)):
        raise InputError(
            where,
            text,
            f"a label value: at most {LABEL_CHARS} of letters, digits, '-', '_' and '.', "
            "beginning and ending with a letter or digit",
            "free text belongs in an annotation",
        )
    return text
