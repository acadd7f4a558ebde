"""The planners of KubeAdmiral, with its rounding, ties and quirks.

This package contains functions whose results equal those of KubeAdmiral. Improved rules are in
`division` and `rollout`.
"""
