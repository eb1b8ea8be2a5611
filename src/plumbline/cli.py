"""The command line: what a person asks of the pipeline from the shell."""

import json
import logging
import os
import shlex
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table

from plumbline import github, layout, pointer, released
from plumbline.drift.command import drift
from plumbline.entrypoint import INTERRUPTED, load_params, load_task
from plumbline.errors import ParamsError, PlumblineError
from plumbline.params import nearest
from plumbline.serving import command

if TYPE_CHECKING:
    from plumbline.contract import Task
    from plumbline.finding import Finding
    from plumbline.journal import Entry

RECIPES = Path("recipes")
COMPARES = "commit it; the next `dvc repro` compares with it"

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False, add_completion=False, help=(__doc__))
recipe = typer.Typer(no_args_is_help=True, help="Ready-made params.yaml files.")
app.add_typer(recipe, name="recipe")
carried = typer.Typer(no_args_is_help=True, help="A local registry, with its journal, as one file.")
app.add_typer(carried, name="registry")
app.command()(command.serve)
app.command()(drift)
out = Console(highlight=False, soft_wrap=True)


def main() -> None:
    """Run the command; a fault the user can act on is told in one line, with its exit code."""
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s: %(message)s")
    warnings.filterwarnings("ignore", module=r"mlflow|pydantic|google")  # theirs to mend, noise to the user
    try:
        app()
    except PlumblineError as error:
        print(f"plumbline: {error}", file=sys.stderr)
        github.annotate("error", "plumbline", str(error))
        sys.exit(error.exit_code)


@app.command()
def doctor() -> None:
    """Look at what a run needs (packages, params, DVC, registry, disk, device) and say what to do about faults."""
    from plumbline import doctor

    _show(doctor.examine())


@app.command()
def fsck() -> None:
    """Hold git, dvc.lock, the DVC cache, MLflow, the registry and the journal against each other; say how to mend."""
    from plumbline import fsck

    _show(fsck.examine())


@app.command()
def predict(
    values: Annotated[list[str], typer.Argument(help="What to ask: one value for each row, or '-' to read lines.")],
    model: Annotated[
        str, typer.Option(help="models:/NAME@ALIAS or models:/NAME/VERSION; the champion if left out.")
    ] = "",
    set_: Annotated[list[str], typer.Option("--param", "-p", help="An inference parameter, such as top_k=5.")] = [],  # noqa: B006
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
) -> None:
    """Ask a registered model. Its files are checked against the registry before any of its code runs."""
    from plumbline import promotion

    params = load_params(layout.PARAMS)
    task = load_task(params.task)
    rows = [line.rstrip("\n") for line in sys.stdin] if values == ["-"] else values
    asked = _columns(task, rows)
    chosen = _inference_params(set_, {param.name: param.default for param in task.signature.params})
    predictor, version = promotion.load(model or f"models:/{params.registry.model}@champion")
    try:
        answers = predictor.predict(asked, **chosen)
    except ValueError as error:
        raise PlumblineError(str(error)) from None
    records = [dict(zip(answers, row, strict=True)) for row in zip(*answers.values(), strict=True)]
    if as_json:
        for record in records:
            print(json.dumps(record, ensure_ascii=False))
        return
    table = Table(next(iter(asked)), *answers, title=f"{version.name} version {version.version}", title_justify="left")
    for row, record in zip(rows, records, strict=True):
        table.add_row(row, *(_cell(value) for value in record.values()))
    out.print(table, markup=False)


