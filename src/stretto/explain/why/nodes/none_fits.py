"""Reasons why no node accepts a class of pods, with figures, the dominant one first.

Each step excludes nodes: those that the pod does not select, that are too small, that it may not
use, then those that volumes, other pods or missing capacity exclude. The step after which no node
is left gives the reason.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np

from stretto.explain.why.inquiry import Inquiry
from stretto.explain.why.nodes.excluded import chosen, exclusion_sentence
from stretto.explain.why.nodes.numa_limits import numa_limits
from stretto.explain.why.nodes.promised import promised_sentence
from stretto.explain.why.wanted import unmatched_terms
from stretto.explain.words.amounts import bare_amount, format_count
from stretto.explain.words.reasons import Reason, ReasonCode, reason, sort_reasons
from stretto.framework.contract.rule import BoolArray, SlotArray, Subject
from stretto.framework.plugins import ports
from stretto.framework.plugins.parity.volume_zone import NO_CLASS

_NOT_FOUND: Final = " not found"
_NARROWING: Final = (
    (ReasonCode.VOLUMES, Subject.VOLUMES, "Volume constraints exclude"),
    (ReasonCode.OTHER_PODS, Subject.OTHER_PODS, "Inter-pod rules exclude"),
)
"""Code, subject and start of the sentence of the rules that depend on volumes or other pods."""


def of_nodes(inquiry: Inquiry) -> list[Reason]:
    """Reasons why no node fits; empty if a node fits."""
    total = len(inquiry.slots)
    if not total:
        return [reason(ReasonCode.NO_NODES, "The cluster has no nodes.")]
    if inquiry.fits.any():
        return []
    unknown = _unknown(inquiry)
    if unknown:
        return unknown
    unusable = _unusable_claims(inquiry)
    if unusable:
        return unusable
    excluded = _excluded(inquiry)
    if excluded:
        return list(sort_reasons(excluded))
    large = inquiry.fits_when_empty()
    others = inquiry.refused_for(Subject.VOLUMES) | inquiry.refused_for(Subject.OTHER_PODS)
    if not (large & ~others).any():
        found = [_narrowed(inquiry, large, *each) for each in _NARROWING]
        return list(sort_reasons([each for each in found if each is not None]))
    large = large & ~others
    full = large & inquiry.full()
    if full.any():
        return [reason(ReasonCode.NO_CAPACITY, _no_capacity(inquiry, full))]
    return [_unavailable(inquiry, large)]


def _narrowed(
    inquiry: Inquiry, large: BoolArray, code: ReasonCode, subject: Subject, head: str
) -> Reason | None:
    """Reason for one subject, which excludes some of the nodes that would otherwise fit."""
    mask = large & inquiry.refused_for(subject)
    if not mask.any():
        return None
    names = {each.rule.NAME for each in inquiry.refused if each.rule.SUBJECT is subject}
    texts = [each.reason for each in inquiry.reasons() if each.plugin in names]
    count = format_count(int(large.sum()), "node")
    which = f"every node that is large enough ({count})"
    if not mask[large].all():
        which = f"{int(mask.sum()):,} of the {count} that are large enough"
    return reason(code, f"{head} {which}: {', '.join(texts)}.")


def _excluded(inquiry: Inquiry) -> list[Reason]:
    """Reasons why no node would fit even if every node were empty; empty if one would."""
    wanted, large, allowed = chosen(inquiry), inquiry.large(), inquiry.allowed()
    found = []
    if not (wanted & large).any():
        eligible = wanted & allowed if (wanted & allowed).any() else wanted
        among = eligible if wanted.any() else np.ones(len(inquiry.slots), np.bool_)
        if wanted.any() or not large.any():
            found.append(reason(ReasonCode.TOO_BIG, _too_big(inquiry, among)))
    if not wanted.any():
        found.append(reason(ReasonCode.NOT_ALLOWED, _unmatched(inquiry)))
    elif not (wanted & allowed).any():
        found.append(reason(ReasonCode.NOT_ALLOWED, exclusion_sentence(inquiry, wanted)))
    elif not found and not (wanted & large & allowed).any():
        sentence = exclusion_sentence(inquiry, wanted & large)
        found.append(reason(ReasonCode.NOT_ALLOWED, sentence))
    return found


def _unmatched(inquiry: Inquiry) -> str:
    """Sentence for a pod whose selector, affinity or node name no node matches."""
    total = len(inquiry.slots)
    texts = unmatched_terms(inquiry.pod, inquiry.view.nodes, inquiry.slots)
    texts = texts or [e.reason for e in inquiry.reasons() if not _is_shortage(e.reason)]
    head = (
        "The only node is not eligible"
        if total == 1
        else f"None of the {total:,} nodes is eligible"
    )
    return f"{head}: {', '.join(texts)}."


def _no_capacity(inquiry: Inquiry, full: BoolArray) -> str:
    """Sentence for nodes that are large enough but full: their number and the main shortage."""
    sizes = [each for each in inquiry.refused if each.is_size and each.resolvable]
    main = max(sizes, key=lambda each: int((each.mask & full).sum())).reason
    head = f"{_which(inquiry, full)} large enough but full (mostly {main})."
    return head + promised_sentence(inquiry.pod, inquiry.view, inquiry.slots, full)


def _unavailable(inquiry: Inquiry, nodes: BoolArray) -> Reason:
    """Reason for nodes with enough capacity that another rule refuses at present."""
    main = max(inquiry.refused, key=lambda each: int((each.mask & nodes).sum()))
    if main.rule.NAME == ports.NAME:
        count = format_count(int(nodes.sum()), "node")
        sentence = f"Its host ports are taken on every node that would otherwise fit ({count})."
        return reason(ReasonCode.PORTS, sentence)
    sentence = f"{_which(inquiry, nodes)} large enough but unavailable (mostly {main.reason})."
    return reason(ReasonCode.NO_CAPACITY, sentence)


def _which(inquiry: Inquiry, nodes: BoolArray) -> str:
    count, total = int(nodes.sum()), len(inquiry.slots)
    if count < total:
        return f"{count:,} of {total:,} nodes {'is' if count == 1 else 'are'}"
    return "The only node is" if total == 1 else f"All {total:,} nodes are"


def _unusable_claims(inquiry: Inquiry) -> list[Reason]:
    """Resource claims and PVCs of the pod that exclude every node."""
    found = []
    if any(each.rule.SUBJECT is Subject.RESOURCE_CLAIMS for each in inquiry.refused):
        sentence = (
            "It uses dynamic resource claims, which Stretto does not allocate, "
            "so no node accepts it."
        )
        found.append(reason(ReasonCode.DYNAMIC_CLAIMS, sentence))
    found.extend(
        reason(ReasonCode.VOLUME_CLAIMS, _unusable(each.reason))
        for each in inquiry.refused
        if each.nowhere and each.rule.SUBJECT is Subject.VOLUMES
    )
    return found


def _unusable(text: str) -> str:
    """Sentence for PVCs that exclude every node, with the fix."""
    if text.startswith("persistentvolumeclaim ") and text.endswith(_NOT_FOUND):
        text += "; create it, or submit it with the pod"
    elif text.startswith("storageclass") and text.endswith(_NOT_FOUND):
        text += "; create it, or name an existing StorageClass in the PVC"
    elif text in NO_CLASS.reasons:
        text = (
            "a PVC names neither a StorageClass nor a volume, and the cluster has no default "
            "StorageClass; name one in the PVC"
        )
    return f"Its PVCs cannot be used: {text}."


def _is_shortage(text: str) -> bool:
    return text.startswith(("Insufficient", "Too many pods"))


def _too_big(inquiry: Inquiry, among: BoolArray) -> str:
    """Sentence for nodes that are all too small: the resource, or the closest node."""
    slots, count = inquiry.slots[among], int(among.sum())
    beyond = [*_beyond(inquiry, slots), *numa_limits(inquiry, slots)]
    near = inquiry.nearest(1)
    if not beyond and near and near[0].lacks:
        beyond = [f"closest is {near[0].node}: {near[0].lacks[0].text}"]
    head = (
        "The only eligible node is not large enough, even empty"
        if count == 1
        else f"None of the {count:,} eligible nodes is large enough, even empty"
    )
    others = int((inquiry.large() & ~among).sum())
    tail = ""
    if others:
        nodes = f"{format_count(others, 'other node')} {'is' if others == 1 else 'are'}"
        tail = f" {nodes} large enough, but the pod does not select {_them(others)}."
    return f"{head} ({'; '.join(beyond)}).{tail}" if beyond else f"{head}.{tail}"


def _them(count: int) -> str:
    return "it" if count == 1 else "them"


def _beyond(inquiry: Inquiry, slots: SlotArray) -> Iterator[str]:
    """Each requested amount that is larger than the capacity of every given node."""
    ledger = inquiry.view.columns.ledger
    for column, amount in inquiry.pod.requests:
        most = int(ledger.alloc[slots, column].max())
        if most < amount:
            name = ledger.resources.names[column]
            yield f"{name}: requests {bare_amount(name, amount)}, largest {bare_amount(name, most)}"
    for request in inquiry.pod.devices:
        of_kind = ledger.devices.kind[slots] == ledger.devices.kind_number(request.kind)
        most = int(of_kind.sum(axis=1).max())
        if most < request.count:
            yield f"{request.kind}: requests {request.count}, largest {most}"


def _unknown(inquiry: Inquiry) -> list[Reason]:
    """Resources that no node offers, and device models that no node has."""
    ledger = inquiry.view.columns.ledger
    found = []
    for column, amount in inquiry.pod.requests:
        if amount > 0 and not ledger.alloc[inquiry.slots, column].any():
            sentence = f"It requests {ledger.resources.names[column]}, which no node offers."
            found.append(reason(ReasonCode.UNKNOWN_RESOURCE, sentence))
    for request in inquiry.pod.devices:
        kind = ledger.devices.kind_number(request.kind)
        of_kind = ledger.devices.kind[inquiry.slots] == kind
        if not of_kind.any():
            sentence = f"It requests {request.kind}, which no node offers."
            found.append(reason(ReasonCode.UNKNOWN_RESOURCE, sentence))
            continue
        names = ledger.devices.model_names
        present = {names[n] for n in set(ledger.devices.model[inquiry.slots][of_kind].tolist())}
        if request.models and not present & set(request.models):
            sentence = (
                f"It requests {request.kind} of model {' or '.join(request.models)}; "
                f"nodes have {', '.join(sorted(filter(None, present))) or 'no named model'}."
            )
            found.append(reason(ReasonCode.UNKNOWN_MODEL, sentence))
    return found
