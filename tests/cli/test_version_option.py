"""`plumbline --version`."""

from importlib.metadata import version

from typer.testing import CliRunner

from plumbline.cli import app


def test_the_version_is_printed() -> None:
    done = CliRunner().invoke(app, ["--version"])
    assert done.exit_code == 0
    assert done.output == f"plumbline {version('plumbline')}\n"
