"""How many uses of test splits a checkout's journal has."""

import sqlite3
from contextlib import closing
from pathlib import Path

TABLES = "SELECT count(*) FROM sqlite_master WHERE name = 'plumbline_looks'"


def count_looks(root: Path) -> int:
    """The number of looks in the local journal below `root`; 0 where no journal has any."""
    path = root / "mlruns/journal.db"
    if not path.exists():
        return 0
    with closing(sqlite3.connect(path)) as database:
        if database.execute(TABLES).fetchone() == (0,):
            return 0
        return int(database.execute("SELECT count(*) FROM plumbline_looks").fetchone()[0])
