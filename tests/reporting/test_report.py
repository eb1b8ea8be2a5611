"""The report says the verdict first, needs no other file, and shows untrusted text as text."""

import json
import re
from html.parser import HTMLParser
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from huggingface_hub import ModelCard
from rich.console import Console

from plumbline.contract import layout
from plumbline.contract.errors import DataError, EvidenceError, PlumblineError
from plumbline.contract.records import Candidate, Figure, Scores
from plumbline.evidence import document
from plumbline.evidence.gates.remedies import describe_remedy
from plumbline.evidence.withholding import withhold_figures
from plumbline.process.files import read_json, write_json
from plumbline.reporting import model_card, report, summary, tables

EVIL = '<script>alert("x")</script>'
FOREIGN = "@team\x1b[2J `x` [a](https://evil.example) ![i](https://evil.example/i.png) | " + EVIL
VOID = {"meta", "link", "br", "img", "hr", "input"}
GROUP = {
    "column": "channel", "value": EVIL, "num_rows": 40, "score": 0.5, "low": 0.3, "high": 0.7,
    "reference": "the champion", "reference_score": 0.55, "difference": -0.05,
    "difference_low": -0.21, "difference_high": 0.11, "p_adjusted": 0.04,
}  # fmt: skip
RATES = [("young", 400, 40), ("old", 60, 18), ("tiny", 3, 0)]
GAPS = {
    "rates": [
        {"column": "band", "value": value, "num_rows": rows, "num_hits": hits, "low": 0.2,
         "high": 0.4, "is_judged": rows > 50}
        for value, rows, hits in RATES
    ],
    "num_pairs": 1,
    "worst": {"column": "band", "higher": "old", "lower": "young", "num_rows": 460,
              "difference": 0.2, "low": 0.06, "high": 0.35},
}  # fmt: skip
COST = {
    "one_p50": 0.5, "one_p95": 0.7, "batch_p50": 3.0, "batch_p95": 4.0, "rows_per_s": 9000.0,
    "num_bytes": 2_000_000,
}  # fmt: skip
SCORED = {
    "test": {"accuracy": 1 / 3, "nll": 2.4},
    "validation": {"accuracy": 0.4, "nll": 2.0},
    "test_interval": {"low": 0.06, "high": 0.79},
}
CASE = {
    "name": "typo", "kind": "invariance", "num_passed": 1, "num_cases": 2, "failures": [EVIL],
    "is_sample": True, "required": 0.75, "interval": [0.01, 0.99], "status": "not-applicable",
}  # fmt: skip
TRAINED = {
    "cpu": EVIL, "instruction_set": None, "threads": None, "device": "cuda", "precision": "bf16",
    "processes": 4,
}  # fmt: skip
NO_CHAMPION = dict.fromkeys(("champion", "comparison", "flips", "changes"))


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


def gate(name: str, question: str, status: str, reason: str, **figures: object) -> dict:
    known = {"burden": "must hold", "measured": None, "threshold": None, "interval": None}
    told = {"name": name, "question": question, "status": status, "reason": reason}
    return known | told | figures


def describe(verdict: str = "refuse", kind: str = "binary") -> dict:
    """Evidence without a champion, and untrusted text wherever text can come from data."""
    figures = {"measured": 1 / 3, "threshold": 0.8, "interval": [0.06, 0.79]}
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
            gate("floor", "Is it good enough?", "fail", f"too low {EVIL}", **figures),
            gate("bounds", "Is it too good?", "not-applicable", "nothing known"),
        ],
        "thresholds": {"confidence": 0.95, "min_slice_rows": 30},
        "candidates": {"linear": dict(SCORED), "other": dict(SCORED)},
        "baselines": {
            "majority": {"test": {"accuracy": 0.2}, "test_interval": {"low": 0.0, "high": 0.5}}
        },
        "cost": {"linear": COST, "other": COST},
        "slices": [GROUP],
        "behaviour": [CASE],
        "digests": {"bundle": "ab" * 32, "manifest": "12" * 32, "examples": "34" * 32},
        "lineage": {"git_commit": "cd" * 20, "git_dirty": "false"},
        **{"loosened": {}, "notes": {}, "trials": {}, "uncertainty": {}, "forms": []},
        **dict.fromkeys(("selective", "choice")),
        **NO_CHAMPION,
        "looks": {"number": 3, "planned": 20, "level": 0.0016},
        "hardware": {
            "evaluation": {"cpu": "A CPU", "instruction_set": "AVX2", "threads": 2},
            "trainings": {"linear": TRAINED},
        },
    }


