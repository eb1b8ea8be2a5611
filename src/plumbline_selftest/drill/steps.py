"""What happens to a model, in the order in which it happens. Every step returns what it showed."""

from collections import Counter
from collections.abc import Callable

from plumbline_selftest.drill.labels import answer_and_label, read_live_score
from plumbline_selftest.drill.scene import Scene
from plumbline_selftest.drill.server import Server, require, wait_until
from plumbline_selftest.protocol import SourceRow

BEFORE, AFTER = 0.0, 1.0  # the share of rows that come from the changed world
FIRST_SEED, NUM_ROWS, NUM_NEW_ROWS = 1, 3000, 2000
ROWS_A_DAY, ROWS_FOR_CANARY, ROWS_LABELLED, ROWS_SPOILT = 300, 400, 2000, 400
KEEP_EVERY = 16  # rows of the class whose label is changed keep it
DECISIONS = {"promote", "refuse", "drift", "retrain", "rollback", "outcomes", "trial"}


def train_first(scene: Scene) -> str:
    """Cold start: data, params, `dvc repro`."""
    scene.prepare(f"{NUM_ROWS:,} rows", scene.part.read_params(), _draw_old_rows(scene))
    scene.run("dvc repro --quiet", show=["evaluate:"])
    return "registered as version 1; nobody serves it yet"


def promote_first(scene: Scene) -> str:
    """A person decides, on one named bundle."""
    scene.run(
        f"plumbline promote {scene.model} 1 --expect none --bundle {scene.read_bundle_digest()} "
        "--reason first",
        show=["champion is"],
    )
    return "compare and set: had another version been champion, nothing would have changed"


def serve_rows(scene: Scene) -> str:
    """Traffic like the held-out rows: no drift."""
    _serve_a_day(scene, 2, BEFORE)
    scene.run("plumbline drift requests --record", show=["stable"])
    return (
        f"version 1 answered and logged {ROWS_A_DAY} rows; they look like those it was evaluated on"
    )


def refuse_bad_model(scene: Scene) -> str:
    """A model that is not good enough does not get into the registry."""
    scene.prepare("fewer features", scene.part.read_poor_params(), _draw_old_rows(scene))
    scene.run("dvc repro --quiet", code=255, show=["refused", "floor:"])
    scene.run("plumbline report --verdict", code=20)
    scene.run(f"plumbline champion {scene.model}", show=["version 1"])
    return (
        "exit 20, nothing registered, the refusal is in the journal, version 1 continues to serve"
    )


def stop_canary(scene: Scene) -> str:
    """Held-out scores look good, because held-out labels were renamed too; requests show it.

    A person who expects that few answers change says so. Which of both is right, labels tell.
    """
    rows = _draw_old_rows(scene)
    common = Counter(row["label"] for row in rows).most_common(1)[0][0]
    # Not of all rows: a class that is renamed as a whole is recognised, and the champion's too.
    kept = [row for row in rows if row["label"] == common][::KEEP_EVERY]
    renamed = [
        {**row, "label": f"{common}_v2"} if row["label"] == common and row not in kept else row
        for row in rows
    ]
    scene.prepare(f"nearly all of {common} is renamed", scene.part.read_params(), renamed)
    scene.run("dvc repro --quiet", show=["evaluate:"])
    asked = scene.part.draw_rows(ROWS_FOR_CANARY, 3, BEFORE)
    with scene.run_server("--canary", "2=30%", "--limit", "max_disagreement=0.1") as server:
        sides: list[str] = []

        def is_stopped() -> bool:
            sides.extend(side for _, side in server.ask(asked))
            return "taken out of service, not returned" in server.log.read_text()

        wait_until(is_stopped, "the server takes the canary out of service")
        require(
            {version for version, _ in server.ask(asked)} == {"1"},
            "version 1 alone answers after that",
        )
    num_canary = sides.count("canary")
    require(num_canary > 0, "the canary answered some requests before that")
    return (
        f"version 2 answered {num_canary} of {len(sides)} requests, differed on many, and was "
        "taken out of service: labels of those rows tell which of the two is right"
    )


def watch_drift(scene: Scene) -> str:
    """One unusual day is watched; the second asks for training."""
    _serve_a_day(scene, 4, AFTER)
    scene.run("plumbline drift requests --record", code=31, show=["watch:"])
    _serve_a_day(scene, 5, AFTER)
    scene.run("plumbline drift requests --record", code=30, show=["drift:"])
    return (
        "exit 30 starts training in the workflow `drift`; "
        "reports/drift.html shows which columns changed"
    )


def retrain(scene: Scene) -> str:
    """People labelled some of the new rows: a model must not learn from its own answers."""
    rows = [*_draw_old_rows(scene), *scene.part.draw_rows(NUM_NEW_ROWS, 6, AFTER)]
    scene.prepare(f"{NUM_NEW_ROWS:,} rows of the new kind", scene.part.read_params(), rows)
    scene.run("dvc repro --quiet", show=["evaluate:"])
    scene.run("plumbline report", show=["gain"])
    return "significantly better than the champion on the same held-out rows"


