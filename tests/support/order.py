"""The test files that take longest run first: no process is left with one of them at the end."""

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
    "scoring/test_score.py",
    "scoring/test_resume.py",
    "serving/test_server.py",
    "serving/test_canary.py",
    "serving/test_limits.py",
    "serving/test_swaps.py",
    "serving/test_workers.py",
    "stages/test_evaluate.py",
    "e2e/test_drift_of_requests.py",
    "e2e/test_signals.py",
    "serving/test_hostile.py",
    "evidence/test_gates.py",
    "stages/test_register.py",
    "tasks/signal_extraction/test_signal_floor.py",
    "tasks/text_classification/test_dirty.py",
    "tasks/text_classification/test_architectures.py",
    "tasks/signal_extraction/test_signal_models.py",
    "cli/test_cli.py",
    "tasks/text_classification/test_models.py",
    "serving/test_page.py",
    "serving/test_fuzz.py",
    "workflows/test_planted_workflows.py",
    "registry/test_archives.py",
    "registry/test_promotion.py",
    "tasks/text_classification/test_expectations.py",
    "training/test_training.py",
)


def get_rank(file: str) -> int:
    """Return the place of a file, named from tests/, in the order of tests."""
    return LONGEST_FIRST.index(file) if file in LONGEST_FIRST else len(LONGEST_FIRST)
