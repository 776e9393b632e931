"""What can be done to a query: one small class an action, and the ordered space of them."""

from rl_rewriter.actions.base import Action
from rl_rewriter.actions.space import ActionSpace, default_actions

__all__ = ["Action", "ActionSpace", "default_actions"]
