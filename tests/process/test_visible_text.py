"""No text that others wrote steers a terminal, or GitHub's runner."""

import io
import json
import sys

import pytest

from plumbline.process.visible_text import dump_visibly, show_line, show_lines


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Größe\u00a0ü 你好 😀", "Größe ü 你好 😀"),
        ("a\x1b[2J\x9b2J\x07\u202eb", "a\ufffd[2J\ufffd2J\ufffd\ufffdb"),
        ("a\r\nb\tc\u2028d", "a  b c d"),
        ("half \ud83d", "half \ufffd"),
        ("  ::error::x::y", "  : :error::x::y"),
        ("a::b", "a::b"),
        ("a ##[error]b", "a ## [error]b"),
    ],
)
def test_a_line_stays_one_and_commands_nothing(text: str, shown: str) -> None:
    assert show_line(text) == shown
    assert show_lines(f"x\n{text}").split("\n")[-1] == show_line(text.split("\n")[-1])


@pytest.mark.parametrize("indent", [None, 2])
def test_json_says_the_same_and_commands_nothing(indent: int | None) -> None:
    value = {"é\x9b": ["a\n\x1b[2J", "\U000e0001 \u202e 😀"]}
    text = dump_visibly(value, indent)
    assert json.loads(text) == value
    assert text.replace("\n", "").isprintable()
    assert "é" in text


def test_json_is_valid_where_stdout_lacks_a_letter(monkeypatch: pytest.MonkeyPatch) -> None:
    stdout = io.TextIOWrapper(io.BytesIO(), encoding="latin-1")
    monkeypatch.setattr(sys, "stdout", stdout)
    text = dump_visibly({"label": "\U0001f600"})
    assert json.loads(text.encode(stdout.encoding)) == {"label": "\U0001f600"}
