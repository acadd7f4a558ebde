"""Queues: order within a queue, fairness between queues, backfill, guarantees and reclaim."""
