"""The default rollout: one rolling update over all clusters, under one budget.

This package contains the reports of members, policies, and the next specification of every member.
"""
