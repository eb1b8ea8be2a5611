"""Training of learners by Lightning, which resumes bit by bit after a kill."""
