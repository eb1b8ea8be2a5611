"""A user without an entry in the system's list has a name nevertheless."""

import getpass
import os
import pwd

import pytest

from plumbline.contract.user_name import ensure_user_name

VARIABLES = ("LOGNAME", "USER", "LNAME", "USERNAME")


def test_a_user_whom_the_system_does_not_know_gets_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LOGNAME", "")  # which is restored afterwards
    known = pwd.getpwuid
    monkeypatch.setattr(pwd, "getpwuid", {}.__getitem__)
    with pytest.raises((KeyError, OSError)):
        getpass.getuser()
    ensure_user_name()
    assert getpass.getuser() == f"uid{os.getuid()}"
    monkeypatch.setattr(pwd, "getpwuid", known)


def test_a_user_with_a_name_keeps_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGNAME", "ada")
    ensure_user_name()
    assert os.environ["LOGNAME"] == "ada"
