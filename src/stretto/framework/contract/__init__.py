"""The plugin contract: what a rule declares and what the engine passes to it."""
