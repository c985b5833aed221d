"""What a syntax tree can tell of the house: purity, sizes, docstrings, empty package files."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from source import PACKAGE, files, imported, module_name, tree

PURE = ("records", "rules", "plugins")
WORLD = frozenset(
    {
        "os",
        "io",
        "pathlib",
        "subprocess",
        "socket",
        "sqlite3",
        "apsw",
        "time",
        "random",
        "secrets",
        "shutil",
        "tempfile",
        "urllib",
        "http",
        "asyncio",
        "threading",
        "multiprocessing",
        "signal",
        "sys",
        "importlib",
        "ctypes",
        "fcntl",
        "mmap",
        "select",
        "glob",
        "logging",
    }
)
CALLS = frozenset({"open", "print", "input", "exec", "eval", "__import__", "breakpoint"})
LINES_MAX = 1000
LINES_AIM = 500


def pure_files() -> list[Path]:
    """Return the files of the floors that may not touch the world."""
    return [path for path in files() if path.relative_to(PACKAGE).parts[0] in PURE]


def test_there_are_pure_floors_to_look_at() -> None:
    assert {path.relative_to(PACKAGE).parts[0] for path in pure_files()} == set(PURE)


@pytest.mark.parametrize("path", pure_files(), ids=module_name)
def test_a_pure_module_reaches_for_nothing(path: Path) -> None:
    found = [f"line {line}: {name}" for name, line in imported(path) if name.split(".")[0] in WORLD]
    found += [
        f"line {node.lineno}: {node.func.id}()"
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CALLS
    ]
    found += [
        f"line {node.lineno}: {node.func.attr}()"
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("now", "utcnow", "today", "astimezone")
        and not node.args
        and not node.keywords
    ]
    assert not found, f"{module_name(path)} touches the world: {found}"


def test_package_files_are_empty() -> None:
    full = [
        str(path.relative_to(PACKAGE))
        for path in files()
        if path.name == "__init__.py" and path.stat().st_size
    ]
    assert not full, f"expected empty __init__.py files, found text in {full}"


def test_every_folder_with_modules_is_a_package() -> None:
    folders = {path.parent for path in files()}
    missing = sorted(str(one) for one in folders if not (one / "__init__.py").is_file())
    assert not missing


def test_no_module_is_a_book() -> None:
    lengths = {module_name(path): len(path.read_text("utf-8").splitlines()) for path in files()}
    long = {name: count for name, count in lengths.items() if count > LINES_AIM}
    if long:
        listed = ", ".join(f"{name} {count}" for name, count in sorted(long.items(), key=lambda one: -one[1]))
        warnings.warn(f"modules over {LINES_AIM} lines: {listed}", stacklevel=1)
    assert not {name: count for name, count in long.items() if count > LINES_MAX}


def test_no_module_is_a_hub() -> None:
    shelves = {"utils", "helpers", "common", "misc", "base", "manager", "util"}
    assert not [module_name(path) for path in files() if path.stem in shelves]


def undocumented(path: Path) -> Iterator[str]:
    """Give the public definitions of a file that have no docstring."""
    module = tree(path)
    if path.name != "__init__.py" and ast.get_docstring(module) is None:
        yield "the module"

    def look(body: list[ast.stmt], prefix: str) -> Iterator[str]:
        for node in body:
            if not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            if node.name.startswith("_"):
                continue
            if ast.get_docstring(node) is None:
                yield f"{prefix}{node.name} (line {node.lineno})"
            if isinstance(node, ast.ClassDef):
                yield from look(node.body, f"{prefix}{node.name}.")

    yield from look(module.body, "")


@pytest.mark.parametrize("path", files(), ids=module_name)
def test_everything_public_says_what_it_is(path: Path) -> None:
    missing = list(undocumented(path))
    assert not missing, f"{module_name(path)} has no docstring at: {missing}"


def test_imports_are_absolute() -> None:
    found = [
        f"{module_name(path)} line {node.lineno}"
        for path in files()
        for node in ast.walk(tree(path))
        if isinstance(node, ast.ImportFrom) and node.level
    ]
    assert not found


def test_only_the_surfaces_write_to_the_terminal() -> None:
    found = []
    for path in files():
        floor = path.relative_to(PACKAGE).parts[0]
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
                found.append(f"{module_name(path)} line {node.lineno}: print")
            if (
                floor != "surfaces"
                and isinstance(node, ast.Attribute)
                and node.attr in ("stdout", "stderr")
                and isinstance(node.value, ast.Name)
                and node.value.id == "sys"
            ):
                found.append(f"{module_name(path)} line {node.lineno}: sys.{node.attr}")
    assert not found
