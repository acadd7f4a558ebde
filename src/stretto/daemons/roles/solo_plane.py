"""The configuration of a shard role: a plane with one shard and without queues."""

from dataclasses import replace

import msgspec

from stretto.api.types.godel import QueuePolicy
from stretto.control.queues.config import QueueConfig, dispatcher_config
from stretto.daemons.roles.fleet_liveness import BEAT_EVERY
from stretto.plane.config import PlaneConfig
from stretto.state.work.units import DEFAULT_QUEUE


class ShardConfig(msgspec.Struct, frozen=True):
    """Settings of the shard role in addition to the plane's."""

    #: Name of the shard and of its Scheduler object.
    name: str
    #: Seconds between heartbeats.
    beat_every: float = BEAT_EVERY
    #: True if the nodes of the shard's share are tried first.
    partition: bool = True


def solo_plane_config(config: PlaneConfig, wire: ShardConfig) -> PlaneConfig:
    """A plane of one shard; its units are ordered by priority only.

    The dispatcher has already applied the queues.
    """
    order = QueueConfig(DEFAULT_QUEUE, policy=QueuePolicy.PRIORITY)
    queues = config.dispatcher or dispatcher_config(config.profile)
    queues = replace(queues, other_queues=order, queues=())
    shape = msgspec.structs.replace(config.cluster, shard=wire.name if wire.partition else "")
    return msgspec.structs.replace(
        config, shards=1, partition=wire.partition, dispatcher=queues, cluster=shape
    )
