"""What a submission changes: existing objects, the pods of controllers, the use of quotas."""
