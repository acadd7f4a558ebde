"""What a submission changes: objects that exist, and the pods of their controllers."""