def describe_compared(verdict: str, kind: str = "binary") -> dict:
    """Evidence of a comparison with a champion."""
    flip = {"id": "r2", "input": f"where {EVIL}", "actual": EVIL, "ours_predicted": "b"}
    flip |= {"theirs_predicted": EVIL, "ours": 1.0, "theirs": 0.0}
    counts = (
        "before", "after", "added", "removed", "changed", "relabelled", "regrouped", "moved_in",
        "moved_out",
    )  # fmt: skip
    moved = dict.fromkeys(counts, 0) | {"added": 1234}
    is_binary = kind == "binary"
    return describe(verdict, kind) | {
        "summary": f"linear: {verdict}.",
        "gates": [
            gate("accepted", "Was it?", "pass", "it was"),
            gate("champion", "Better?", "fail" if verdict == "keep" else "pass", "by so much"),
            gate("power", "Enough?", "pass", "yes", measured=0.0173, threshold=0.02),
        ],
        "champion": {
            "model": "router",
            "version": "7",
            "bundle": "ab12" * 16,
            "metrics": {"accuracy": 0.3125, "nll": 2.5},
        },
        "comparison": {
            "difference": 0.0208,
            "low": 0.0012,
            "high": 0.0404,
            "level": 0.0016,
            "confidence": 0.9984,
            "p_value": 0.0007 if is_binary else None,
            "only_challenger": 51 if is_binary else None,
            "only_champion": 28 if is_binary else None,
        },
        "flips": {"num_won": 51, "num_lost": 0, "won": [flip], "lost": []},
        "changes": {
            "params": [
                {"key": "candidates.linear.rate", "old": None, "new": 0.25},
                {"key": "data.source", "old": EVIL, "new": ["a", True]},
            ],
            "data": {
                "same": False,
                "splits": dict.fromkeys(("train", "validation", "test"), moved),
            },
            "code": {"from": "12" * 20, "to": "34" * 20, "from_dirty": True, "to_dirty": False},
        },
    }


@pytest.fixture(autouse=True)
def folder(folder: Path) -> Path:
    layout.EVIDENCE.parent.mkdir()
    layout.MANIFEST.parent.mkdir()
    rows = {"split": ["train", "test", "test"], "label": ["a", "a", "b"], "length": [4, 4, 6]}
    pd.DataFrame(rows).to_parquet(layout.MANIFEST)
    return folder


def build_winner() -> Candidate:
    per_example = {
        "id": np.array(["r1", "r2", "r3"]),
        "accuracy": np.array([1.0, 0.0, 0.0]),
        "actual": np.array(["a", "a", EVIL], dtype=object),
        "predicted": np.array(["a", "b", "a"], dtype=object),
        "nll": np.array([0.1, 2.0, 5.0]),
    }
    per_class = {"per_class": pd.DataFrame({"label": [EVIL], "f1": [0.5]})}
    scores = Scores(per_example, {"accuracy": 1 / 3, "nll": 2.4}, per_class)
    return Candidate("linear", scores, scores, None, {"one_p50": 0.5}, 1000)


def write_page(found: dict) -> str:
    svg = '<svg role="img"><text>0.5</text></svg>'
    figure = Figure("cost", "Accuracy against latency", "A caption.", svg)
    inputs = {"text": ["fine", f"broken {EVIL}", "worse"]}
    report.write_report(found, build_winner(), [figure], inputs)
    return layout.REPORT.read_text(encoding="utf-8")


def show_page(found: dict) -> str:
    """The page's words, without tags, in order."""
    text = write_page(found)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", text[text.index("<body>") :]))


def print_evidence(found: dict, width: int = 400) -> str:
    """What the terminal shows."""
    write_json(layout.EVIDENCE, document.seal_evidence(found))
    console = Console(width=width, record=True)
    summary.print_report(console)
    return console.export_text()


