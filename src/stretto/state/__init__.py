"""The cluster as one engine process knows it.

Pods, nodes and amounts are columns of numbers. Dispatcher, scheduler and binder meet here and
nowhere else. `state` imports `stores`, `api` and `base`.
"""
