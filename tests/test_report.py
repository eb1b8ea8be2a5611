"""The report says the verdict first, holds everything it needs, and shows untrusted text as text."""

import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from plumbline import layout, page, report
from plumbline.contract import Candidate, Figure, Scores
from plumbline.errors import PlumblineError

EVIL = '<script>alert("x")</script>'
VOID = {"meta", "link", "br", "img", "hr", "input"}


class Balanced(HTMLParser):
    """Every element that opens also closes, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture
def winner() -> Candidate:
    hits = np.array([1.0, 0.0, 0.0])
    per_example = {
        "id": np.array(["r1", "r2", "r3"]),
        "accuracy": hits,
        "actual": np.array(["a", "a", EVIL], dtype=object),
        "predicted": np.array(["a", "b", "a"], dtype=object),
        "nll": np.array([0.1, 2.0, 5.0]),
    }
    scores = Scores(
        per_example, {"accuracy": 1 / 3, "nll": 2.4}, {"per_class": pd.DataFrame({"label": [EVIL], "f1": [0.5]})}
    )
    return Candidate("linear", scores, scores, None, {"one_p50": 0.5}, 1000)


def evidence(verdict: str = "refuse", kind: str = "binary") -> dict:
    scored = {
        "test": {"accuracy": 1 / 3, "nll": 2.4},
        "validation": {"accuracy": 0.4, "nll": 2.0},
        "test_interval": {"low": 0.06, "high": 0.79},
    }
    cost = {
        "one_p50": 0.5,
        "one_p95": 0.7,
        "batch_p50": 3.0,
        "batch_p95": 4.0,
        "rows_per_s": 9000.0,
        "num_bytes": 2_000_000,
    }
    pair = {"one": "linear", "other": "other", "difference": 0.1, "low": -0.1, "high": 0.3}
    return {
        "format": 1,
        "task": "text_classification",
        "metric": {"name": "accuracy", "higher_is_better": True, "kind": kind},
        "other_metrics": ["nll"],
        "verdict": verdict,
        "summary": "linear must not be promoted: floor failed.",
        "winner": "linear",
        "ranking": ["linear", "other"],
        "gates": [
            {
                "name": "floor", "question": "Is it good enough?", "status": "fail", "measured": 1 / 3,
                "threshold": 0.8, "interval": [0.06, 0.79], "reason": f"too low {EVIL}",
            },
            {
                "name": "bounds", "question": "Is it too good?", "status": "not-applicable", "measured": None,
                "threshold": None, "interval": None, "reason": "nothing known",
            },
        ],
        "thresholds": {"confidence": 0.95, "min_slice_rows": 30},
        "candidates": {"linear": scored, "other": scored},
        "baselines": {"majority": {"test": {"accuracy": 0.2}, "test_interval": {"low": 0.0, "high": 0.5}}},
        "cost": {"linear": cost, "other": cost},
        "comparisons": [pair | ({"only_one": 1, "only_other": 0, "p_value": 1.0} if kind == "binary" else {})],
        "slices": [{"column": "channel", "value": EVIL, "num_rows": 40, "score": 0.5, "low": 0.3, "high": 0.7}],
        "behaviour": [{"name": "typo", "kind": "invariance", "num_passed": 1, "num_cases": 2, "failures": [EVIL]}],
        "digests": {"bundle": "ab" * 32},
        "lineage": {"git_commit": "cd" * 20, "git_dirty": "false"},
    }  # fmt: skip


@pytest.fixture
def text(winner: Candidate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    return written(evidence(), winner, tmp_path, monkeypatch)


def written(found: dict, winner: Candidate, folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(folder)
    layout.MANIFEST.parent.mkdir(exist_ok=True)
    pd.DataFrame({"split": ["train", "test", "test"], "label": ["a", "a", "b"]}).to_parquet(layout.MANIFEST)
    figure = Figure("cost", "Accuracy against latency", "A caption.", '<svg role="img"><text>0.5</text></svg>')
    report.write(found, winner, [figure], {"text": ["fine", f"broken {EVIL}", "worse"]})
    return layout.REPORT.read_text(encoding="utf-8")


def test_the_verdict_and_its_reasons_come_first(text: str) -> None:
    body = text[text.index("<body>") :]
    assert body.index("must not be promoted") < body.index("too low") < body.index("Candidates")


def test_untrusted_text_is_shown_and_never_run(text: str) -> None:
    assert "<script" not in text
    assert text.count("&lt;script&gt;") >= 5


def test_the_page_is_whole_and_needs_no_network(text: str) -> None:
    parser = Balanced()
    parser.feed(text)
    assert parser.open == []
    assert not re.findall(r"""(?:src|href)=["']?(?!#)[a-z]+:""", text)
    assert "@import" not in text
    assert "url(" not in text


