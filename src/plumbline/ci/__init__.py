"""What jobs on GitHub and GitLab call."""
