"""What clusters offer to a decision: promises, and CPUs by model."""