@app.command()
def score(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="models:/NAME@ALIAS or models:/NAME/VERSION.")],
    input_: Annotated[Path, typer.Argument(metavar="INPUT", help=".csv, .tsv, .jsonl (each also .gz) or .parquet.")],
    output: Annotated[
        Path, typer.Argument(metavar="OUTPUT", help="One of the same kinds; it may be another than INPUT's.")
    ],
    columns: Annotated[str, typer.Option(help="Which answers are written, such as label,score; all if left out.")] = "",
    set_: Annotated[list[str], typer.Option("--param", "-p", help="An inference parameter, such as top_k=5.")] = [],  # noqa: B006
    prefix: Annotated[str, typer.Option(help="Put before the names of all columns that are added.")] = "",
    bad_rows: Annotated[
        Literal["stop", "keep"], typer.Option(help="keep: write rows that cannot be answered, with a column `error`.")
    ] = "stop",
    overwrite: Annotated[bool, typer.Option(help="Replace OUTPUT if it exists.")] = False,
) -> None:
    """Answer every row of INPUT; write rows and answers, in order, to OUTPUT.

    All columns of INPUT stay; the answers follow, then `model`: who gave them.

    OUTPUT appears when it is whole. Cut short, the same command goes on.

    Memory does not grow with the file. See docs/score.md.
    """
    from plumbline import bundle
    from plumbline.serving import score
    from plumbline.serving.mirror import Mirror

    copy = Mirror(model).latest()
    defaults = {param.name: param.default for param in bundle.signature(copy.folder).params}
    params = defaults | _inference_params(set_, defaults)
    chosen = [name.strip() for name in columns.split(",") if name.strip()]
    request = score.Request(input_, output, params, chosen, prefix, bad_rows == "keep", overwrite)
    try:
        with _bar() as watch:
            done = score.score(copy, request, watch, lambda text: print(text, file=sys.stderr))
    except KeyboardInterrupt:
        print("plumbline: interrupted; run the same command again to go on", file=sys.stderr)
        raise typer.Exit(INTERRUPTED) from None
    rate = (done.num_rows - done.num_before) / done.seconds
    bad = f"; {done.num_bad:,} could not be answered, see the column {prefix}error" if done.num_bad else ""
    _plain(f"{output}: {done.num_rows:,} rows by {copy.name} version {copy.version}, {rate:,.0f} rows/s{bad}")


@app.command()
def report(
    markdown: Annotated[bool, typer.Option("--markdown", help="All of it, as GitHub shows it.")] = False,
) -> None:
    """Show the last evaluation: leaderboard, verdict, and where the whole report and the MLflow UI are."""
    from plumbline import report

    if markdown:
        return _plain(report.markdown())
    report.show(out)
    done = layout.read_json(layout.REGISTRATION) if layout.REGISTRATION.exists() else {}
    if done.get("version") and done["evidence"] == layout.digest(layout.EVIDENCE):
        _show_next(done, layout.read_json(layout.EVIDENCE)["champion"])


def _show_next(done: dict[str, Any], champion: dict[str, Any] | None) -> None:
    """What can be done with the version that was just registered."""
    task, program = load_task(load_params(layout.PARAMS).task), os.path.relpath(sys.argv[0])
    name, version = done["model"], done["version"]
    out.print(f"registered:      {name} version {version}; runs and registry: make ui")
    if champion and done["verdict"] == "promote":
        out.print(f"promote it:      {program} promote {name} {version} --expect {champion['version']}", markup=False)
    asked = {name: values[0] for name, values in task.example.items()}
    only = next(iter(asked.values()))
    question = shlex.quote(only if isinstance(only, str) else json.dumps(only if len(asked) == 1 else asked))
    which = f"--model models:/{name}/{version} " if champion else ""
    out.print(f"ask it:          {program} predict {which}{question}", markup=False)


@app.command()
def verdict(
    as_json: Annotated[bool, typer.Option("--json", help="The whole evidence.")] = False,
    workflow: Annotated[
        bool, typer.Option("--github", help="Tell a workflow: outputs, summary; exit 0 for promote and keep.")
    ] = False,
) -> None:
    """Print the verdict of the last evaluation and exit with it: promote 0, keep 10, refuse 20, error 1."""
    from plumbline import outcome
    from plumbline.evidence import document
    from plumbline.evidence.verdict import EXIT_CODES

    if workflow:
        raise typer.Exit(outcome.tell(load_params(layout.PARAMS)))
    evidence = document.read(load_params(layout.PARAMS))
    if as_json:
        print(json.dumps(evidence, ensure_ascii=False, indent=2))
    else:
        out.print(f"{evidence['verdict']}: {evidence['summary']}", markup=False)
        for gate in evidence["gates"]:
            if gate["status"] == "fail":
                out.print(f"  {gate['name']}: {gate['reason']}", markup=False)
    raise typer.Exit(EXIT_CODES[evidence["verdict"]])


