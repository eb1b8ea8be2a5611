"""The report says the verdict first, needs no other file, and shows untrusted text as text."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from plumbline.contract import layout
from plumbline.contract.errors import DataError, EvidenceError, PlumblineError
from plumbline.contract.records import Candidate, Figure, Scores
from plumbline.evidence import document
from plumbline.evidence.gates.remedies import describe_remedy
from plumbline.evidence.withholding import withhold_figures
from plumbline.process.files import read_json, write_json
from plumbline.reporting import html, model_card, report, summary, tables

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


GROUP = {
    "column": "channel",
    "value": EVIL,
    "num_rows": 40,
    "score": 0.5,
    "low": 0.3,
    "high": 0.7,
    "reference": "the champion",
    "reference_score": 0.55,
    "difference": -0.05,
    "difference_low": -0.21,
    "difference_high": 0.11,
    "p_value": 0.02,
    "p_adjusted": 0.04,
    "detectable_loss": 0.27,
}


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
        per_example,
        {"accuracy": 1 / 3, "nll": 2.4},
        {"per_class": pd.DataFrame({"label": [EVIL], "f1": [0.5]})},
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
    return {
        "format": document.FORMAT,
        "task": "text_classification",
        "params": {"card": {"intended_use": None, "owner": None, "data_licence": None}},
        "metric": {"name": "accuracy", "higher_is_better": True, "kind": kind},
        "other_metrics": ["nll"],
        "verdict": verdict,
        "summary": "linear must not be promoted: floor failed.",
        "winner": "linear",
        "ranking": ["linear", "other"],
        "gates": [
            {
                "name": "floor",
                "question": "Is it good enough?",
                "burden": "must be shown",
                "status": "fail",
                "measured": 1 / 3,
                "threshold": 0.8,
                "interval": [0.06, 0.79],
                "reason": f"too low {EVIL}",
            },
            {
                "name": "bounds",
                "question": "Is it too good?",
                "burden": "must not be disproved",
                "status": "not-applicable",
                "measured": None,
                "threshold": None,
                "interval": None,
                "reason": "nothing known",
            },
        ],
        "thresholds": {"confidence": 0.95, "min_slice_rows": 30},
        "candidates": {"linear": scored, "other": scored},
        "baselines": {
            "majority": {"test": {"accuracy": 0.2}, "test_interval": {"low": 0.0, "high": 0.5}}
        },
        "cost": {"linear": cost, "other": cost},
        "slices": [GROUP],
        "behaviour": [
            {
                "name": "typo",
                "kind": "invariance",
                "num_passed": 1,
                "num_cases": 2,
                "failures": [EVIL],
                "is_sample": True,
                "required": 0.75,
                "interval": [0.01, 0.99],
                "status": "not-applicable",
            }
        ],
        "digests": {"bundle": "ab" * 32, "manifest": "12" * 32, "examples": "34" * 32},
        "lineage": {"git_commit": "cd" * 20, "git_dirty": "false"},
        **{"loosened": {}, "notes": {}, "trials": {}, "uncertainty": {}, "forms": []},
        **dict.fromkeys(("champion", "comparison", "selective", "flips", "changes", "choice")),
        "looks": {"number": 3, "planned": 20, "level": 0.0016},
        "hardware": {
            "evaluation": {"cpu": "A CPU", "instruction_set": "AVX2", "threads": 2},
            "trainings": {
                "linear": {
                    **{"cpu": EVIL, "instruction_set": None, "threads": None},
                    **{"device": "cuda", "precision": "bf16", "processes": 4},
                }
            },
        },
    }


@pytest.fixture
def text(winner: Candidate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    return written(evidence(), winner, tmp_path, monkeypatch)


def written(found: dict, winner: Candidate, folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(folder)
    layout.MANIFEST.parent.mkdir(exist_ok=True)
    rows = {"split": ["train", "test", "test"], "label": ["a", "a", "b"], "length": [4, 4, 6]}
    pd.DataFrame(rows).to_parquet(layout.MANIFEST)
    figure = Figure(
        "cost", "Accuracy against latency", "A caption.", '<svg role="img"><text>0.5</text></svg>'
    )
    report.write_report(found, winner, [figure], {"text": ["fine", f"broken {EVIL}", "worse"]})
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


def test_the_forms_of_the_winner_are_shown_where_there_are_several(
    winner: Candidate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = {
        "name": "int8",
        "served": True,
        "score": 0.9,
        "low": 0.88,
        "high": 0.92,
        "agreement": 0.9971,
        "p50": 1.25,
    }
    row |= {"p95": 2.5, "batch_p50": 30.0, "batch_p95": 40.0, "num_bytes": 23_600_000}
    other = row | {"name": "fp32", "served": False, "agreement": None, "num_bytes": None}
    text = written(evidence() | {"forms": [row, other]}, winner, tmp_path, monkeypatch)
    shown = text[text.index('id="forms"') :]
    for words in ("served", "99.7 %", "1.25 / 2.50 ms", "23.6 MB"):
        assert words in shown
    assert 'id="forms"' not in written(
        evidence() | {"forms": [other]}, winner, tmp_path, monkeypatch
    )


def test_each_uncertainty_is_shown_beside_the_errors_that_it_orders(
    winner: Candidate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ordering = {
        "num_rows": 900, "num_errors": 61, "num_values": 900, "auroc": 0.8125,
        "auroc_interval": [0.75, 0.87], "auroc_highest": 0.89, "aurc": 0.0213,
        "aurc_interval": [0.016, 0.027],
    }  # fmt: skip
    perfect = ordering | {
        "num_errors": 0,
        "auroc": None,
        "auroc_interval": None,
        "auroc_highest": None,
    }
    kinds = {"linear": {"epistemic": ordering, "total": ordering}, "other": {"confidence": perfect}}
    selective = {"num_answered": 500, "num_rows": 900, "num_wrong": 4}
    selective |= {"selection": {"threshold": 0.925}}
    found = evidence() | {"uncertainty": kinds, "selective": selective}
    text = written(found, winner, tmp_path, monkeypatch)
    shown = text[text.index('id="uncertainty"') :]
    for words in (
        "epistemic and aleatoric", "1 less the confidence", "61 of 900", "0.8125",
        "0.7500 ", "0.0213", "linear answers 500 of 900 test rows itself, those with a "
        "score from 0.925 on, and 4 of them wrongly",
    ):  # fmt: skip
        assert words in shown
    assert 'id="uncertainty"' not in written(evidence(), winner, tmp_path, monkeypatch)


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


def new_shape(verdict: str, kind: str = "binary") -> dict:
    """Evidence with a champion in it, and untrusted text wherever text can come from data."""
    found = evidence(verdict, kind)
    metrics = {"accuracy": 0.3125, "nll": 2.5}
    flip = {
        "id": "r2",
        "input": f"where {EVIL}",
        "actual": EVIL,
        "ours_predicted": "b",
        "theirs_predicted": EVIL,
    }
    counts = dict.fromkeys(
        (
            "before",
            "after",
            "added",
            "removed",
            "changed",
            "relabelled",
            "regrouped",
            "moved_in",
            "moved_out",
        ),
        0,
    )
    empty = dict.fromkeys(("measured", "threshold", "interval")) | {"burden": "must hold"}
    beaten = "fail" if verdict == "keep" else "pass"
    found["gates"] = [
        empty | {"name": "accepted", "question": "Was it?", "status": "pass", "reason": "it was"},
        empty
        | {"name": "champion", "question": "Better?", "status": beaten, "reason": "by so much"},
        empty | {"name": "power", "question": "Enough?", "status": "pass", "reason": "yes"},
    ]
    found["gates"][-1] |= {"measured": 0.0173, "threshold": 0.02}
    return found | {
        "summary": f"linear: {verdict}.",
        "seal": "ef" * 32,
        "champion": {"model": "router", "version": "7", "bundle": "ab12" * 16, "metrics": metrics},
        "comparison": {
            "difference": 0.0208,
            "low": 0.0012,
            "high": 0.0404,
            "level": 0.0016,
            "confidence": 0.9984,
            "p_value": 0.0007 if kind == "binary" else None,
            "only_challenger": 51 if kind == "binary" else None,
            "only_champion": 28 if kind == "binary" else None,
        },
        "flips": {
            "num_won": 51,
            "num_lost": 0,
            "won": [flip | {"ours": 1.0, "theirs": 0.0}],
            "lost": [],
        },
        "changes": {
            "params": [
                {"key": "candidates.linear.rate", "old": None, "new": 0.25},
                {"key": "data.source", "old": EVIL, "new": ["a", True]},
            ],
            "data": {
                "same": False,
                "splits": {
                    split: counts | {"added": 1234} for split in ("train", "validation", "test")
                },
                "classes": [{"label": EVIL, "before": 5, "after": 2}],
            },
            "code": {
                "from": "12" * 20,
                "to": "34" * 20,
                "from_dirty": True,
                "to_dirty": False,
                "commits": 4,
                "files": [{"path": f"src/{EVIL}", "added": 12, "removed": None}],
            },
        },
    }


def shown(text: str) -> str:
    """The page's words, without tags, in order."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", text[text.index("<body>") :]))


