"""Authorization: RBAC from the API's own objects, and access reviews."""
