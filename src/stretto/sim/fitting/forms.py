"""The pod template whose copies are placed."""

from pathlib import Path

from stretto.api.wire.kinds import POD
from stretto.base.errors import InputError
from stretto.inputs.objects.admission import InputContext
from stretto.inputs.objects.manifests import ManifestOptions, load_with_notes
from stretto.inputs.objects.relations import InputObject
from stretto.plane.copy import StoreState
from stretto.sim.submission.applied import nodes_of


def first_pod(path: Path, namespace: str, state: StoreState) -> InputObject:
    """The first pod of a manifest, as it would be created in a state.

    Raises:
        InputError: the manifest cannot be read or has no pods.
    """
    refused: list[str] = []
    settings = ManifestOptions(namespace, keep_missing_owners=True)
    context = InputContext([(each.kind, each.body) for each in state.records], refused)
    objects, _ = load_with_notes([path], settings, nodes_of(state.records), context)
    for each in objects:
        if each.kind is POD:
            return each
    hint = refused[0] if refused else "a Pod, or a controller with at least one replica"
    raise InputError("MANIFEST", str(path), "an object with pods", hint)
