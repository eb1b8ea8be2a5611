"""The problems: one folder a task, none of which knows a stage or a sibling."""
