"""The objects of a cluster at the end of a recording."""

from pathlib import Path

import msgspec

from stretto.api.wire.kinds import POD, Kind
from stretto.base.clock import parse_timestamp
from stretto.base.errors import InputError
from stretto.inputs.objects.recordings import (
    ChangeType,
    RecordedChange,
    Recording,
    load_recording,
)
from stretto.plane.copy import PlaneSettings, StoreState
from stretto.sim.history.histories import history_of
from stretto.stores.store import Record


def end_of_recording(path: Path) -> StoreState:
    """The state at the end of a recording.

    Raises:
        InputError: the file is not a recording, or a line is invalid.
    """
    recording = load_recording(path)
    last: dict[tuple[Kind, str, str], RecordedChange] = {}
    for change in (*recording.start, *recording.changes):
        key = (change.kind, change.namespace, change.name)
        if change.type is ChangeType.DELETED:
            last.pop(key, None)
        else:
            last[key] = change
    names = history_of(recording).scheduler_names
    settings = PlaneSettings(scheduler_names=names) if names else PlaneSettings()
    records = [_record(change, number) for number, change in enumerate(last.values(), 1)]
    return StoreState(f"recording {path}", records, "default", settings, _ended(recording))


def _record(change: RecordedChange, version: int) -> Record:
    """A Record of a recorded object."""
    meta = change.body.get("metadata") or {}
    spec = change.body.get("spec") or {}
    node = str(spec.get("nodeName") or "") if change.kind is POD else ""
    return Record(
        kind=change.kind,
        namespace=change.namespace,
        name=change.name,
        uid=change.uid or f"recorded-{version}",
        version=version,
        body=msgspec.json.encode(change.body),
        node=node,
        created=str(meta.get("creationTimestamp") or ""),
    )


def _ended(recording: Recording) -> float | None:
    """Wall time of the end; ``None`` if the recording has no start time."""
    try:
        return parse_timestamp(recording.header.started) + recording.seconds
    except InputError:
        return None
