"""Warnings about addresses and networks of objects that are not in their canonical form."""

from collections.abc import Callable, Iterator
from typing import Any, Final

from stretto.api.checks.fields.addresses import address_warnings, network_warnings

Json = dict[str, Any]


def form_warnings(key: tuple[str, str], item: Json) -> list[str]:
    """Return the warnings about the addresses of an object of a kind, by group and kind."""
    found = _PLACES.get(key)
    return [] if found is None else list(found(item))


def service_form_warnings(spec: Json) -> Iterator[str]:
    """Yield the warnings about the addresses of a Service that clients and balancers use."""
    for index, text in enumerate(spec.get("externalIPs") or ()):
        yield from address_warnings(f"spec.externalIPs[{index}]", text)
    yield from address_warnings("spec.loadBalancerIP", spec.get("loadBalancerIP") or "")
    for index, text in enumerate(spec.get("loadBalancerSourceRanges") or ()):
        yield from network_warnings(f"spec.loadBalancerSourceRanges[{index}]", text)


def pod_form_warnings(spec: Json, path: str) -> Iterator[str]:
    """Yield the warnings about the addresses in the spec of a pod."""
    servers = (spec.get("dnsConfig") or {}).get("nameservers") or ()
    for index, text in enumerate(servers):
        yield from address_warnings(f"{path}.dnsConfig.nameservers[{index}]", text)
    for index, each in enumerate(spec.get("hostAliases") or ()):
        yield from address_warnings(f"{path}.hostAliases[{index}].ip", each.get("ip", ""))


def _node(item: Json) -> Iterator[str]:
    for index, text in enumerate((item.get("spec") or {}).get("podCIDRs") or ()):
        yield from network_warnings(f"spec.podCIDRs[{index}]", text)


def _endpoints(item: Json) -> Iterator[str]:
    for index, subset in enumerate(item.get("subsets") or ()):
        for word in ("addresses", "notReadyAddresses"):
            for number, each in enumerate(subset.get(word) or ()):
                where = f"subsets[{index}].{word}[{number}].ip"
                yield from address_warnings(where, each.get("ip", ""))


def _network_policy(item: Json) -> Iterator[str]:
    spec = item.get("spec") or {}
    for rules, peers in (("ingress", "from"), ("egress", "to")):
        for index, rule in enumerate(spec.get(rules) or ()):
            for number, peer in enumerate(rule.get(peers) or ()):
                where = f"spec.{rules}[{index}].{peers}[{number}].ipBlock"
                yield from _block(peer.get("ipBlock") or {}, where)


def _block(block: Json, path: str) -> Iterator[str]:
    yield from network_warnings(f"{path}.cidr", block.get("cidr") or "")
    for index, text in enumerate(block.get("except") or ()):
        yield from network_warnings(f"{path}.except[{index}]", text)


_PLACES: Final[dict[tuple[str, str], Callable[[Json], Iterator[str]]]] = {
    ("", "Node"): _node,
    ("", "Endpoints"): _endpoints,
    ("networking.k8s.io", "NetworkPolicy"): _network_policy,
}
"""Places of addresses by group and kind."""
