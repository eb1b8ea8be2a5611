"""Whom to ask, when to stop and what to answer, learned from recorded answers of several agents."""