def render_markdown(found: dict) -> str:
    write_json(layout.EVIDENCE, document.seal_evidence(found))
    return summary.render_markdown()


def check_words(text: str, *words: str) -> None:
    for each in words:
        assert each in text, each


def test_the_verdict_and_its_reasons_come_first() -> None:
    text = write_page(describe())
    body = text[text.index("<body>") :]
    assert body.index("must not be promoted") < body.index("too low") < body.index("Candidates")
    check_words(
        body, "Is it good enough?", "0.3333", "0.0600 to 0.7900", "0.8000", "failed",
        "does not apply", "nothing known", "ab" * 32, "cd" * 20, "A caption.", "majority", "1 of 2",
        "0.50 / 0.70 ms", "2.0 MB", "cuda x 4", "bf16",
    )  # fmt: skip


def test_the_page_is_whole_needs_no_network_and_runs_no_text_of_others() -> None:
    for found, num_foreign in ((describe(), 5), (describe_compared("promote"), 8)):
        text = write_page(found)
        parser = Balanced()
        parser.feed(text)
        assert parser.open == []
        assert not re.findall(r"""(?:src|href)=["']?(?!#)[a-z]+:""", text)
        assert "@import" not in text
        assert "url(" not in text
        assert "<script" not in text
        assert text.count("&lt;script&gt;") >= num_foreign
    sections = text[text.index('id="champion"') : text.index('id="looks"')]
    assert sections.count("&lt;script&gt;") == 5  # flips 3, slices, params


def test_the_forms_of_the_winner_are_shown_where_there_are_several() -> None:
    row = {
        "name": "int8", "served": True, "score": 0.9, "low": 0.88, "high": 0.92,
        "agreement": 0.9971, "p50": 1.25, "p95": 2.5, "batch_p50": 30.0, "batch_p95": 40.0,
        "num_bytes": 23_600_000,
    }  # fmt: skip
    other = row | {"name": "fp32", "served": False, "agreement": None, "num_bytes": None}
    text = write_page(describe() | {"forms": [row, other]})
    check_words(text[text.index('id="forms"') :], "served", "99.7 %", "1.25 / 2.50 ms", "23.6 MB")
    assert 'id="forms"' not in write_page(describe() | {"forms": [other]})


def test_each_uncertainty_is_shown_beside_the_errors_that_it_orders() -> None:
    ordering = {
        "num_rows": 900, "num_errors": 61, "num_values": 900, "auroc": 0.8125,
        "auroc_interval": [0.75, 0.87], "auroc_highest": 0.89,
    }  # fmt: skip
    perfect = ordering | dict.fromkeys(("auroc", "auroc_interval", "auroc_highest"))
    kinds = {"linear": {"epistemic": ordering, "total": ordering}, "other": {"confidence": perfect}}
    selective = {"num_answered": 500, "num_rows": 900, "num_wrong": 4}
    selective |= {"selection": {"threshold": 0.925}}
    text = write_page(describe() | {"uncertainty": kinds, "selective": selective})
    check_words(
        text[text.index('id="uncertainty"') :],
        "epistemic and aleatoric", "1 less the confidence", "61 of 900", "0.8125", "0.7500 ",
        "linear answers 500 of 900 test rows itself, those with a score from 0.925 on, and 4 of "
        "them wrongly",
    )  # fmt: skip
    assert 'id="uncertainty"' not in write_page(describe())


@pytest.mark.parametrize("verdict", ["keep", "refuse"])
def test_test_figures_of_a_model_that_is_not_promoted_are_not_shown(verdict: str) -> None:
    found = describe_compared(verdict)
    found["gates"][0] |= {"name": "floor", "status": "fail", "reason": "at least 0.06012; 0.8000"}
    page = show_page(found)
    for text in (page, render_markdown(found), print_evidence(found)):
        check_words(text, "would teach the next one", "floor", "at least …; …")
        for figure in ("0.3333", "0.0208", "2.08", "51 : 28", "0.7900", "-0.05", "0.06"):
            assert figure not in text, figure
    assert "0.4000" in page or "40.0 %" in page  # of validation
    assert read_json(layout.EVIDENCE)["comparison"]["difference"] == 0.0208  # on record


