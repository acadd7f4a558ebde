"""Recorded allocations of a Mesos master, replayed on the allocator of offers."""
