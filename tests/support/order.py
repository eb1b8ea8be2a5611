"""The test files that take longest run first: no process is left with one of them at the end.

Files that share what one of them makes are apart, so that no process waits for it at the start.
"""

LONGEST_FIRST = (
    "workflows/test_delivery.py",
    "e2e/test_first_run.py",
    "diagnostics/test_reproduce.py",
    "diagnostics/test_fsck.py",
    "diagnostics/test_drill.py",
    "diagnostics/test_selftest.py",
    "docker/test_images.py",
    "registry/test_postgres.py",
    "e2e/test_pipeline.py",
    "serving/test_canary.py",  # makes a registry for which others of serving/ would wait
    "stages/test_evaluate.py",
    "init/test_upgrade.py",
    "stages/test_register.py",
    "scoring/test_score.py",  # trains a model for which test_resume would wait
    "serving/test_workers.py",
    "tasks/text_classification/test_export_comparison.py",  # trains for test_predictor too
    "registry/test_promotion.py",
    "serving/test_swaps.py",
    "serving/test_fuzz.py",
    "serving/test_page.py",
    "scoring/test_resume.py",
    "tasks/text_classification/test_predictor.py",
    "scoring/test_folders.py",
    "registry/test_rehearsal.py",
    "serving/test_server.py",
    "serving/test_limits.py",
    "e2e/test_drift_of_requests.py",
    "e2e/test_signals.py",
    "serving/test_hostile.py",
    "registry/test_archives.py",
    "evidence/test_gates.py",
    "tasks/signal_extraction/test_signal_floor.py",
    "tasks/text_classification/test_dirty.py",
    "tasks/text_classification/test_architectures.py",
    "tasks/signal_extraction/test_signal_models.py",
    "cli/test_cli.py",
    "tasks/text_classification/test_models.py",
    "workflows/test_planted_workflows.py",
    "tasks/text_classification/test_expectations.py",
    "training/test_training.py",
)


def get_rank(file: str) -> int:
    """Return the place of a file, named from tests/, in the order of tests."""
    return LONGEST_FIRST.index(file) if file in LONGEST_FIRST else len(LONGEST_FIRST)
