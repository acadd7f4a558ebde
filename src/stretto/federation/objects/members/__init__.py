"""The objects in members: desired fields, fields that members own, and versions."""