def test_a_champion_and_what_changed_since_are_told_with_all_figures() -> None:
    check_words(
        show_page(describe_compared("promote")),
        "router version 7", "ab12ab12ab12", "accuracy 0.3333 0.3125", "NLL 2.4000 2.5000",
        "+2.08 points", "+0.12 to +4.04", "99.84 % interval",
        "0.0007 exact McNemar p below the level 0.0016", "51 : 28",
        "Won: 51 validation examples that only linear got right; the first 1",
        "Lost: 0 validation examples that only the champion got right", "predicted by linear",
        "predicted by champion", "50.0 %", "55.0 %", "-5.00 points", "-21.00 to +11.00", "0.04",
        "candidates.linear.rate not set 0.25", "[&#34;a&#34;, true]",
        "test 0 0 1,234",
        "From commit 121212121212 to 343434343434 : git diff --stat 121212121212 343434343434",
        "The champion was made from a working tree with changes that are in no commit",
        "This is use 3 of 20 planned for this test split. For this use a level of 0.0016 is left",
        "can show at this level is 1.73 points ; required: at most 2.00 points",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"looks": {"number": 21, "planned": 20, "level": 0.0}}, "No level is left"),
        (NO_CHAMPION, "There was no champion to compare with"),
        ({"changes": None}, "the registry does not hold what the champion was made from"),
    ],
)
def test_what_is_not_there_is_told(change: dict, words: str) -> None:
    assert words in show_page(describe_compared("promote") | change)


@pytest.mark.parametrize(
    ("verdict", "style", "code"),
    [("promote", "pass", 0), ("keep", "keep", 10), ("refuse", "fail", 20)],
)
def test_each_verdict_has_its_colour_and_exit_code(verdict: str, style: str, code: int) -> None:
    assert f"exit code {code}: " in show_page(describe_compared(verdict))
    assert f'class="verdict {style}"' in layout.REPORT.read_text(encoding="utf-8")


def test_failed_gates_come_first_with_what_to_do(folder: Path) -> None:
    kept = write_page(describe_compared("keep"))
    table = kept[kept.index('id="gates"') :]
    assert table.index("Better?") < table.index("Was it?") < table.index("Enough?")
    assert table.count('class="gate kept" open>') == 1
    assert table.count("<details id=") == 3
    found = describe_compared("refuse")
    found["gates"][0] |= {"name": "budget", "status": "fail"}
    remedy = describe_remedy(found, "budget")
    said = print_evidence(found)
    assert f"\n    what to do: {remedy} [plumbline docs gates]\n" in said
    assert "`forms` of linear, fewer" in said
    assert remedy in render_markdown(found)
    (folder / "docs/reference").mkdir(parents=True)
    (folder / "docs/reference/gates.md").touch()
    page = write_page(found)
    assert "<code>plumbline run --force --single-item evaluate</code>, then <code>make" in page
    assert '<a href="../docs/reference/gates.md#champion">docs/reference/' in page


def test_unknown_code_and_equal_data_are_told() -> None:
    found = describe_compared("promote")
    code = {"from": "", "to": "3434", "from_dirty": False, "to_dirty": True}
    found["changes"] |= {"params": [], "code": code}
    found["changes"]["data"]["same"] = True
    words = ("No parameter changed.", "labels and splits are the same", "no commit is on record")
    check_words(show_page(found), *words, "in no commit yet")


def test_continuous_scores_have_no_points_and_no_exact_test() -> None:
    page = show_page(describe_compared("promote", "continuous"))
    check_words(page, "+0.0208", "on which linear is better")
    assert "points" not in page
    assert "McNemar" not in page


def test_the_worst_answers_stand_on_top() -> None:
    metric = {"name": "accuracy", "kind": "binary", "higher_is_better": True}
    found = tables.list_mistakes(build_winner(), {"text": ["x", "y", "z"]}, metric)
    assert found["id"].tolist() == ["r3", "r2"]
    assert "accuracy" not in found.columns
    scores = Scores({"error": np.array([0.1, 9.0, 1.0])}, {"error": 3.3})
    line = Candidate("line", scores, scores, None, {}, 1)
    metric = {"name": "error", "kind": "continuous", "higher_is_better": False}
    assert tables.list_mistakes(line, {"x": [1, 2, 3]}, metric)["x"].tolist() == [2, 3, 1]


