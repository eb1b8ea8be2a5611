"""What this program does with files, locks, signals and git, once for all rooms."""
