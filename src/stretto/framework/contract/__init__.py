"""The plugin contract: the declarations of a rule and its inputs from the engine."""
