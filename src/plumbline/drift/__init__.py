"""Whether today's requests still look like the champion's test rows, and when to train again."""
