"""Exchange between the shards of a federation: one small report of each shard."""