def test_every_gate_states_question_figures_and_reason(text: str) -> None:
    for words in (
        "Is it good enough?",
        "0.3333",
        "0.0600 to 0.7900",
        "0.8000",
        "failed",
        "does not apply",
        "nothing known",
    ):
        assert words in text


def test_digests_and_caption_are_there(text: str) -> None:
    for words in ("ab" * 32, "cd" * 20, "A caption.", "majority", "1 of 2", "0.50 / 0.70 ms", "2.0 MB"):
        assert words in text


@pytest.mark.parametrize(("verdict", "kind"), [("promote", "binary"), ("refuse", "continuous")])
def test_other_verdicts_and_scores_render(
    verdict: str, kind: str, winner: Candidate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = evidence(verdict, kind) | {"slices": [], "behaviour": [], "comparisons": []}
    assert ('class="verdict pass"' in written(found, winner, tmp_path, monkeypatch)) == (verdict == "promote")


def test_the_worst_mistake_stands_on_top(winner: Candidate) -> None:
    found = report.mistakes(
        winner, {"text": ["x", "y", "z"]}, {"name": "accuracy", "kind": "binary", "higher_is_better": True}
    )
    assert found["id"].tolist() == ["r3", "r2"]
    assert "accuracy" not in found.columns


def test_the_largest_error_stands_on_top() -> None:
    scores = Scores({"error": np.array([0.1, 9.0, 1.0])}, {"error": 3.3})
    winner = Candidate("line", scores, scores, None, {}, 1)
    found = report.mistakes(
        winner, {"x": [1, 2, 3]}, {"name": "error", "kind": "continuous", "higher_is_better": False}
    )
    assert found["x"].tolist() == [2, 3, 1]


def test_an_unknown_name_in_a_template_is_an_error() -> None:
    from jinja2 import UndefinedError

    with pytest.raises(UndefinedError, match="evidence"):
        page.render("report.html", {})


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (page.percent(0.93744), "93.7 %"),
        (page.digits(1234567), "1,234,567"),
        (page.digits(0.51237), "0.512"),
        (page.size(999), "999 B"),
        (page.size(23_456_789), "23.5 MB"),
        (page.size(5e9), "5.0 GB"),
        (page.words("macro_f1"), "macro F1"),
    ],
)
def test_numbers_and_names_are_readable(shown: str, expected: str) -> None:
    assert shown == expected


def test_nothing_to_show_before_the_first_evaluation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from rich.console import Console

    monkeypatch.chdir(tmp_path)
    with pytest.raises(PlumblineError, match="nothing was evaluated yet; run `dvc repro`"):
        report.show(Console())


@pytest.mark.parametrize("width", [60, 80, 160])
def test_the_terminal_shows_markup_as_text(width: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from rich.console import Console

    monkeypatch.chdir(tmp_path)
    found = evidence()
    found["gates"][0]["reason"] = "label [red]a[/red] is missing"
    layout.write_json(layout.EVIDENCE, found)
    console = Console(width=width, record=True)
    report.show(console)
    said = console.export_text()
    assert "label [red]a[/red] is missing" in said
    assert "0.3333" in said
