"""The rollout study: simulated rollouts over clusters with models of the Deployment controller.

Here belong the model of a member, random events, and the laws that every rollout must keep. The
planner does not: it is part of the product.
"""
