"""Who calls, and what they may: clients, roles, policies, and the rule of a listener."""
