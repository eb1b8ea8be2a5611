"""Whether today's requests still are what the champion was evaluated on, and whether to train again."""
