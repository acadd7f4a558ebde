"""The rollout planner of KubeAdmiral's first release.

The rollouts of the product are in ``stretto.federation.planner.rollout``; its planners that equal
those of later releases are in ``stretto.federation.planner.kubeadmiral``.
"""
