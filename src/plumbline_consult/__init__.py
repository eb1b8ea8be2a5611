"""Live consultation: a policy decides which agents are asked; each answer and its cost is kept."""
