"""The control loop that turns pending pods into bound pods.

Dispatcher, scheduler and binder do not import one another: they meet in `state`.
`plane` joins them.
"""
