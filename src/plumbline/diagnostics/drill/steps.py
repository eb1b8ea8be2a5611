"""What happens to a model, in the order in which it happens. Every step returns what it showed."""

import csv
import json
import random
from pathlib import Path

from plumbline.diagnostics.drill.scene import Scene, require, until
from plumbline.diagnostics.selftest.ground import SHAPE
from plumbline.tasks.text_classification.data.generated import Ticket, ticket

TICKETS = Path("data/raw/tickets.csv")
NAME = "ticket-router"
BEFORE, AFTER = 0.0, 1.0  # the share of tickets that come from the later world
FEATURES = "max_features: 20000", "max_features: 8"


def train(scene: Scene) -> str:
    """Cold start: data, params, `dvc repro`."""
    (scene.folder / "params.yaml").write_bytes(SHAPE.read_bytes())
    scene.edit("source: generated ", f"source: {TICKETS} ")
    scene.edit(
        "{model: selftest, first_champion: true}", f"{{model: {NAME}, first_champion: false}}"
    )
    _write(scene, _draw(3000, 1, BEFORE))
    scene.commit("3,000 tickets")
    scene.run("dvc repro --quiet", show=["evaluate:"])
    return "registered as version 1; nobody serves it yet"


def promote(scene: Scene) -> str:
    """A person decides, on this very bundle."""
    scene.run(
        f"plumbline promote {NAME} 1 --expect none --bundle {_bundle(scene)[:12]} --reason first",
        show=["champion is"],
    )
    return "compare and set: had another been champion, nothing would have changed"


def serve(scene: Scene) -> str:
    """Traffic like that of the held-out rows: no drift."""
    _ask_a_day(scene, 2, BEFORE)
    scene.run("plumbline drift requests --record", show=["stable"])
    return "300 tickets were answered by version 1 and logged; they look like those it was evaluated on"


def refuse(scene: Scene) -> str:
    """A model that is not good enough does not get into the registry."""
    scene.edit(*FEATURES)
    scene.commit("fewer features")
    scene.run("dvc repro --quiet", code=255, show=["refused", "floor:"])
    scene.run("plumbline verdict", code=20)
    scene.run(f"plumbline champion {NAME}", show=["version 1"])
    scene.edit(*reversed(FEATURES))
    scene.commit("as before")
    return (
        "exit 20, nothing registered, the refusal stands in the journal, version 1 goes on serving"
    )


def canary(scene: Scene) -> str:
    """Held-out numbers look fine, since the held-out labels were renamed too; requests show it."""
    tickets = _draw(3000, 1, BEFORE)
    common = max({one.intent for one in tickets}, key=[one.intent for one in tickets].count)
    _write(scene, tickets, {common: f"{common}_v2"})
    scene.commit(f"{common} is called {common}_v2")
    scene.run("dvc repro --quiet", show=["evaluate:"])
    with scene.serving("--canary", "2=30%") as server:
        texts = [one.text for one in _draw(400, 3, BEFORE)]
        sides: list[tuple[str, str]] = []

        def returned() -> bool:
            sides.extend(server.ask(texts))
            return "return" in [entry["action"] for entry in scene.journal(NAME)]

        until(returned, "the journal says `return`")
        require(
            {version for version, _ in server.ask(texts)} == {"1"},
            "version 1 alone answers after that",
        )
    answered = sum(side == "canary" for _, side in sides)
    require(answered > 0, "the canary answered some requests before it was returned")
    scene.run(f"plumbline promote {NAME} 2 --expect 1", code=20, show=["returned as a canary"])
    return f"version 2 answered {answered} of {len(sides)} requests, was found out and taken away; it cannot be promoted"


def drift(scene: Scene) -> str:
    """One odd day is watched; the second asks for training."""
    _ask_a_day(scene, 4, AFTER)
    scene.run("plumbline drift requests --record", code=31, show=["watch:"])
    _ask_a_day(scene, 5, AFTER)
    scene.run("plumbline drift requests --record", code=30, show=["drift:"])
    return "exit 30 is what the workflow `drift` starts training on; reports/drift.html shows which columns moved"


def retrain(scene: Scene) -> str:
    """Some of what is new was labelled by people: a model must not learn from its own answers."""
    _write(scene, _draw(3000, 1, BEFORE) + _draw(2000, 6, AFTER))
    scene.commit("2,000 labelled tickets of the new kind")
    scene.run("dvc repro --quiet", show=["evaluate:"])
    scene.run("plumbline report", show=["gain"])
    return "better than the champion on the same held-out rows, by more than chance"


def replace(scene: Scene) -> str:
    """The server follows the alias; no request is lost."""
    with scene.serving() as server:
        require(server.version() == "1", "version 1 answers")
        scene.run(
            f"plumbline promote {NAME} 3 --expect 1 --bundle {_bundle(scene)[:12]} --reason 'the world changed'",
            show=["champion is"],
        )
        until(lambda: server.version() == "3", "version 3 answers")
    return "the server that answered with version 1 answers with version 3, without a restart"


def rollback(scene: Scene) -> str:
    """Seconds, not a training."""
    with scene.serving() as server:
        scene.run(f"plumbline rollback {NAME} --reason 'only a drill'", show=["champion is"])
        until(lambda: server.version() == "1", "version 1 answers again")
    return "version 1 answers again"


def account(scene: Scene) -> str:
    """The record, and whether all stores agree with it."""
    actions = scene.journal(NAME)
    for entry in actions:
        scene.say(f"     {entry['number']:>2} {entry['action']:9} {entry['reason'][:100]}")
    scene.run("plumbline fsck", show=["FAIL"])
    decided = {entry["action"] for entry in actions}
    missing = {"promote", "refuse", "return", "drift", "retrain", "rollback"} - decided
    require(
        not missing, f"the journal holds every decision; there is no {', '.join(sorted(missing))}"
    )
    return f"{len(actions)} entries in one chain; git, DVC, MLflow and the journal agree"


def _draw(count: int, seed: int, later: float) -> list[Ticket]:
    rng = random.Random(seed)  # noqa: S311
    return [ticket(rng, later) for _ in range(count)]


def _write(scene: Scene, tickets: list[Ticket], renamed: dict[str, str] | None = None) -> None:
    names = renamed or {}
    rows = [
        [
            one.text,
            names.get(one.intent, one.intent),
            one.channel,
            one.product,
            one.variant,
            one.day,
        ]
        for one in tickets
    ]
    with (scene.folder / TICKETS).open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(
            [["text", "label", "channel", "product", "variant", "day"], *rows]
        )


def _ask_a_day(scene: Scene, seed: int, later: float) -> None:
    """300 tickets to the server, which logs them and is then stopped: its log is whole."""
    with scene.serving("--log-folder", "requests") as server:
        server.ask([one.text for one in _draw(300, seed, later)])


def _bundle(scene: Scene) -> str:
    evidence = json.loads((scene.folder / "reports/evidence.json").read_text(encoding="utf-8"))
    return str(evidence["digests"]["bundle"])
