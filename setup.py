"""Puts the files that `plumbline init` writes into the wheel; all else is in pyproject.toml."""

import shutil
import tomllib
from itertools import chain
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py


class BuildWithRepository(build_py):
    """Beside the package: the files that pyproject.toml lists, as plumbline/init/repository."""

    def run(self) -> None:
        """Build the package, then copy; an editable one reads the files where they are."""
        super().run()
        if self.editable_mode:
            return
        target = Path(self.build_lib) / "plumbline/init/repository"
        project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))
        table = project["tool"]["plumbline"]
        for pattern in chain(table["carried"], *table["parts"].values()):
            for path in Path().glob(pattern):
                if path.is_file() and path.suffix != ".pyc":
                    (target / path).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy2(path, target / path)


setup(cmdclass={"build_py": BuildWithRepository})
