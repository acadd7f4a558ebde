"""The master's decisions: functions of its state that answer calls and messages, and timers.

This package contains subscriptions, offers, operations, tasks, agents, quota and maintenance. It
does not contain HTTP.
"""