@app.command("selftest")
def run_selftest() -> None:
    """Plant faults in models and data and see that each is refused by the gate that names it. Takes minutes."""
    from plumbline import selftest

    missed, told = 0, Table("planted", "verdict", "failed", "", title="selftest", title_justify="left")
    with out.status("preparing sound data, a champion and a challenger") as status:
        for number, found in enumerate(selftest.run(), 1):
            status.update(f"{number} of {len(selftest.PLANTS) + 1} done")
            if isinstance(found, selftest.Outcome):
                missed += not found.caught
                mark = "[green]caught[/]" if found.caught else f"[red]MISSED[/] (wanted: {found.gate})"
                told.add_row(escape(found.name), found.verdict, escape(", ".join(found.failed)), mark)
            else:
                rates = found
    out.print(told)
    low, high = rates.alike_interval
    out.print(
        f"A/A: one recipe against itself, {rates.num_rounds} pairs that differ on {rates.differ:.1%} of the rows: "
        f"promoted {rates.alike:.1%} of the times ({low:.1%} to {high:.1%}); chance allows {selftest.ALPHA / 2:.1%}.\n"
        f"A/B: against a recipe that saw an eighth of the rows: promoted {rates.better:.0%} of the times."
    )
    if missed:
        raise PlumblineError(f"{missed} of {len(selftest.PLANTS)} plants got through")
    if low > selftest.ALPHA / 2:
        raise PlumblineError("the champion gate promotes what is no better more often than it states")


@app.command("drill")
def run_drill() -> None:
    """Live through a model's whole life, from training to rollback, in a clone below .plumbline/. Takes minutes."""
    from plumbline import drill

    start = time.monotonic()
    drill.run(_plain)
    took = time.monotonic() - start
    _plain(f"\nthe drill is over: {len(drill.STEPS)} steps in {took:.0f} s; look around in {drill.FOLDER}")


@app.command()
def promote(
    name: str,
    version: str,
    expect: Annotated[str, typer.Option(help="The champion you looked at: a version, or none.")],
    reason: Annotated[str, typer.Option(help="Why; it stands in the journal.")] = "",
    override: Annotated[bool, typer.Option(help="Whatever its evidence says; takes a --reason.")] = False,
    bundle: Annotated[
        str | None, typer.Option(help="The digest of the bundle you looked at: no other is promoted.")
    ] = None,
    asked_by: Annotated[
        str | None,
        typer.Option(help="In GitHub Actions: who asked for it; somebody else must have approved this run."),
    ] = None,
) -> None:
    """Make VERSION the champion of NAME, if its evidence says so and the champion still is the expected one."""
    from plumbline import promotion, registry

    if asked_by is not None:
        commit = registry.resolve(f"models:/{name}/{version}").tags.get("plumbline.git_commit", "")
        reason = "; ".join(filter(None, [reason, github.approval(asked_by, commit)]))
    _decided(promotion.promote(name, version, expect, reason, override, bundle, once=asked_by is not None))


@app.command()
def rollback(
    name: str,
    to: Annotated[str | None, typer.Option(help="A version that was champion; the one before if left out.")] = None,
    reason: Annotated[str, typer.Option(help="Why; it stands in the journal.")] = "",
    expect: Annotated[
        str | None, typer.Option(help="The champion you looked at; whichever there is, if left out.")
    ] = None,
) -> None:
    """Bring back the champion before this one."""
    from plumbline import promotion

    _decided(promotion.rollback(name, to, reason, expect))


@app.command()
def sign(
    name: str,
    version: str,
    key: Annotated[Path, typer.Option(help="A private key of an elliptic curve, as PEM.")],
) -> None:
    """Sign VERSION of NAME: where PLUMBLINE_PUBLIC_KEY is set, only versions signed by its owner are served."""
    from plumbline import signing

    digest = signing.sign(name, version, key)
    out.print(
        f"{name} version {version}: bundle {digest[:12]} is signed with {key}; the signature is in the version's run"
    )


@app.command("journal")
def show_journal(name: str, as_json: Annotated[bool, typer.Option("--json", help="One entry a line.")] = False) -> None:
    """Every decision on NAME, oldest first, once the chain was checked."""
    from plumbline import promotion

    entries = promotion.history(name)
    if as_json:
        for entry in entries:
            print(json.dumps(asdict(entry)))
        return
    table = Table("#", "at (UTC)", "who", "decision", "bundle", "evidence", "reason")
    for entry in entries:
        change = (
            f"{entry.action} {entry.previous} -> {entry.version}"
            if entry.moves
            else f"{entry.action} {entry.version}".rstrip()
        )
        at = entry.at.removesuffix("+00:00").replace("T", " ")
        table.add_row(str(entry.number), at, entry.actor, change, entry.bundle[:12], entry.evidence[:12], entry.reason)
    out.print(table, markup=False)


