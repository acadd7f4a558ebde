"""The cluster state of one engine process.

Pods, nodes and amounts are columns of numbers. Dispatcher, scheduler and binder share only this
state. `state` imports `stores`, `api` and `base`.
"""
