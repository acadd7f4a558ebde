"""Application of NodeOvercommitConfig events: the configured ratios of node pools."""

from collections.abc import Iterable
from typing import Final

import msgspec

from stretto.api.types.capacity.overcommit import NodeOvercommitConfig
from stretto.state.cluster.cluster import Cluster
from stretto.stores.store import EventType, WatchEvent

_CONFIG: Final = msgspec.json.Decoder(NodeOvercommitConfig)


def apply_overcommit_configs(cluster: Cluster, events: Iterable[WatchEvent]) -> None:
    """Apply events of NodeOvercommitConfigs; an unreadable one fails alone and sets no ratio."""
    for event in events:
        name = event.record.name
        key = f"nodeovercommitconfig {name}"
        cluster.abnormal.pop(key, None)
        cluster.overcommit_configs.pop(name, None)
        if event.type is EventType.DELETED:
            continue
        try:
            config = _CONFIG.decode(event.record.body)
        except (msgspec.DecodeError, RecursionError) as error:
            cluster.abnormal[key] = f"{key}: {error}"
            continue
        meta = msgspec.structs.replace(config.metadata, name=name, uid=event.record.uid)
        cluster.overcommit_configs[name] = msgspec.structs.replace(config, metadata=meta)
