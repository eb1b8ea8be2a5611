"""Training of learners that resumes bit by bit after a kill."""
