"""The model card: what a person has to know of a model, from the evidence alone."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from plumbline.evidence.withholding import NOTE, is_withheld, withhold_figures
from plumbline.reporting.html import render_template
from plumbline.reporting.leaderboard import describe_seeds

HUB_NAME = re.compile(r"hf://([\w.-]+/[\w.-]+)", re.ASCII)  # ORG/NAME
HUB_TASKS = ("text-classification", "token-classification", "image-classification")  # of its tags


def render_card(evidence: Mapping[str, Any]) -> str:
    """Render the card as Markdown; test figures that the report does not show are not in it."""
    shown = withhold_figures(evidence)
    lineage = {"git_commit": "", "git_dirty": ""} | shown["lineage"]
    values = {
        "evidence": shown | {"lineage": lineage},
        "card": shown["params"]["card"],
        **_list_columns(shown),
        "withheld": NOTE if is_withheld(evidence) else None,
        "hardware": _describe_training(shown),
        "scores": list(_list_scores(shown)),
        "seeds": describe_seeds(shown),
        "limits": list(_list_limits(shown)),
    }
    text = re.sub(r"\n{3,}", "\n\n", render_template("model_card.md", values))
    return f"---\n{_describe_for_hub(shown)}\n---\n{text.strip()}\n"


def _describe_for_hub(evidence: Mapping[str, Any]) -> str:
    """Return the winner's scores as YAML that clients of Hugging Face's hub read.

    Weights and data are named where they are of the hub; nothing that data say is in it.
    """
    from huggingface_hub import EvalResult, ModelCardData

    task, params = evidence["task"].replace("_", "-"), evidence["params"]
    weights = params.get("candidates", {}).get(evidence["winner"], {}).get("weights")
    base, own = map(HUB_NAME.match, (str(weights), str(params.get("data", {}).get("source"))))
    data = own[1] if own else evidence["model"]
    results = []
    for row in _list_scores(evidence):
        if row["candidate"] == evidence["winner"] and row["value"] is not None:
            result = EvalResult(task, data, data, row["metric"], row["value"])
            result.dataset_split, result.metric_name = row["split"], row["metric"]
            if row["low"] is not None:
                result.metric_name += f", interval {row['low']:.4f} to {row['high']:.4f}"
            results.append(result)
    card = ModelCardData(model_name=evidence["model"], base_model=base and base[1])
    card.eval_results, card.pipeline_tag = results, task if task in HUB_TASKS else None
    return str(card)


def _describe_training(evidence: Mapping[str, Any]) -> str | None:
    """Say with what the winner was trained; None where its bundle does not say."""
    facts = evidence["hardware"]["trainings"].get(evidence["winner"])
    if facts is None:
        return None
    used = (facts["cpu"], facts["instruction_set"], f"{facts['threads'] or 1} threads")
    device = f"{facts['device']}, {facts['precision'] or 'no gradient steps'}"
    return f"{device}; {', '.join(filter(None, used))}"


def _list_columns(evidence: Mapping[str, Any]) -> dict[str, list[str]]:
    """List the columns whose groups were compared, and those of the data that were not."""
    asked = evidence["params"].get("evaluation", {})
    columns = [*asked.get("slices", []), *(asked.get("groups") or {}).get("columns", [])]
    data = evidence["params"].get("data", {}).get("columns") or {}
    never = [column for column in data.get("metadata", []) if column not in columns]
    return {"looked_at": list(dict.fromkeys(columns)), "never": never}


def _list_scores(evidence: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """One row for each metric of each candidate on each split, the winner first."""
    winner = evidence["winner"]
    deciding = evidence["metric"]["name"]
    candidates = evidence["candidates"]
    for name in [winner, *(other for other in candidates if other != winner)]:
        for split in ("test", "validation"):
            for metric, value in candidates[name][split].items():
                row = {"candidate": name, "split": split, "metric": metric, "value": value}
                is_deciding = split == "test" and metric == deciding
                yield row | (candidates[name]["test_interval"] if is_deciding else {"low": None})


def _list_limits(evidence: Mapping[str, Any]) -> Iterator[str]:
    """List what was found that whoever uses the model has to know."""
    for gate in evidence["gates"]:
        if gate["status"] == "fail":
            yield f"{gate['name']}: {gate['reason']}"
    for key, value in evidence["loosened"].items():
        yield f"looser than the reference: {key} is {value}"
    for name, sentences in evidence["notes"].items():
        for sentence in sentences:
            yield f"{name}: {sentence}"
    for case in evidence["behaviour"]:
        if case["num_passed"] < case["num_cases"]:
            passed = f"{case['num_passed']} of {case['num_cases']} cases"
            yield f"behaviour {case['name']}: {passed} as expected"
