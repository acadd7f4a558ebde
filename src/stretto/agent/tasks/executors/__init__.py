"""Executors of frameworks: processes that run tasks and report by the v1 executor API.

Commands and default executors, which the agent runs itself, are in ``agent.tasks.commands``.
"""
