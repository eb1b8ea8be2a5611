"""Test figures that nobody is shown: those of a model that does not replace the champion.

Who sees how a challenger did on the test split, and builds the next one on that, learns the split:
after a few looks a model that is no better is promoted. Rounded figures, or Blum and Hardt's Ladder
(2015) with a step of the standard error, do not stop it (benchmarks/adaptive.py). What does is the
Ladder with the step that promotion itself asks for: figures are shown once a model is promoted.
Until then everybody who looks sees which gates failed, and no number of the test split.
evidence.json keeps every figure, for audit.
"""

import re
from collections.abc import Mapping
from typing import Any

# Gates that read no score of the winner on the test split; the figures of all others are withheld.
SHOWN_GATES = (
    "accepted", "coverage", "leakage", "test_split", "behaviour", "budget", "export", "answers",
    "replay",
)  # fmt: skip
NOTE = "not shown: those of a model that is not promoted would teach the next one"
NUMBER = re.compile(r"(?<![\w.-])[-+]?\d+(?:,\d{3})*(?:\.\d+)?(?:e[-+]?\d+)?%?(?!\w)")
HIDDEN = "\N{HORIZONTAL ELLIPSIS}"


def is_withheld(evidence: Mapping[str, Any]) -> bool:
    """Whether the test figures of `evidence` are not to be shown."""
    return evidence.get("verdict") in ("keep", "refuse") and bool(evidence.get("champion"))


def withhold_figures(evidence: Mapping[str, Any]) -> dict[str, Any]:
    """Return `evidence` as it is shown: figures of the test split are None where withheld.

    Figures of validation, of baselines and of the champion stay: they were known before.
    """
    if not is_withheld(evidence):
        return dict(evidence)
    candidates = evidence.get("candidates") or {}
    blank = {"score": None, "low": None, "high": None, "agreement": None}
    return dict(evidence) | {
        "candidates": {name: _blank_scores(scores) for name, scores in candidates.items()},
        "forms": [form | blank for form in evidence.get("forms") or []],
        "metrics": {},
        "comparison": None,
        "slices": [],
        "groups": None,
        "uncertainty": {},
        "selective": None,
        "gates": [_blank_gate(gate) for gate in evidence["gates"]],
    }


def _blank_scores(scores: Mapping[str, Any]) -> dict[str, Any]:
    blank = dict(scores) | {
        "test": dict.fromkeys(scores["test"]),
        "test_interval": {"low": None, "high": None},
    }
    if "seeds" in scores:
        blank["seeds"] = dict(scores["seeds"]) | {"test_mean": None, "test_spread": None}
    return blank


def _blank_gate(gate: Mapping[str, Any]) -> dict[str, Any]:
    """Leave of a gate on test scores its status, and why it did not pass, without numbers."""
    if gate["name"] in SHOWN_GATES:
        return dict(gate)
    blank = dict(gate) | {"measured": None, "interval": None}
    if gate["status"] == "pass":
        return blank | {"reason": f"its test figures are {NOTE}"}
    measured, required, limit = gate["reason"].partition("; required: ")
    reason = NUMBER.sub(HIDDEN, measured) + required + limit
    if gate["name"] == "champion" and gate["measured"] is not None:
        is_asked = "; on the champion's own" in gate["reason"]
        reason = "not better than the champion"  # nor by which sign
        reason += ", on all test rows and on its own" if is_asked else ""
    if reason != gate["reason"]:
        reason += f"; its test figures are {NOTE}"
    return blank | {"reason": reason}
