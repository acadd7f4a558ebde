"""The allocator: which framework is offered which capacity. No I/O; time is an argument."""
