"""Volume rules of the class-cached engine."""
