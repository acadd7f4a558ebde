"""The planners of KubeAdmiral, with its rounding, ties and quirks.

Here belong functions whose results equal those of KubeAdmiral. Better rules do not: they are in
`division` and `rollout`.
"""
