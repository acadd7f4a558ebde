"""Federation: one workload in many clusters.

Here belong the planners and the scheduling of clusters. Stores, daemons and the pods of one cluster
do not.
"""