@app.command("champion")
def show_champion(
    name: Annotated[str, typer.Argument(help="The registered model; that of params.yaml if left out.")] = "",
    as_of: Annotated[str | None, typer.Option(help="A day or moment, ISO 8601, UTC.")] = None,
    pin: Annotated[
        bool, typer.Option("--pin", help="Write it into champion.json: `dvc repro` compares with it.")
    ] = False,
) -> None:
    """Who is champion of NAME, or was, and by which decision."""
    from plumbline import promotion

    name = name or load_params(layout.PARAMS).registry.model
    if pin:
        if as_of:
            raise ParamsError("--pin takes the champion of now; leave out --as-of")
        found = promotion.pin(name)
        out.print(f"{layout.CHAMPION}: {name} {f'version {found.version}' if found else 'has no champion'}; {COMPARES}")
        return
    entry = promotion.champion(name, as_of)
    if entry is None:
        raise PlumblineError(f"{name}: no champion{' by ' + as_of if as_of else ''}")
    out.print(f"{name} version {entry.version}, by {entry.actor} at {entry.at} ({entry.action}; entry {entry.number})")


@app.command()
def reproduce(
    name: Annotated[str, typer.Argument(help="The registered model; that of params.yaml if left out.")] = "",
    version: Annotated[str, typer.Argument(help="Its version; the champion if left out.")] = "",
    anyway: Annotated[bool, typer.Option(help="Also where the version was made from uncommitted changes.")] = False,
    keep: Annotated[Path | None, typer.Option(help="Leave the clone in this folder.")] = None,
) -> None:
    """Make a registered version again from its commit, in a clone, and compare: exit 0 if it is the same, else 1."""
    from plumbline import reproduce

    model = name or load_params(layout.PARAMS).registry.model
    done = reproduce.reproduce(model, version or None, anyway=anyway, keep=keep, say=_plain)
    table = Table("what", "registered", "reproduced", "same?")
    for row in done.rows:
        said = "yes" if row.same else f"no: {row.note}" if row.note else "no"
        table.add_row(row.what, row.registered, row.reproduced, said)
    out.print(table, markup=False)
    if not done.same:
        raise PlumblineError(done.summary)
    _plain(done.summary)


@app.command("merge-lock", hidden=True)
def merge_lock(base: Path, ours: Path, theirs: Path) -> None:
    """Merge three versions of dvc.lock into OURS: git calls it (.gitattributes)."""
    from plumbline import lockfile

    if again := lockfile.merge(base, ours, theirs):
        print(
            f"dvc.lock: changed on both sides, so `dvc repro` looks at them anew: {', '.join(again)}", file=sys.stderr
        )


@recipe.command("list")
def list_recipes() -> None:
    """The recipes, with the first line of each."""
    for path in _recipes():
        first = path.read_text(encoding="utf-8").splitlines()[0].lstrip("# ")
        out.print(f"{path.stem:22} {first}", markup=False)


@recipe.command("show")
def show_recipe(name: str) -> None:
    """Print a recipe."""
    print(_recipe(name).read_text(encoding="utf-8"), end="")


@recipe.command("use")
def use_recipe(name: str, force: Annotated[bool, typer.Option(help="Replace uncommitted changes.")] = False) -> None:
    """Make a recipe the active params.yaml, once it was checked."""
    path = _recipe(name)
    load_params(path)
    if not force and _uncommitted(layout.PARAMS):
        raise PlumblineError(f"{layout.PARAMS} has changes that are not committed; commit them, or add --force")
    with layout.written(layout.PARAMS) as aside:
        aside.write_bytes(path.read_bytes())
    out.print(f"{layout.PARAMS} is now {path}. Next: dvc repro")


@contextmanager
def _bar() -> Iterator[Callable[[int, float], None]]:
    """A progress bar on stderr, where that is a terminal; it is told of rows done and the share that they are."""
    columns = (BarColumn(), TaskProgressColumn(), TextColumn("{task.description}"), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), disable=not sys.stderr.isatty()) as progress:
        bar = progress.add_task("reading", total=1.0)
        yield lambda rows, share: progress.update(bar, completed=share, description=f"{rows:,} rows")


@carried.command()
def pack(target: Annotated[Path, typer.Argument(metavar="FILE", help="The .tar file to write.")]) -> None:
    """Write registry, journal and artifacts into one file, as they are at this moment."""
    from plumbline import portable

    _plain(f"{target}: {portable.pack(target):,} files")


