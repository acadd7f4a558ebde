"""The master's decisions: functions of its state that answer calls, messages and the passing time.

Here: subscriptions, offers, operations, tasks, agents, quota and maintenance. Not here: HTTP.
"""
