"""Reads which repository a folder belongs to, without running anything.

Only plain files are read: ``.git`` (folder or file), ``commondir``, ``config``. Nothing in them is
obeyed: no include, no alias, no hook, no program. Links are followed here, since a person's own
checkout may lie behind one; sizes are bounded.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

from waypost.machine.files import read_text
from waypost.rules.projects import gitdir_from_dotgit, remote_from_git_config

LEVELS_MAX: Final = 64
CONFIG_BYTES_MAX: Final = 1024 * 1024
CONFIGURATION_NAME: Final = "waypost.toml"


class Repository(NamedTuple):
    """The main working tree of a repository and the URL of its remote, if it names one."""

    root: str
    remote_url: str | None


def find_repository(folder: str) -> Repository | None:
    """Return the repository that a folder lies in; worktrees lead to the main working tree."""
    path = Path(folder)
    if not path.is_absolute():
        return None
    for level, candidate in enumerate((path, *path.parents)):
        if level > LEVELS_MAX:
            return None
        try:
            found = _at(candidate)
        except OSError:
            continue
        if found is not None:
            return found
    return None


def _at(folder: Path) -> Repository | None:
    dotgit = folder / ".git"
    if dotgit.is_dir():
        if not (dotgit / "HEAD").exists():
            return None
        return Repository(str(folder), _remote(dotgit))
    if not dotgit.is_file():
        return None
    target = gitdir_from_dotgit(read_text(dotgit, bytes_max=4096) or "")
    if target is None:
        return None
    git = (folder / target).resolve()
    common_text = read_text(git / "commondir", bytes_max=4096)
    if common_text is None:
        return Repository(str(folder), _remote(git))  # a submodule or a separate git folder
    common = (git / common_text.strip()).resolve()
    root = common.parent if common.name == ".git" else common
    return Repository(str(root), _remote(common))


def _remote(git: Path) -> str | None:
    text = read_text(git / "config", bytes_max=CONFIG_BYTES_MAX)
    return remote_from_git_config(text) if text is not None else None


def find_configuration(folder: str) -> Path | None:
    """Return the nearest ``waypost.toml`` at or above a folder."""
    path = Path(folder)
    if not path.is_absolute():
        return None
    for level, candidate in enumerate((path, *path.parents)):
        if level > LEVELS_MAX:
            return None
        try:
            if (candidate / CONFIGURATION_NAME).is_file():
                return candidate / CONFIGURATION_NAME
        except OSError:
            continue
    return None
