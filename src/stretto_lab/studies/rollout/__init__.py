"""The rollout study: simulated rollouts over clusters with models of the Deployment controller.

The package contains the model of a member, random events, and the laws that every rollout must
keep. The planner is a part of the product.
"""
