"""Rules of Kubernetes for names, label keys and label values.

Each check returns its argument, so that it can be used in an expression.
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
"""Maximum length of a DNS label (RFC 1123), and of label keys and values in Kubernetes."""

SUBDOMAIN_CHARS: Final = 253
"""Maximum length of a DNS name."""


def dns_label(text: str, where: str) -> str:
    """Check a name that must be one part of a host name: namespaces, containers, volumes."""
    if len(text) > LABEL_CHARS or not _LABEL.fullmatch(text):
        raise InputError(
            where,
            text or None,
            f"a DNS label: at most {LABEL_CHARS} of a-z, 0-9 and '-', no '-' at either end",
            "rename it, for example to web-1",
        )
    return text


def dns_subdomain(text: str, where: str) -> str:
    """Check a name that must be a host name: pods, nodes and most other kinds."""
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
    """Return whether ``text`` is a valid host name."""
    return len(text) <= SUBDOMAIN_CHARS and _SUBDOMAIN.fullmatch(text) is not None


def is_path_segment(text: str) -> bool:
    """Return whether ``text`` is valid in a URL path: names of roles and their bindings."""
    return bool(text) and text not in (".", "..") and not set(text) & {"/", "%"}


def are_dns_subdomains(texts: Sequence[str]) -> bool:
    """Return whether all texts are valid host names; four times as fast as one call for each."""
    joined = ",".join((*texts, ""))
    return (
        _SUBDOMAINS.fullmatch(joined) is not None
        and joined.count(",") == len(texts)
        and max(map(len, texts), default=0) <= SUBDOMAIN_CHARS
    )


def label_key(text: str, where: str) -> str:
    """Check a label or annotation key: ``name`` or ``prefix.example/name``."""
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
    """Check a label value: empty, or with the syntax of a key name."""
    if text and (len(text) > LABEL_CHARS or not _QUALIFIED.fullmatch(text)):
        raise InputError(
            where,
            text,
            f"a label value: at most {LABEL_CHARS} of letters, digits, '-', '_' and '.', "
            "beginning and ending with a letter or digit",
            "free text belongs in an annotation",
        )
    return text
