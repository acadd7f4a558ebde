"""Resource offers: Mesos' two-level scheduling over the same pool.

This package contains the allocator, the messages of Mesos' API and the master. It does not contain
pods and their scheduling.
"""
