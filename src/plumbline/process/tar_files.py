"""Files of a tar archive, written below one folder and nowhere else."""

import shutil
import tarfile
from pathlib import Path


def extract_file(archive: tarfile.TarFile, member: tarfile.TarInfo, folder: Path) -> None:
    """Write a regular file of an archive below `folder`, with the rights that new files have here.

    Raises ValueError for a name that leads out of the folder. The filters of tarfile do the same,
    but Python before 3.11.4, such as Debian 12's, has none.
    """
    target = folder / member.name
    if not target.resolve().is_relative_to(folder.resolve()):
        raise ValueError(f"{member.name!r} leads out of the folder")
    target.parent.mkdir(parents=True, exist_ok=True)
    content = archive.extractfile(member)
    if content is None:
        raise ValueError(f"{member.name!r} is not a file")
    with content, target.open("wb") as file:
        shutil.copyfileobj(content, file)