def test_data_that_were_rejected_are_why_nothing_was_evaluated() -> None:
    check = {"name": "rare_labels", "severity": "blocking", "passed": False}
    warning = {"name": "truncated", "severity": "warning", "passed": False}
    write_json(layout.VALIDATION, {"accepted": False, "checks": [check, warning]})
    with pytest.raises(PlumblineError, match=r"nothing was evaluated: .* \(rare_labels\); see"):
        summary.print_report(Console())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[]", "missing or damaged"),
        ("[" * 100_000, "missing or damaged"),
        (f'{{"format": {document.FORMAT}, "look": NaN}}', "missing or damaged"),
        ('{"format": 3}', "evidence format 3, this version reads"),
        (f'{{"format": {document.FORMAT}, "verdict": "promote"}}', "was edited after"),
    ],
)
def test_damaged_evidence_is_named_with_what_to_do(text: str, said: str) -> None:
    layout.EVIDENCE.write_text(text)
    for show in (lambda: summary.print_report(Console()), summary.render_markdown):
        with pytest.raises(EvidenceError, match=f"^reports/evidence.json: {said}.*; run `dvc re"):
            show()


@pytest.mark.parametrize("text", ["x", "3", '{"checks": [{"name": "rare_labels"}]}'])
def test_a_damaged_validation_is_named_with_what_to_do(text: str) -> None:
    layout.VALIDATION.write_text(text)
    with pytest.raises(DataError, match=r"^reports/validation.json: .*; run `dvc repro validate`"):
        summary.print_report(Console())


@pytest.mark.parametrize("width", [60, 160])
@pytest.mark.parametrize("key", ["notes", "gates"])
def test_what_data_say_cannot_command_the_terminal(key: str, width: int) -> None:
    reason = "[red]a[/red] phone\x1b[2J\x1b[H\npromote: linear.\x1b[8m is worse"
    found = describe()
    if key == "gates":
        found["gates"][0]["reason"] = reason
    else:
        found[key] = {"slices": [reason]}
    said = print_evidence(found, width)
    assert "\x1b" not in said
    assert "\npromote: linear" not in said
    check_words(
        " ".join(said.split()), "[red]a[/red] phone\ufffd[2J\ufffd[H promote: linear.", "0.3333"
    )


@pytest.mark.parametrize("verdict", ["promote", "keep", "refuse"])
def test_the_terminal_says_verdict_and_comparison(verdict: str) -> None:
    comparison = "champion version 7: accuracy 0.3125, linear 0.3333; gain by so much"
    if verdict != "promote":
        comparison = "champion version 7 stays; test figures are not shown"
    said = print_evidence(describe_compared(verdict))
    check_words(said, f"{verdict}: linear: {verdict}.", comparison)


@pytest.mark.parametrize("verdict", ["promote", "keep"])
def test_gaps_between_groups_are_shown_of_what_is_promoted(verdict: str) -> None:
    asked = {"columns": ["band"], "rate": "error", "max_gap": 0.05, "min_rows": 50}
    found = describe_compared(verdict) | {"groups": json.loads(json.dumps(GAPS)), "forms": None}
    found["thresholds"]["groups"] = asked
    data = {"columns": {"metadata": ["band", "sex", EVIL]}}
    found["params"] |= {"evaluation": {"slices": [], "groups": asked}, "data": data}
    page = show_page(found)
    card = model_card.render_card({"model": "tickets"} | found)
    said = "The widest gap of error is that of band old over young: 0.2000, with all 1 pairs at "
    assert (said in page) == (verdict == "promote")
    assert ("| `band = old` | 60 | 0.3000 | 0.2000 to 0.4000 |" in card) == (verdict == "promote")
    assert "Groups by `band` were looked at.\nNever looked at: `sex`, `<script>" in card
    assert ("tiny" in page, "tiny" in card) == (verdict == "promote", False)


