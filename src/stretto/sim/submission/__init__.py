"""Effects of a submission: on existing objects, pods of controllers and quotas."""
