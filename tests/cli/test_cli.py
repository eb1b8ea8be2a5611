"""The command line in a checkout: it helps, it checks, and it never loses a file."""

from tests.support.checkouts import Checkout


def test_help_names_every_command(checkout: Checkout) -> None:
    said = checkout.run("plumbline", "--help").stdout
    for command in ("doctor", "predict", "report", "recipe"):
        assert command in said


def test_doctor_finds_nothing_wrong_here_and_says_what_is_wrong_there(checkout: Checkout) -> None:
    said = checkout.run("plumbline", "doctor").stdout
    assert "FAIL" not in said
    params, lock = (checkout.path / name for name in ("params.yaml", "requirements.lock"))
    kept = params.read_bytes(), lock.read_bytes()
    checkout.replace("params.yaml", "seed: 7", "sed: 7")
    lock.write_bytes(kept[1].replace(b"pandas==", b"pandas==9."))
    (checkout.path / "dvc.lock").write_text("schema: '2.0'\nstages:\n<<<<<<< HEAD\n")
    said = checkout.run(
        "plumbline", "doctor", code=1, MLFLOW_TRACKING_URI="http://127.0.0.1:9"
    ).stdout
    assert "sed: unknown key (did you mean seed?)" in said
    assert "pandas" in said
    assert "make setup" in said
    assert "dvc.lock:3: merge conflict markers" in said
    assert "http://127.0.0.1:9 cannot be used" in said
    params.write_bytes(kept[0])
    lock.write_bytes(kept[1])
    (checkout.path / "dvc.lock").unlink()


def test_recipes(checkout: Checkout) -> None:
    assert "banking77" in checkout.run("plumbline", "recipe", "list").stdout
    assert (
        "did you mean banking77?"
        in checkout.run("plumbline", "recipe", "show", "banking7", code=2).stderr
    )
    recipe = checkout.run("plumbline", "recipe", "show", "banking77").stdout
    checkout.run("plumbline", "recipe", "use", "banking77")
    assert (checkout.path / "params.yaml").read_text() == recipe
    checkout.replace("params.yaml", "seed: 7", "seed: 8")
    assert "not committed" in checkout.run("plumbline", "recipe", "use", "banking77", code=1).stderr
    assert "seed: 8" in (checkout.path / "params.yaml").read_text()
    checkout.run("git", "checkout", "-q", "params.yaml")


def test_predict_before_anything_was_registered(checkout: Checkout) -> None:
    done = checkout.run("plumbline", "predict", "hello", code=1)
    assert "models:/ticket-router@champion" in done.stderr
    assert "dvc repro" in done.stderr
    assert "Traceback" not in done.stderr


def test_report_before_anything_was_evaluated(checkout: Checkout) -> None:
    done = checkout.run("plumbline", "report", code=1)
    assert "dvc repro" in done.stderr
