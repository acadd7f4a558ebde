"""What a plane is fed with: traces, generators, manifests, scenarios.

Lives here: loaders for published traces, workload generators, Kubernetes
manifests read from files, and the scenario file with its checked schema.
Must not: place anything or know the control loop. Every refusal names the file,
the line, the column, what was expected and what to do.
"""