@pytest.fixture
def compared(winner: Candidate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    return written(new_shape("promote"), winner, tmp_path, monkeypatch)


@pytest.mark.parametrize("verdict", ["keep", "refuse"])
def test_test_figures_of_a_model_that_is_not_promoted_are_not_shown(
    verdict: str, winner: Candidate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = new_shape(verdict)
    found["gates"][0] |= {"name": "floor", "status": "fail", "reason": "at least 0.06012; 0.8000"}
    page = written(found, winner, tmp_path, monkeypatch)
    write_json(layout.EVIDENCE, found)
    console = Console(width=200, record=True)
    summary.print_report(console)
    for text in (shown(page), summary.render_markdown(), console.export_text()):
        assert "would teach the next one" in text
        for figure in ("0.3333", "0.0208", "2.08", "51 : 28", "0.7900", "-0.05", "0.06"):
            assert figure not in text, figure
        assert "floor" in text
        assert "at least …; …" in text
    assert "0.4000" in page or "40.0 %" in page  # of validation
    assert read_json(layout.EVIDENCE) == found  # on record


def test_a_champion_is_held_against_with_all_figures(compared: str) -> None:
    html = shown(compared)
    for words in (
        "router version 7",
        "ab12ab12ab12",
        "accuracy 0.3333 0.3125",
        "NLL 2.4000 2.5000",
        "+2.08 points",
        "+0.12 to +4.04",
        "99.84 % interval",
        "0.0007 exact McNemar p below the level 0.0016",
        "51 : 28",
        "Won: 51 validation examples that only linear got right; the first 1",
        "Lost: 0 validation examples that only the champion got right",
        "predicted by linear",
        "predicted by champion",
        "50.0 %",
        "55.0 %",
        "-5.00 points",
        "-21.00 to +11.00",
        "0.04",
        "27.00 points",
    ):
        assert words in html, words


def test_what_changed_is_told(compared: str) -> None:
    html = shown(compared)
    for words in (
        "candidates.linear.rate not set 0.25",
        "[&#34;a&#34;, true]",
        "test 0 0 1,234",
        "5 2 -3",
        "From commit 121212121212 to 343434343434 : 4 commits, 1 file that can change a result",
        "12 binary",
        "The champion was made from a working tree with changes that are in no commit",
    ):
        assert words in html, words


def test_the_use_of_the_test_split_is_told(compared: str) -> None:
    html = shown(compared)
    assert (
        "This is use 3 of 20 planned for this test split. For this use a level of 0.0016 is left"
        in html
    )
    assert "can show at this level is 1.73 points ; required: at most 2.00 points" in html


NO_CHAMPION = dict.fromkeys(("champion", "comparison", "flips", "changes"))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"looks": {"number": 21, "planned": 20, "level": 0.0}}, "No level is left"),
        (NO_CHAMPION, "There was no champion to compare with"),
        ({"changes": None}, "the registry does not hold what the champion was made from"),
    ],
)
def test_what_is_not_there_is_told(
    change: dict, words: str, winner: Candidate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    html = shown(written(new_shape("promote") | change, winner, tmp_path, monkeypatch))
    assert words in html


def test_text_of_the_new_sections_is_never_run(compared: str) -> None:
    assert "<script" not in compared
    sections = compared[compared.index('id="champion"') : compared.index('id="looks"')]
    assert sections.count("&lt;script&gt;") == 7  # flips 3, slices, params, classes, files
    parser = Balanced()
    parser.feed(compared)
    assert parser.open == []


def test_keep_looks_like_neither_promote_nor_refuse(
    winner: Candidate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = {}
    for verdict in ("promote", "keep", "refuse"):
        text = written(new_shape(verdict), winner, tmp_path, monkeypatch)
        said[verdict] = (
            re.findall(r'class="verdict (\w+)"', text),
            re.findall(r"exit code (\d+): ([^<]*)", shown(text)),
        )
    assert [found[0] for found in said.values()] == [["pass"], ["keep"], ["fail"]]
    assert [found[1][0][0] for found in said.values()] == ["0", "10", "20"]


def test_failed_gates_come_first(
    winner: Candidate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = written(new_shape("keep"), winner, tmp_path, monkeypatch)
    table = kept[kept.index('id="gates"') :]
    assert table.index("Better?") < table.index("Was it?") < table.index("Enough?")
    assert table.count('class="gate kept" open>') == 1
    assert table.count("<details id=") == 3


def test_beside_a_failed_gate_is_what_to_do(
    winner: Candidate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = new_shape("refuse")
    found["gates"][0] |= {"name": "budget", "status": "fail"}
    page = written(found, winner, tmp_path, monkeypatch)
    write_json(layout.EVIDENCE, found)
    console = Console(width=400, record=True)
    summary.print_report(console)
    said = console.export_text()
    remedy = describe_remedy(found, "budget")
    assert f"\n    what to do: {remedy} [plumbline docs evidence]\n" in said
    assert remedy in summary.render_markdown()
    assert "<code>plumbline run --force --single-item evaluate</code>, then <code>make" in page
    assert f"`forms` of {found['winner']}, fewer" in said


def test_the_page_links_to_where_a_gate_is_explained(
    winner: Candidate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/evidence.md").touch()
    page = written(new_shape("refuse"), winner, tmp_path, monkeypatch)
    assert '<a href="../docs/evidence.md#champion">docs/evidence.md#champion</a>' in page


def test_unknown_code_and_equal_data_are_told(
    winner: Candidate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = new_shape("promote")
    unknown = "commit 1212 is not in this clone"
    found["changes"] = {
        "params": [],
        "data": found["changes"]["data"] | {"same": True},
        "code": {
            "from": "1212",
            "to": "3434",
            "from_dirty": False,
            "to_dirty": True,
            "unknown": unknown,
        },
    }
    html = shown(written(found, winner, tmp_path, monkeypatch))
    for words in (
        "No parameter changed.",
        "labels and splits are the same",
        f"Not known: {unknown}.",
        "in no commit yet",
    ):
        assert words in html, words


def test_continuous_scores_have_no_points_and_no_exact_test(
    winner: Candidate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    html = shown(written(new_shape("promote", "continuous"), winner, tmp_path, monkeypatch))
    assert "+0.0208" in html
    assert "points" not in html
    assert "McNemar" not in html
    assert "on which linear is better" in html


def test_digests_and_caption_are_there(text: str) -> None:
    for words in (
        "ab" * 32,
        "cd" * 20,
        "A caption.",
        "majority",
        "1 of 2",
        "0.50 / 0.70 ms",
        "2.0 MB",
        "cuda x 4",
        "bf16",
    ):
        assert words in text


def test_the_worst_mistake_stands_on_top(winner: Candidate) -> None:
    found = tables.list_mistakes(
        winner,
        {"text": ["x", "y", "z"]},
        {"name": "accuracy", "kind": "binary", "higher_is_better": True},
    )
    assert found["id"].tolist() == ["r3", "r2"]
    assert "accuracy" not in found.columns


def test_the_largest_error_stands_on_top() -> None:
    scores = Scores({"error": np.array([0.1, 9.0, 1.0])}, {"error": 3.3})
    winner = Candidate("line", scores, scores, None, {}, 1)
    found = tables.list_mistakes(
        winner, {"x": [1, 2, 3]}, {"name": "error", "kind": "continuous", "higher_is_better": False}
    )
    assert found["x"].tolist() == [2, 3, 1]


def test_an_unknown_name_in_a_template_is_an_error() -> None:
    from jinja2 import UndefinedError

    with pytest.raises(UndefinedError, match="evidence"):
        html.render_template("report.html", {})


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (html.format_percent(0.93744), "93.7 %"),
        (html.format_number(1234567), "1,234,567"),
        (html.format_number(0.51237), "0.512"),
        (html.format_size(999), "999 B"),
        (html.format_size(23_456_789), "23.5 MB"),
        (html.format_size(5e9), "5.0 GB"),
        (html.format_name("macro_f1"), "macro F1"),
        (html.format_setting(None), "not set"),
        (html.format_setting("true"), "true"),
        (html.format_setting([True, 0.5]), "[true, 0.5]"),
    ],
)
def test_numbers_and_names_are_readable(shown: str, expected: str) -> None:
    assert shown == expected


def test_data_that_were_rejected_are_why_nothing_was_evaluated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    layout.VALIDATION.parent.mkdir()
    check = {"name": "rare_labels", "severity": "blocking", "passed": False}
    warning = {"name": "truncated", "severity": "warning", "passed": False}
    write_json(layout.VALIDATION, {"accepted": False, "checks": [check, warning]})
    with pytest.raises(PlumblineError, match=r"nothing was evaluated: .* \(rare_labels\); see"):
        summary.print_report(Console())


DEEP = "[" * 100_000


@pytest.mark.parametrize(
    "text",
    [
        "[]", "{}", "x", DEEP, '{"format": 3, "verdict": "error", "summary": "s", "gates": []}',
        '{"verdict": "promote", "gates": 5}',
        '{"verdict": "refuse", "summary": "s", "gates": [{"name": "a", "status": "fail"}]}',
        '{"verdict": "refuse", "summary": "s", "gates": [], "metric": 5, "ranking": ["a"]}',
        '{"verdict": "refuse", "summary": "s", "gates": [], "champion": 5, "candidates": [1]}',
        '{"verdict": [], "summary": "s", "gates": []}',
        '{"verdict": "refuse", "summary": "s", "gates": [], "notes": [1]}',
    ],
)  # fmt: skip
def test_damaged_evidence_is_named_with_what_to_do(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    layout.EVIDENCE.parent.mkdir()
    of_now = f'{{"format": {document.FORMAT}, "verdict'
    layout.EVIDENCE.write_text(text.replace('{"verdict', of_now))
    expected = "^reports/evidence.json: damaged, or of another version .*; run `dvc repro evaluate`"
    for show in (lambda: summary.print_report(Console()), summary.render_markdown):
        with pytest.raises(EvidenceError, match=expected) as caught:
            show()
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "text", ["[]", "x", DEEP, '{"checks": [{}]}', '{"checks": 5}', '{"checks": [{"name": "a"}]}']
)
def test_a_damaged_validation_is_named_with_what_to_do(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    layout.VALIDATION.parent.mkdir()
    layout.VALIDATION.write_text(text)
    with pytest.raises(DataError, match=r"^reports/validation.json: .*; run `dvc repro validate`"):
        summary.print_report(Console())


@pytest.mark.parametrize("width", [60, 80, 160])
def test_the_terminal_shows_markup_as_text(
    width: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = evidence()
    found["gates"][0]["reason"] = "label [red]a[/red] is missing"
    write_json(layout.EVIDENCE, found)
    console = Console(width=width, record=True)
    summary.print_report(console)
    said = console.export_text()
    assert "label [red]a[/red] is missing" in said
    assert "0.3333" in said


@pytest.mark.parametrize("key", ["loosened", "gates"])
def test_what_data_say_cannot_command_the_terminal(
    key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    reason = "channel = phone\x1b[2J\x1b[H\npromote: linear may be promoted.\x1b[8m is worse"
    found = evidence()
    if key == "gates":
        found["gates"][0]["reason"] = reason
    else:
        found[key] = {"slices": reason}
    write_json(layout.EVIDENCE, found)
    console = Console(width=160, record=True)
    summary.print_report(console)
    said = console.export_text()
    assert "\x1b" not in said
    assert "\npromote: linear may" not in said
    assert "phone\ufffd[2J\ufffd[H promote: linear may be promoted.\ufffd[8m is worse" in said


@pytest.mark.parametrize("verdict", ["promote", "keep", "refuse"])
def test_the_terminal_says_verdict_and_comparison(
    verdict: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_json(layout.EVIDENCE, new_shape(verdict))
    console = Console(width=160, record=True)
    summary.print_report(console)
    said = console.export_text()
    assert f"{verdict}: linear: {verdict}." in said
    comparison = (
        "champion version 7: accuracy 0.3125, linear 0.3333; gain +0.0208, "
        "+0.0012 to +0.0404 at 99.84%, p 0.0007"
    )
    if verdict != "promote":
        comparison = "champion version 7 stays; test figures are not shown"
    assert comparison in said


@pytest.mark.parametrize("verdict", ["promote", "keep"])
def test_seeds_are_shown_and_of_the_test_split_only_what_is_promoted(
    verdict: str, winner: Candidate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = new_shape(verdict)
    found["candidates"]["linear"] |= {
        "seeds": {
            "shipped": 8,
            "bundle": "linear.seeds/8",
            "validation": {"7": 0.39, "8": 0.4, "9": 0.44},
            "validation_mean": 0.41,
            "validation_spread": 0.0265,
            "test_mean": 0.3456,
            "test_spread": 0.0123,
        }
    }
    found["comparison"] |= {"seeds": {"num_seeds": 3, "deviation": 0.0123, "reach": 0.0098}}
    page = written(found, winner, tmp_path, monkeypatch)
    write_json(layout.EVIDENCE, found)
    console = Console(width=400, record=True)
    summary.print_report(console)
    card = model_card.render_card({"model": "tickets", "forms": None} | found)
    for text in (shown(page), summary.render_markdown(), console.export_text(), card):
        assert "0.3900 (7), 0.4000 (8), 0.4400 (9), mean 0.4100, spread 0.0265" in text
        assert "Seed 8 ships, the median on validation." in text
        assert ("on test mean 0.3456, spread 0.0123" in text) == (verdict == "promote")
        assert ("on test not shown" in text) == (verdict == "keep")
    assert ("in the mean over 3 seeds" in page) == (verdict == "promote")
    assert "0.3456" not in json.dumps(withhold_figures(found)) or verdict == "promote"


def test_the_terminal_tells_an_evaluation_that_broke_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = {"format": document.FORMAT, "verdict": "error", "gates": []}
    write_json(layout.EVIDENCE, found | {"summary": "no champion [here]"})
    console = Console(width=80, record=True)
    summary.print_report(console)
    assert "error: no champion [here]" in console.export_text()


FOREIGN = "@team `x` [a](https://evil.example) ![i](https://evil.example/i.png) | " + EVIL


@pytest.mark.parametrize("verdict", ["promote", "keep", "refuse"])
def test_markdown_says_the_same_and_keeps_foreign_text_in_code(
    verdict: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = json.loads(
        json.dumps(new_shape(verdict)).replace(json.dumps(EVIL)[1:-1], json.dumps(FOREIGN)[1:-1])
    )
    write_json(layout.EVIDENCE, found)
    told = summary.render_markdown()
    assert told.startswith(f"## {verdict.capitalize()}: linear: {verdict}.")
    figures = [
        "| **`linear`** | - | - to - | 0.50 ms | 2.0 MB |".replace(" -", " \N{EN DASH}"),
        "version 7 stays",
    ]
    if verdict == "promote":
        row = "| **`linear`** | 0.3333 | 0.0600 to 0.7900 | 0.50 ms | 2.0 MB |"
        figures = ["gain +0.0208", row]
    for words in (*figures, "51 examples of validation", "4 commits"):
        assert words in told, words
    for foreign in ("evil.example", "<script>", "@team"):
        assert foreign in told
        assert foreign not in re.sub(r"`[^`\n]*`", "", told)
    for row in re.findall(r"(?m)^\|.*\|$", told):
        cells = len(re.findall(r"(?<!\\)\|", row))
        assert cells in (6, 7), row  # a pipe in a text is not the end of its cell


def test_markdown_of_an_evaluation_that_broke_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(PlumblineError, match="nothing was evaluated yet"):
        summary.render_markdown()
    broken = {
        "format": document.FORMAT,
        "verdict": "error",
        "summary": "the champion cannot be loaded",
        "gates": [],
        "lineage": {"git_commit": ""},
    }
    write_json(layout.EVIDENCE, broken)
    assert summary.render_markdown().startswith("## Error: `the champion cannot be loaded`")
