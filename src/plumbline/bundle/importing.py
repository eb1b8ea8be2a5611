"""Import a predictor from the bytes that were verified, not from the files again."""

import importlib
import sys
from collections.abc import Mapping, Sequence
from importlib.abc import InspectLoader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from pathlib import Path, PurePath
from types import CodeType, ModuleType

from plumbline.bundle.seal_format import CODE, PACKAGE
from plumbline.contract.errors import BundleError


def import_code(name: str, code: Mapping[str, bytes], folder: Path) -> ModuleType:
    """Import a predictor's files, by their names in the bundle called `folder`, as module `name`.

    All modules of a package are imported now: after this, nothing more is read.
    """
    finder = _CodeFinder(name, code, folder)
    sys.meta_path.insert(0, finder)
    try:
        for module in sorted(finder.files):
            importlib.import_module(module)
    finally:
        sys.meta_path.remove(finder)
    return sys.modules[name]


class _CodeFinder(MetaPathFinder, InspectLoader):
    """Finds the modules of one predictor; no bytecode is read or written."""

    def __init__(self, root: str, code: Mapping[str, bytes], folder: Path) -> None:
        self.root = root
        self.code = code
        self.folder = folder
        self.files = {self._name_module(name): name for name in code}

    def _name_module(self, file: str) -> str:
        if file in (CODE, f"{PACKAGE}/__init__.py"):
            return self.root
        return f"{self.root}.{PurePath(file).stem}"

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return spec_from_loader(fullname, self) if fullname in self.files else None

    def is_package(self, fullname: str) -> bool:
        return fullname == self.root

    def get_source(self, fullname: str) -> str:
        return self.code[self.files[fullname]].decode("utf-8")

    def get_code(self, fullname: str) -> CodeType:
        path = self.folder / self.files[fullname]
        try:
            return self.source_to_code(self.code[self.files[fullname]], str(path))
        except (SyntaxError, ValueError) as error:
            raise BundleError(f"{path}: not valid Python source ({error})") from None
