"""What the allocator is given and returns: agents, frameworks, quota, settings, grants."""
