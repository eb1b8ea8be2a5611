"""Tasks of a repository's src/tasks, which Python would keep from one test to the next."""

import sys

import pytest


def forget_own_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the package `tasks` be found in the current folder, as in a process of its own."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setitem(sys.modules, "tasks", None)  # undone, it forgets what the test imports too
    for name in [name for name in sys.modules if name.partition(".")[0] == "tasks"]:
        monkeypatch.delitem(sys.modules, name)
