"""Federation: one workload in many clusters.

This package contains the planners, the scheduling of clusters and the controllers. It contains no
stores, no daemons and no scheduling of pods.
"""
