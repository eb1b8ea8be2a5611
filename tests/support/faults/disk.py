"""A disk in memory for one checkout and its temporary files, which can really be full.

It needs a mount namespace of this process, with which it ends however that ends. Where the system
permits none, the disk is an ordinary folder that is never full.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

UNSHARE = ("unshare", "--mount", "--map-root-user")
INSIDE = "PLUMBLINE_TEST_MOUNTS"  # set where mounts are this process's own
PAGE = 4096  # bytes: what is counted and limited
AMPLE = "8g"  # bytes, of which only what is written is taken


def enter_own_mounts() -> None:
    """Start this program again where it may mount disks; return where that is not permitted."""
    if INSIDE not in os.environ and is_permitted():
        program = [*UNSHARE, sys.executable, *sys.orig_argv[1:]]
        os.execvpe(UNSHARE[0], program, os.environ | {INSIDE: "1"})  # noqa: S606


def is_permitted() -> bool:
    """Whether this user may mount a disk in a namespace of its own."""
    if shutil.which(UNSHARE[0]) is None:
        return False
    mount = ["mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    return subprocess.run([*UNSHARE, *mount], capture_output=True, check=False).returncode == 0


class Disk:
    """The file system below a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.can_be_full = INSIDE in os.environ
        folder.mkdir(parents=True, exist_ok=True)
        if self.can_be_full:
            self._mount("size=" + AMPLE)

    def fill(self, num_pages: int) -> None:
        """Leave so many pages for what is written from now on."""
        self._mount(f"remount,size={(self.count_pages() + num_pages) * PAGE}")

    def free(self) -> None:
        """Give it more space than anything here needs."""
        if self.can_be_full:
            self._mount("remount,size=" + AMPLE)

    def count_pages(self) -> int:
        """Count the pages in use."""
        status = os.statvfs(self.folder)
        return (status.f_blocks - status.f_bfree) * status.f_frsize // PAGE

    def close(self) -> None:
        """Remove it with all that is on it; the folder stays."""
        if self.can_be_full:
            subprocess.run(["umount", "--lazy", str(self.folder)], check=True)

    def _mount(self, options: str) -> None:
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(self.folder)]
        subprocess.run(command, check=True)
