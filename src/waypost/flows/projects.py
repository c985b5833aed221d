"""Which project a session belongs to, and whether that project wants to be recorded."""

from __future__ import annotations

from waypost.errors import UsageError
from waypost.machine.files import read_text
from waypost.machine.repository import find_configuration, find_repository
from waypost.machine.store.words import ProjectFacts
from waypost.rules.configuration import Configuration, parse_configuration
from waypost.rules.projects import canonical_remote, project_name, without_worktree

CONFIGURATION_BYTES_MAX = 256 * 1024


class ProjectFinder:
    """Resolves folders to projects; one answer per folder for its life.

    The remote that the transcript states comes first, then the one of the checkout on this machine,
    then the main working tree's path, then the folder itself; of a worktree folder that is gone, the
    folder it hung below.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[str | None, str | None], ProjectFacts | None] = {}
        self.problems: list[str] = []

    def __call__(self, cwd: str | None, remote: str | None) -> ProjectFacts | None:
        """Return the project, or None when it opted out of capture."""
        place = (cwd, remote)
        if place not in self._known:
            self._known[place] = self._resolve(cwd, remote)
        return self._known[place]

    def _resolve(self, cwd: str | None, remote: str | None) -> ProjectFacts | None:
        if cwd and not self._capture(cwd):
            return None
        repository = find_repository(cwd) if cwd else None
        canonical = canonical_remote(remote) if remote else None
        if canonical is None and repository is not None and repository.remote_url is not None:
            canonical = canonical_remote(repository.remote_url)
        root = repository.root if repository is not None else without_worktree(cwd or "")
        if canonical is not None:
            roots = [root] if root else []
            return ProjectFacts(f"remote:{canonical}", project_name(canonical, root), canonical, roots)
        if not root:
            return ProjectFacts("path:", "unknown", None, [])
        return ProjectFacts(f"path:{root}", project_name(None, root), None, [root])

    def _capture(self, cwd: str) -> bool:
        path = find_configuration(cwd)
        if path is None:
            return True
        text = read_text(path, bytes_max=CONFIGURATION_BYTES_MAX)
        try:
            return parse_configuration(text or "", where=str(path)).capture
        except UsageError as error:
            # A file that cannot be read may have meant "no": the private answer is the safe one.
            self.problems.append(error.message)
            return Configuration(capture=False).capture