def run_trial(scene: Scene) -> str:
    """Both versions answer the same requests; labels of those on which they differ decide."""
    scene.run(_promote_third(scene), code=1, show=["won no trial"])
    scene.run("plumbline outcomes trial answers 3 --worth 0.05", show=["trial"])
    answer_and_label(scene, scene.part.draw_rows(ROWS_SPOILT, 9, AFTER), 0, "--shadow", "3")
    record = "plumbline outcomes answers labels.csv --record"
    scene.run(record, code=30, show=["trial"], days=9)
    won = [entry for entry in scene.read_journal() if "version 3: better" in entry["reason"]]
    require(len(won) == 1, "the journal says that version 3 is better")
    return "params.yaml has registry.trial: paired, so without this verdict nobody promotes it"


def replace_champion(scene: Scene) -> str:
    """The server follows the alias; no request is lost."""
    with scene.run_server() as server:
        require(_ask_version(scene, server) == "1", "version 1 answers")
        scene.run(_promote_third(scene), show=["champion is"])
        wait_until(lambda: _ask_version(scene, server) == "3", "version 3 answers")
    reason = scene.read_journal()[-1]["reason"]
    require("version 3: better" in reason, f"the reason names the verdict: {reason}")
    return "the server that answered with version 1 answers with version 3, without a restart"


def roll_back(scene: Scene) -> str:
    """Seconds, not a training."""
    with scene.run_server() as server:
        scene.run(f"plumbline rollback {scene.model} --reason 'only a drill'", show=["champion is"])
        wait_until(lambda: _ask_version(scene, server) == "1", "version 1 answers again")
    return "version 1 answers again"


def compare_with_labels(scene: Scene) -> str:
    """A week after the answers it is known what was right: the score is what it was."""
    known = answer_and_label(scene, scene.part.draw_rows(ROWS_LABELLED, 7, BEFORE), 9)
    scene.run("plumbline outcomes answers labels.csv --record", show=["holds:"])
    low, high = read_live_score(scene)
    require(low <= known <= high, f"{known:.3f}, what was right, is between {low} and {high}")
    return f"{known:.3f} of the answers were right, as the drill knows: the interval holds it"


def detect_worse_answers(scene: Scene) -> str:
    """The same requests come in, and half of the classes are called what another one was."""
    rows = scene.part.draw_rows(ROWS_SPOILT, 8, BEFORE)
    names = sorted({row["label"] for row in rows})
    moved = dict(zip(names[::2], names[1::2], strict=False))
    labelled = [{**row, "label": moved.get(row["label"], row["label"])} for row in rows]
    known = answer_and_label(scene, labelled, 8)
    scene.run("plumbline outcomes answers labels.csv --record", code=30, show=["worse:"])
    require(scene.read_journal()[-1]["action"] == "retrain", "the journal asks for training")
    return f"{known:.3f} of the answers to them were right; drift of requests shows none of it"


def show_journal(scene: Scene) -> str:
    """Every decision, and whether all stores agree with it."""
    entries = scene.read_journal()
    for entry in entries:
        scene.say(f"     {entry['number']:>2} {entry['action']:9} {entry['reason'][:100]}")
    scene.run("plumbline doctor", show=["FAIL"])
    missing = DECISIONS - {entry["action"] for entry in entries}
    require(not missing, f"the journal has every decision; missing: {', '.join(sorted(missing))}")
    return f"{len(entries)} entries in one chain; git, DVC, MLflow and the journal agree"


STEPS: tuple[tuple[str, Callable[[Scene], str]], ...] = (
    ("train a first model", train_first),
    ("promote it", promote_first),
    ("serve it, and answer requests", serve_rows),
    ("labels come back: a live score", compare_with_labels),
    ("train a bad model: it is refused", refuse_bad_model),
    ("a label is renamed upstream: the canary is stopped", stop_canary),
    ("labels change: live answers are worse, training is requested", detect_worse_answers),
    ("the world changes: drift that persists requests a retraining", watch_drift),
    ("train on what is new", retrain),
    ("a trial of pairs: labels say which is better", run_trial),
    ("promote that, during requests", replace_champion),
    ("go back", roll_back),
    ("everything that was decided", show_journal),
)


def _draw_old_rows(scene: Scene) -> list[SourceRow]:
    return scene.part.draw_rows(NUM_ROWS, FIRST_SEED, BEFORE)


def _serve_a_day(scene: Scene, seed: int, drift: float) -> None:
    """Ask a server that logs, and stop it: its log is complete after that."""
    with scene.run_server("--log-folder", "requests") as server:
        server.ask(scene.part.draw_rows(ROWS_A_DAY, seed, drift))


def _promote_third(scene: Scene) -> str:
    return (
        f"plumbline promote {scene.model} 3 --expect 1 --bundle {scene.read_bundle_digest()} "
        "--reason 'the world changed'"
    )


def _ask_version(scene: Scene, server: Server) -> str:
    """Return the version that answers now."""
    version, _ = server.ask(scene.part.draw_rows(1, FIRST_SEED, BEFORE))[0]
    return version
