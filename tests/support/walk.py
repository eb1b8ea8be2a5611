"""Follow a function through the package as a reader does: call by call, in the order of the source.

Names are looked up in imports and definitions. What a variable holds (an object's methods, a table
of functions, a part of a task) is not followed, and neither is the making of an object. Each
function is followed once: a later call of it costs a reader nothing.
"""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

Function = ast.FunctionDef | ast.AsyncFunctionDef
Place = tuple[str, str]  # a module, and the name of a function or of Class.method in it


class Walk:
    """The modules that are entered on the way, one for each call that leads into another module."""

    def __init__(self, source: Path) -> None:
        self.source = source
        self.entered: list[str] = []
        self.followed: set[Place] = set()
        self.read_module = cache(self._read_module)
        self.read_imports = cache(self._read_imports)

    def follow(self, module: str, name: str) -> None:
        """Follow the calls of one function, each into its own calls, before the next."""
        self.followed.add((module, name))
        owner = name.rpartition(".")[0]
        for words in _list_calls(self._list_definitions(module)[name]):
            if words[0] in ("self", "cls"):
                words[0] = owner
            place = self._find(module, ".".join(words))
            if place is None or place in self.followed:
                continue
            if place[0] != module:
                self.entered.append(place[0])
            self.follow(*place)

    def _find(self, module: str, name: str) -> Place | None:
        """Find the function that `name` means in `module`, wherever it was imported from."""
        if name in self._list_definitions(module):
            return module, name
        first, _, rest = name.partition(".")
        imported = self.read_imports(module).get(first)
        if imported is None:
            return None
        is_module = self.read_module(imported) is not None
        if is_module:
            return self._find(imported, rest)
        package, _, first = imported.rpartition(".")
        if self.read_module(package) is None:
            return None
        return self._find(package, f"{first}.{rest}" if rest else first)

    def _list_definitions(self, module: str) -> dict[str, Function]:
        tree = self.read_module(module)
        definitions = {}
        for node in tree.body if tree else []:
            if isinstance(node, Function):
                definitions[node.name] = node
            if isinstance(node, ast.ClassDef):
                methods = [method for method in node.body if isinstance(method, Function)]
                definitions |= {f"{node.name}.{method.name}": method for method in methods}
        return definitions

    def _read_module(self, module: str) -> ast.Module | None:
        path = self.source.joinpath(*module.split("."))
        for file in (path.with_suffix(".py"), path / "__init__.py"):
            if file.is_file():
                return ast.parse(file.read_text(encoding="utf-8"))
        return None

    def _read_imports(self, module: str) -> dict[str, str]:
        """Map each name that is imported anywhere in a module to the dotted name behind it."""
        tree = self.read_module(module)
        imports = {}
        for node in ast.walk(tree) if tree else []:
            if isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:
                    imports[alias.asname or alias.name] = f"{node.module}.{alias.name}"
        return imports


def _list_calls(function: Function) -> Iterator[list[str]]:
    """Yield the words of each name that is called: find, then layout, write_json."""
    for statement in function.body:
        for node in _list_last_first(statement):
            if isinstance(node, ast.Call):
                words = ast.unparse(node.func).split(".")
                if all(word.isidentifier() for word in words):
                    yield words


def _list_last_first(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node after all that it is made of, as Python computes it."""
    for child in ast.iter_child_nodes(node):
        yield from _list_last_first(child)
    yield node
