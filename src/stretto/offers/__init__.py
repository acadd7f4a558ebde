"""Resource offers: Mesos' two-level scheduling over the same pool.

Here: the allocator, the messages of Mesos' API and the master. Not here: pods and their scheduling.
"""
