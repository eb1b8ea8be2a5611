"""What a stage says that it does next."""

import pytest

from plumbline.contract import steps


def test_a_stage_says_what_it_does_and_a_command_does_not(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steps.log, "handlers", [])
    steps.announce("scores linear")
    assert capsys.readouterr().out == ""
    steps.show_steps("evaluate")
    steps.announce("scores linear")
    said = capsys.readouterr()
    assert (said.out, said.err) == ("evaluate: scores linear\n", "")
    steps.log.setLevel("NOTSET")
    steps.log.propagate = True
