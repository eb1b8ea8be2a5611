"""The test files that take longest run first: no process is left with one of them at the end.

Files that share what one of them makes are apart, so that no process waits for it at the start.
"""

LONGEST_FIRST = (
    # Those that take minutes in `make test-slow`.
    "workflows/test_delivery.py",
    "e2e/test_first_run.py",
    "diagnostics/test_reproduce.py",
    "diagnostics/test_doctor_stores.py",
    "selftest/test_drill.py",
    "selftest/test_selftest.py",
    "docker/test_images.py",
    "registry/test_postgres.py",
    "e2e/test_pipeline.py",
    "e2e/test_faults.py",
    "pipeline_run/test_run.py",
    "init/test_upgrade.py",
    # The fast tests, by the CPU seconds of a file.
    "stages/test_evaluate.py",
    "serving/test_canary.py",  # makes a registry for which others of serving/ would wait
    "stages/test_register.py",
    "registry/test_promotion.py",
    "tasks/text_classification/test_export_comparison.py",  # trains for test_predictor too
    "scoring/test_score.py",  # trains a model for which test_folders and test_resume would wait
    "stages/test_validate.py",
    "tasks/text_classification/test_quantisation.py",
    "serving/test_workers.py",
    "scoring/test_folders.py",
    "serving/test_fuzz.py",
    "tasks/text_classification/test_label_sets.py",
    "tuning/test_studies.py",
    "tracking/test_stage_records.py",
    "serving/test_page.py",
    "scoring/test_resume.py",
    "tasks/filter_design/test_filter_scores.py",
    "tasks/text_classification/test_expectations.py",
    "serving/test_swaps.py",
    "tasks/filter_design/test_filter_oracle.py",
    "registry/test_verified_cache.py",
    "registry/test_signed_only.py",
    "evidence/test_gates.py",
    "tracking/test_failed_delivery.py",
    "registry/test_rehearsal.py",
    "tasks/text_classification/test_resemblance.py",
    "workflows/test_official_parser.py",
    "consult/test_consult.py",
    "tasks/sequence_bayes/test_sequence_scores.py",
    "cli/test_init_questions.py",
    "statistics/test_intervals.py",
    "tasks/signal_extraction/test_signal_gates.py",
    "tasks/text_classification/test_figures.py",
    "tasks/text_classification/test_predictor.py",
    "serving/test_server.py",
    "serving/test_limits.py",
    "e2e/test_drift_of_requests.py",
    "e2e/test_signals.py",
    "serving/test_hostile.py",
    "registry/test_archives.py",
    "tasks/signal_extraction/test_signal_floor.py",
    "tasks/text_classification/test_dirty.py",
    "tasks/text_classification/test_architectures.py",
    "tasks/signal_extraction/test_signal_models.py",
    "cli/test_cli.py",
    "tasks/text_classification/test_models.py",
    "workflows/test_planted_workflows.py",
    "training/test_training.py",
)


def get_rank(file: str) -> int:
    """Return the place of a file, named from tests/, in the order of tests."""
    return LONGEST_FIRST.index(file) if file in LONGEST_FIRST else len(LONGEST_FIRST)
