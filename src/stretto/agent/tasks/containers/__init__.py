"""One command in its sandbox: files that it needs, limits, process, end.

Not here: tasks, executors and their states.
"""