@carried.command()
def unpack(source: Annotated[Path, typer.Argument(metavar="FILE", help="What `pack` wrote.")]) -> None:
    """Verify such a file and make its registry this machine's, where there is none yet."""
    from plumbline import portable

    _plain(f"{portable.unpack(source):,} files; `plumbline fsck` looks deeper")


@carried.command()
def fetch() -> None:
    """Make the registry that the last workflow run kept in the GitHub release `registry` this machine's; needs `gh`.

    In a workflow: output `next`, the name under which this run has to pack its own.
    """
    from plumbline import portable

    if github.is_shared():
        return _plain("the registry is on a server that all runs share; there is nothing to fetch")
    found, files = released.newest(), 0
    if found:
        with tempfile.TemporaryDirectory(prefix="plumbline-") as folder:
            files = portable.unpack(released.download(found, Path(folder)))
    github.output(next=released.following(found))
    _plain(
        f"{found}: {files:,} files; `plumbline fsck` looks deeper" if found else "none was kept yet: this is the first"
    )


def _plain(text: str) -> None:
    out.print(text, markup=False)


def _decided(entry: "Entry") -> None:
    said = (
        f"{entry.model}: the champion is version {entry.version}, it was {entry.previous}; journal entry {entry.number}"
    )
    out.print(said)
    github.summary(f"**{entry.action}**: {said}")
    if pointer.belongs_here():
        out.print(f"{layout.CHAMPION} names it now: {COMPARES}")


def _show(findings: list["Finding"]) -> None:
    """Print what was found; exit 1 if something is wrong."""
    for finding in findings:
        mark = "[red]FAIL[/]" if not finding.ok else "[yellow]warn[/]" if finding.remedy else "[green]ok[/]  "
        out.print(f"{mark} {finding.what}: ", end="")
        out.print(finding.found, markup=False)
        if finding.remedy:
            out.print(f"       -> {finding.remedy}", markup=False)
    if not all(finding.ok for finding in findings):
        raise typer.Exit(1)


def _columns(task: "Task", rows: list[str]) -> dict[str, list[Any]]:
    """What was asked on the command line: values of the only column there has to be, or JSON objects of several."""
    needed = [field for field in task.signature.inputs if field.required]
    if len(needed) == 1 and needed[0].type == "string":
        return {needed[0].name: list(rows)}
    try:
        values = [json.loads(row) for row in rows]
    except ValueError as error:
        raise ParamsError(f"a value is no JSON ({error})") from None
    if len(needed) == 1:
        return {needed[0].name: values}
    names = list(values[0]) if values and isinstance(values[0], dict) else []
    if not names or not all(isinstance(value, dict) and list(value) == names for value in values):
        raise ParamsError(
            f"expected JSON objects with {', '.join(field.name for field in needed)}, all with the same keys"
        )
    return {name: [value[name] for value in values] for name in names}


def _recipes() -> list[Path]:
    return sorted(RECIPES.glob("*.yaml"))


def _recipe(name: str) -> Path:
    names = [path.stem for path in _recipes()]
    if name not in names:
        raise ParamsError(f"there is no recipe {name!r}{nearest(name, names) or '; there are: ' + ', '.join(names)}")
    return RECIPES / f"{name}.yaml"


def _uncommitted(path: Path) -> bool:
    """Whether git would lose something if `path` were replaced, and no recipe has it."""
    import subprocess

    changed = subprocess.run(["git", "status", "--porcelain", str(path)], capture_output=True, text=True, check=False)
    known = [recipe.read_bytes() for recipe in _recipes()]
    return bool(changed.stdout.strip()) and path.exists() and path.read_bytes() not in known


def _inference_params(given: list[str], known: dict[str, Any]) -> dict[str, Any]:
    """name=value pairs, each value read as the type of that parameter's default."""
    chosen: dict[str, Any] = {}
    for pair in given:
        name, _, value = pair.partition("=")
        if name not in known:
            raise ParamsError(f"--param {name}: unknown{nearest(name, list(known)) or '; known: ' + ', '.join(known)}")
        try:
            chosen[name] = type(known[name])(value)
        except ValueError:
            raise ParamsError(f"--param {name}: expected a {type(known[name]).__name__}, found {value!r}") from None
    return chosen


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4f}"
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return ", ".join(" ".join(_cell(part) for part in item.values()) for item in value)
    return str(value)
