"""The cluster state of one engine process.

Pods, nodes and amounts are columns of numbers. Dispatcher, scheduler and binder share this state
and nothing else. `state` imports `stores`, `api` and `base`.
"""
