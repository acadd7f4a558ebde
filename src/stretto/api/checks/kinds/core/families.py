"""Rules of the addresses of a Service and of their families."""

from collections.abc import Iterator
from typing import Final

from stretto.api.checks.fields.addresses import address_of, address_problems
from stretto.api.checks.fields.errors import (
    Errors,
    FieldError,
    duplicate,
    first_errors,
    invalid,
    repeated,
    unsupported,
)
from stretto.api.checks.kinds.values import Json, one_of

FAMILIES: Final = ("IPv4", "IPv6")
"""Families of addresses."""
_POLICIES: Final = ("PreferDualStack", "RequireDualStack", "SingleStack")
_MOST: Final = 2
_ADDRESSES: Final = "spec.clusterIPs"


def is_headless(spec: Json) -> bool:
    """Return whether a Service has no address of its own."""
    return (spec.get("clusterIPs") or [spec.get("clusterIP")]) == ["None"]


def family_of(address: str) -> str:
    """Return the family of a valid address."""
    found = address_of(address)
    return "" if found is None else f"IPv{found.version}"


def check_addresses(spec: Json) -> Errors:
    """Check addresses, families and their policy, which the type ``ExternalName`` lacks."""
    if spec.get("type") == "ExternalName":
        return []
    addresses, families = spec.get("clusterIPs") or [], spec.get("ipFamilies") or []
    found: Errors = []
    if addresses and not spec.get("clusterIP"):
        detail = "must be empty when `clusterIP` is not specified"
        found.append(invalid(_ADDRESSES, addresses, detail))
    elif addresses and addresses[0] != spec["clusterIP"]:
        found.append(invalid(_ADDRESSES, addresses, "first value must match `clusterIP`"))
    again = repeated(families)
    for index, family in enumerate(families):
        where = f"spec.ipFamilies[{index}]"
        found += one_of(family, where, FAMILIES)
        if index in again:
            found.append(duplicate(where, family))
    policy = spec.get("ipFamilyPolicy")
    if policy is not None and policy not in _POLICIES:
        found.append(unsupported("spec.ipFamilyPolicy", policy, _POLICIES))
    malformed = first_errors(_malformed(addresses))
    found += malformed
    if len(addresses) > _MOST:
        found.append(invalid(_ADDRESSES, addresses, f"may only hold up to {_MOST} values"))
    return found if malformed else found + _matching(spec, addresses, families)


def _malformed(addresses: list[str]) -> Iterator[FieldError]:
    for index, address in enumerate(addresses):
        if index == 0 and address == "None":
            if len(addresses) > 1:
                detail = "'None' must be the first and only value"
                yield invalid(_ADDRESSES, addresses, detail)
        else:
            for problem in address_problems(address):
                yield invalid(f"{_ADDRESSES}[{index}]", address, problem)


def _matching(spec: Json, addresses: list[str], families: list[str]) -> Errors:
    """Check that valid addresses have distinct families, and those that are stated."""
    if is_headless(spec):
        return []
    actual = [family_of(address) for address in addresses]
    found: Errors = []
    if len(addresses) > 1 and sorted(actual) != list(FAMILIES):
        detail = "may specify no more than one IP for each IP family"
        found.append(invalid(_ADDRESSES, addresses, detail))
    pairs = zip(addresses, actual, families, strict=False)
    for index, (address, family, stated) in enumerate(pairs):
        if stated in FAMILIES and family != stated:
            detail = f"expected an {stated} value as indicated by `ipFamilies[{index}]`"
            found.append(invalid(f"{_ADDRESSES}[{index}]", address, detail))
    return found
