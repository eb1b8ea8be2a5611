"""identify: what each remote source is today; ingest runs again when that changes."""

from plumbline.contract import layout
from plumbline.contract.errors import DataError
from plumbline.contract.params import Params
from plumbline.contract.task import Task
from plumbline.process.files import write_json
from plumbline.process.visible_text import show_line
from plumbline.sources.http_download import forget_download
from plumbline.sources.identities import look_up_identities, read_recorded


def identify(params: Params, task: Task[Params]) -> None:
    """Write data/identity.json, or leave the one that was there.

    Raises DataError where a source cannot be reached; its message says how to go on without it.
    """
    sources = params.list_sources()
    recorded = read_recorded()
    try:
        identities = look_up_identities(sources, params.identity.watermark)
    except DataError as error:
        raise DataError(
            f"{error}\n  whether its rows changed is not known; to go on with those of the last "
            "run, set identity.lookup: [] in params.yaml"
        ) from None
    for address, identity in identities.items():
        if identity not in recorded:
            message = f"identify: {identity['source']}: new, or changed since the last run"
            print(show_line(message))  # noqa: T201 (the stage's result)
            forget_download(sources[address])
    write_json(layout.IDENTITY, list(identities.values()))
