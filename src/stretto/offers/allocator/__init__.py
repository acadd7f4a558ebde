"""The allocator, which decides about the offers of frameworks. No I/O; time is an argument."""
