"""The control loop that turns pending pods into bound pods.

Dispatcher, scheduler and binder do not import one another: they share data through `state`. `plane`
connects them.
"""