@pytest.mark.parametrize("verdict", ["promote", "keep"])
def test_seeds_are_shown_and_of_the_test_split_only_what_is_promoted(verdict: str) -> None:
    found = describe_compared(verdict)
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
    page = show_page(found)
    card = model_card.render_card({"model": "tickets"} | found | {"forms": None})
    for text in (page, render_markdown(found), print_evidence(found), card):
        check_words(
            text,
            "0.3900 (7), 0.4000 (8), 0.4400 (9), mean 0.4100, spread 0.0265",
            "Seed 8 ships, the median on validation.",
        )
        assert ("on test mean 0.3456, spread 0.0123" in text) == (verdict == "promote")
        assert ("on test not shown" in text) == (verdict == "keep")
    assert ("in the mean over 3 seeds" in page) == (verdict == "promote")
    assert "0.3456" not in json.dumps(withhold_figures(found)) or verdict == "promote"


def test_clients_of_the_hub_read_the_scores_from_the_card(tmp_path: Path) -> None:
    found = {"model": "tickets"} | describe()
    source = {"source": "hf://org/tickets/train.csv"}
    found["params"] |= {"data": source, "candidates": {"linear": {"weights": "hf://org/base@1"}}}
    (tmp_path / "README.md").write_text(model_card.render_card(found), encoding="utf-8")
    data = ModelCard.load(tmp_path / "README.md").data
    assert (data.pipeline_tag, data.base_model) == ("text-classification", "org/base")
    told = [
        (one.dataset_name, one.dataset_split, one.metric_name, one.metric_value)
        for one in data.eval_results
    ]
    assert told[0] == ("org/tickets", "test", "accuracy, interval 0.0600 to 0.7900", 1 / 3)
    assert told[1:] == [
        ("org/tickets", "test", "nll", 2.4),
        ("org/tickets", "validation", "accuracy", 0.4),
        ("org/tickets", "validation", "nll", 2.0),
    ]
    card = model_card.render_card({"model": "tickets"} | describe_compared("keep"))
    (tmp_path / "README.md").write_text(card, encoding="utf-8")
    data = ModelCard.load(tmp_path / "README.md").data
    assert {one.dataset_split for one in data.eval_results} == {"validation"}
    assert (data.base_model, data.eval_results[0].dataset_name) == (None, "tickets")


def test_an_evaluation_that_broke_off_is_told() -> None:
    with pytest.raises(PlumblineError, match="nothing was evaluated yet"):
        summary.render_markdown()
    broken = {"format": document.FORMAT, "verdict": "error", "gates": []}
    broken |= {"summary": "no champion [here]", "lineage": {"git_commit": ""}}
    assert "error: no champion [here]" in print_evidence(broken, 80)
    assert render_markdown(broken).startswith("## Error: `no champion [here]`")


@pytest.mark.parametrize("verdict", ["promote", "keep", "refuse"])
def test_markdown_says_the_same_and_keeps_foreign_text_in_code(verdict: str) -> None:
    found = json.dumps(describe_compared(verdict) | {"notes": {"linear": [EVIL]}})
    found = json.loads(found.replace(json.dumps(EVIL)[1:-1], json.dumps(FOREIGN)[1:-1]))
    told = render_markdown(found)
    assert told.startswith(f"## {verdict.capitalize()}: linear: {verdict}.")
    figures = [
        "| **`linear`** | 0.4000 | - | - | 0.50 ms | 2.0 MB |".replace(" -", " \N{EN DASH}"),
        "version 7 stays",
    ]
    if verdict == "promote":
        row = "| **`linear`** | 0.4000 | 0.3333 | 0.0600 to 0.7900 | 0.50 ms | 2.0 MB |"
        figures = ["gain by so much", row]
    check_words(told, *figures, "51 examples of validation", "code: commit `121212121212`")
    card = model_card.render_card({"model": "tickets"} | found)
    for text, foreign in product((told, card), ("evil.example", "<script>", "@team")):
        assert foreign in text
        assert foreign not in re.sub(r"`[^`\n]*`", "", text)
    assert "\x1b" not in told + card
    for row in re.findall(r"(?m)^\|.*\|$", told):
        cells = len(re.findall(r"(?<!\\)\|", row))
        assert cells == 7, row  # a pipe in a text is not the end of its cell
