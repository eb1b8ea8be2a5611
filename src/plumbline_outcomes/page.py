"""What a look at outcomes says: a few lines on the terminal, and reports/outcomes.html."""

from collections.abc import Iterator, Mapping
from typing import Any

from plumbline.contract import layout
from plumbline.process.files import write_aside, write_json
from plumbline.reporting import html

NUM_SHOWN = 3  # groups on the terminal
EARLY = 0.01  # share of labels before their answers: a clock is wrong, or labels leak
NOT_JOINED = {
    "unknown": "of no request in the log",
    "older": "older than the log (`--limit log_days` keeps it longer)",
    "ambiguous": "of an id with several inputs",
    "unnumbered": "without `row`, of a request with several rows",
    "contradictory": "that contradict each other",
    "withdrawn": "withdrawn",
}


def write_report(report: Mapping[str, Any]) -> None:
    """Write reports/outcomes.json and the page."""
    write_json(layout.OUTCOMES, report)
    with write_aside(layout.OUTCOMES_PAGE) as aside:
        values = {**report, "lines": list(describe_report(report))}
        aside.write_text(html.render_template("outcomes.html", values), encoding="utf-8")


def describe_report(report: Mapping[str, Any]) -> Iterator[str]:
    """Yield what a person needs to know beside the verdict, a line each."""
    score, log = report["champion"], report["log"]
    if score:
        which = ("drawn rows decide", "all rows of each day decide")[score["whole"]]
        share = score["labelled"] / max(1, score["deciding"])
        yield (
            f"answered {score['answered']:,}; {which}: {score['deciding']:,}, of which "
            f"{score['labelled']:,} have a label ({share:.0%})"
        )
        yield from _describe_labels(report)
    if report["trial"]:
        yield from _describe_trial(report["trial"])
    for name, status in report["outcomes"].items():
        if name in NOT_JOINED:
            ids = ", ".join(status["ids"])
            yield f"not joined: {status['count']:,} {NOT_JOINED[name]}, such as {ids}"
    new_classes = ", ".join(map(repr, report["new_classes"][:5]))
    for size, text in (
        (report["late"], "outcomes of days that are closed, which change no decision"),
        (report["late_answers"], "answers of days that were closed before they came: left out"),
        (report["empty"], "rows without a label"),
        (new_classes, "are labels that the model never gives: their answers count as wrong"),
        (log["ambiguous"], "rows of the log whose id has several inputs, left out"),
        (log["missing"], "files of the log are missing between others"),
        (log["ahead"], "rows are from after now: the clock of a server is ahead"),
        (log["old"], "files of the log have no row numbers (an earlier plumbline), left out"),
    ):
        if size:
            yield f"{size} {text}"
    for why, size in log["lost"].items():
        yield f"{size:,} rows were lost by the server ({why})"
    if report["open"]:
        yield report["open"]


def _describe_trial(trial: Mapping[str, Any]) -> Iterator[str]:
    yield "; ".join(filter(None, (trial["told"], trial.get("why"), trial.get("end"))))
    if trial.get("as_answered") is not None:
        yield (
            f"  {trial['as_answered']:+.3f} by who answered in the end, which decides nothing: "
            "where the canary fails, the champion has answered"
        )


def _describe_labels(report: Mapping[str, Any]) -> Iterator[str]:
    score, delay, others = report["champion"], report["delay"], report["volunteered"]
    low, high = score["bounds"]
    if score["labelled"] < score["deciding"]:
        yield f"with each row without a label wrong, or right: {low:.3f} to {high:.3f}"
    if delay:
        yield f"a label came after {delay['median']:.1f} days, 90 % within {delay['most']:.1f}"
        if delay["before"] > EARLY:
            yield f"{delay['before']:.0%} of labels are older than the answer: is a clock wrong?"
    if others:
        yield (
            f"labels that decide nothing, of rows that chance did not draw: {others['rows']:,}, "
            f"{others['score']:.3f} right"
        )
    worst = [
        f"{one['name']} {one['mean']:.3f} ({one['low']:.3f} to {one['high']:.3f})"
        for one in report["slices"][:NUM_SHOWN]
    ]
    if worst:
        yield f"worst groups: {', '.join(worst)}"
    if report["gap"]:
        yield report["gap"]
    for one in report["versions"]:
        if one["mean"] is not None and one is not score:
            yield f"version {one['version']}: {one['mean']:.3f} right of {one['labelled']:,}"
