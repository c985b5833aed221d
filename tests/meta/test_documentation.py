"""The documentation matches the program: commands, fields, errors, limits, links, notices, lock file."""

from __future__ import annotations

import ast
import importlib.metadata
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from source import PACKAGE, ROOT, files, module_name, tree

from waypost import errors
from waypost.errors import CODES
from waypost.surfaces.cli.main import COMMANDS

DOCS = ROOT / "docs"
PAGES = (
    *(
        ROOT / name
        for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "tests/README.md")
    ),
    *sorted(DOCS.rglob("*.md")),
)
README_LINES_MAX = 150


def text_of(name: str) -> str:
    """Return a page below the repository."""
    return (ROOT / name).read_text("utf-8")


def lock() -> dict[str, dict[str, Any]]:
    """Return the packages of uv.lock by name."""
    return {one["name"]: one for one in tomllib.loads(text_of("uv.lock"))["package"]}


def project() -> dict[str, Any]:
    """Return pyproject.toml."""
    return tomllib.loads(text_of("pyproject.toml"))


# -- commands and fields ---------------------------------------------------------------------------


def test_generated_pages_are_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "make_docs.py"), "--check"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, f"run: python tools/make_docs.py\n{done.stdout}{done.stderr}"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_documented(name: str) -> None:
    assert f"\n## waypost {name}\n" in text_of("docs/commands.md")
    assert f"\n### {name}\n" in text_of("docs/output.md")
    assert f"`waypost {name}" in text_of("README.md")


def test_no_page_names_a_command_that_does_not_exist() -> None:
    known = {*COMMANDS, "COMMAND"}
    for page in PAGES:
        for name in re.findall(
            r"(?:^\$ |`)waypost ([A-Za-z]\S*?)(?=[\s`]|$)", page.read_text("utf-8"), re.MULTILINE
        ):
            assert name in known, f"{page.relative_to(ROOT)} names waypost {name}"


def test_examples_are_accepted_by_the_parsers() -> None:
    import shlex

    from waypost.surfaces.cli.running import parser_of

    found = 0
    for page in PAGES:
        for line in re.findall(r"^\$ waypost (.+)$", page.read_text("utf-8"), re.MULTILINE):
            words = [
                word for word in shlex.split(line.partition(" #")[0]) if word not in ("--json", "--text")
            ]
            parser_of(words[0]).parse_args(words[1:])
            found += 1
    assert found > 15


def names_in(value: object) -> Iterator[str]:
    """Give every member name of a record."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield name
            if name not in ("input", "unknown_record_types"):  # the transcript's own names
                yield from names_in(item)
    elif isinstance(value, list):
        for item in value:
            yield from names_in(item)


def test_every_field_of_every_command_is_documented(waypost: Any, transcripts: Any, hermetic: Path) -> None:
    sample = PACKAGE / "sample"
    roots = ("--claude", str(sample / "claude"), "--codex", str(sample / "codex"))
    seen: set[str] = set(names_in(waypost("quickstart", "--sample").data))
    watched = waypost("watch", "--once", "--json", *roots)
    for line in watched.out.splitlines():
        seen |= set(names_in(json.loads(line)["data"]))
    seen |= set(names_in(waypost("ingest", *roots).data))
    sessions = waypost("sessions").data
    seen |= set(names_in(sessions))
    for one in sessions["sessions"]:
        for option in ([], ["--events"], ["--executions"]):
            seen |= set(names_in(waypost("session", one["session"], *option).data))
    for words in (
        ("search", "idempotency"),
        ("costs", "--by", "project"),
        ("key",),
        ("key", "export"),
        ("doctor",),
        ("forget", "--older-than", "1d", "--dry-run"),
    ):
        seen |= set(names_in(waypost(*words).data))
    exported = waypost("export", sessions["sessions"][0]["session"])
    for line in exported.out.splitlines():
        seen |= set(names_in(json.loads(line)))
    page = text_of("docs/output.md")
    missing = sorted(name for name in seen if f"`{name}`" not in page)
    assert len(seen) > 100
    assert not missing, f"docs/output.md does not explain {missing}"


# -- errors ----------------------------------------------------------------------------------------


def raised() -> Iterator[tuple[str, str, str]]:
    """Give class, code and place of every error that the source makes with a literal code."""
    classes = {
        name for name in dir(errors) if name.endswith("Error") and isinstance(getattr(errors, name), type)
    }
    for path in files():
        for node in ast.walk(tree(path)):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id in classes
                and node.args
                and isinstance(node.args[0], ast.Constant)
                and isinstance(node.args[0].value, str)
            ):
                yield node.func.id, node.args[0].value, f"{module_name(path)} line {node.lineno}"


def test_every_code_in_the_source_is_in_the_closed_list_with_its_class() -> None:
    found = list(raised())
    assert len(found) > 40
    unknown = [f"{code} ({place})" for _, code, place in found if code not in CODES]
    assert not unknown
    wrong = [
        f"{place}: {kind} for {code}, listed as {CODES[code].__name__}"
        for kind, code, place in found
        if CODES[code].__name__ != kind
    ]
    assert not wrong, wrong


def test_every_code_is_documented_with_its_exit_status() -> None:
    rows = dict(re.findall(r"^\| `([a-z_]+)` \| (\d+) \|", text_of("docs/output.md"), re.MULTILINE))
    assert {name: int(exit_status) for name, exit_status in rows.items()} == {
        name: kind.exit_status for name, kind in CODES.items()
    }


def test_every_reason_for_a_lower_bound_is_documented() -> None:
    words = set()
    for path in files():
        text = path.read_text("utf-8")
        words |= set(re.findall(r"_add_reason\(\w+, \"([a-z_]+)\"", text))
        words |= set(re.findall(r"reasons(?:\.add\(|, )\"([a-z_]+)\"", text))
    rows = set(re.findall(r"^\| `([a-z_]+)` \|", text_of("docs/formats.md"), re.MULTILINE))
    assert words and words == rows


# -- pages -----------------------------------------------------------------------------------------


def test_the_readme_is_short_and_its_commands_exist() -> None:
    text = text_of("README.md")
    assert len(text.splitlines()) <= README_LINES_MAX
    targets = set(re.findall(r"^([a-z][a-z-]*):", text_of("Makefile"), re.MULTILINE))
    for page in PAGES:
        for target in re.findall(r"(?:^\$ |`)make ([a-z-]+)", page.read_text("utf-8"), re.MULTILINE):
            assert target in targets, f"{page.name} names make {target}"
    assert "$ make quickstart\n$ make test\n" in text


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        place, _, anchor = target.partition("#")
        linked = (page.parent / place).resolve() if place else page
        assert linked.exists(), f"{page.relative_to(ROOT)} links to {target}"
        assert not anchor or linked.suffix == ".md"
        inside = not page.is_relative_to(DOCS) or linked.is_relative_to(DOCS)
        assert inside, f"{page.relative_to(ROOT)} links out of docs/, which the built pages cannot: {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_paths_named_in_pages_exist(page: Path) -> None:
    """Files of the repository in back quotes are there, unless a row says that they are planned."""
    for line in page.read_text("utf-8").splitlines():
        if "*planned:*" in line:
            continue
        for name in re.findall(r"`((?:src|tests|tools|bench|docs)/[\w./-]+)`", line):
            if name.startswith(("bench/out", "tests/corpus/stores")) or "NAME" in name:
                continue  # made by a run; comes with the second schema; stands for a name
            assert (ROOT / name).exists(), f"{page.relative_to(ROOT)} names {name}"


def test_every_page_is_in_the_navigation() -> None:
    navigation = text_of("mkdocs.yml")
    for page in DOCS.rglob("*.md"):
        assert f" {page.relative_to(DOCS).as_posix()}\n" in navigation


def test_every_room_that_exists_is_on_the_map() -> None:
    page = text_of("ARCHITECTURE.md")
    for path in files():
        if path.name != "__init__.py" and path.parent.name in (
            "records",
            "rules",
            "flows",
            "machine",
            "plugins",
        ):
            assert path.name in page or f"`{path.stem}`" in page, f"ARCHITECTURE.md does not show {path.name}"
        if path.parent.name == "store" and path.name != "__init__.py":
            assert f"`{path.stem}`" in page


def test_planned_rooms_are_not_built_yet() -> None:
    for line in text_of("ARCHITECTURE.md").splitlines():
        if "*planned:*" not in line:
            continue
        cell = line.partition("*planned:*")[2].split("|")[0]
        folder = ""
        for name in re.findall(r"`([^`]+)`", cell):
            folder = name.rpartition("/")[0] if "/" in name.rstrip("/") and name.endswith(".py") else folder
            place = name if "/" in name.rstrip("/") or not folder else f"{folder}/{name}"
            assert not (PACKAGE / place).exists(), f"ARCHITECTURE.md calls {place} planned"


def test_no_page_is_unfinished() -> None:
    for page in PAGES:
        text = page.read_text("utf-8")
        assert not re.search(r"\b(TODO|TBD|FIXME|XXX|lorem ipsum|coming soon)\b", text, re.IGNORECASE), page
        assert len(text) > 200


def test_the_picture_names_no_outside_address() -> None:
    svg = (DOCS / "images" / "quickstart.svg").read_text("utf-8")
    outside = set(re.findall(r"https?://[^\"'<> )]+", svg)) - {"http://www.w3.org/2000/svg"}
    assert not outside
    assert "waypost quickstart --sample" in svg.replace("&#160;", " ")


def test_the_documentation_builds_without_warnings(tmp_path: Path) -> None:
    import shutil

    program = Path(sys.executable).parent / "zensical"
    if not program.exists():
        pytest.skip("zensical is not installed")
    shutil.copytree(DOCS, tmp_path / "docs")
    shutil.copy(ROOT / "mkdocs.yml", tmp_path / "mkdocs.yml")
    done = subprocess.run(
        [str(program), "build", "--clean", "--strict"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "No issues found" in done.stdout + done.stderr
    for page in (tmp_path / "site").rglob("*.html"):
        loaded = re.findall(
            r"<(?:script|link|img|iframe)[^>]+(?:src|href)=\"((?:https?:)?//[^\"]+)", page.read_text()
        )
        assert not loaded, f"{page.name} loads {loaded}"


# -- packaging -------------------------------------------------------------------------------------


def runtime(start: list[str]) -> set[str]:
    """Return packages and what they need, from the lock file."""
    packages = lock()
    found: set[str] = set()
    waiting = list(start)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += [one["name"] for one in packages[name].get("dependencies", [])]
    return found


def notices(heading: str) -> dict[str, tuple[str, str]]:
    """Return the rows below a heading of the notices: name → licence, homepage."""
    part = text_of("THIRD_PARTY_NOTICES.md").partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| ([\w.-]+) \| ([^|]+) \| <(https://[^>]+)> \|$", part, re.MULTILINE)
    return {name: (licence.strip(), homepage) for name, licence, homepage in rows}


def stated(name: str) -> str:
    """Return the licence that an installed package states."""
    metadata = importlib.metadata.metadata(name)
    if metadata["License-Expression"]:
        return str(metadata["License-Expression"])
    if metadata["License"] and len(metadata["License"]) < 60:
        return str(metadata["License"])
    for line in metadata.get_all("Classifier") or []:
        if line.startswith("License ::"):
            return line.rpartition(":: ")[2].removesuffix(" License")
    return ""


def test_the_notices_list_what_is_installed_with_the_program() -> None:
    names = [one["name"] for one in lock()["waypost"]["dependencies"]]
    assert set(notices("Installed with waypost")) == runtime(names)


def test_the_notices_list_what_the_keyring_extra_adds() -> None:
    names = [one["name"] for one in lock()["waypost"]["optional-dependencies"]["keyring"]]
    core = runtime([one["name"] for one in lock()["waypost"]["dependencies"]])
    assert set(notices("Added by waypost[keyring]")) == runtime(names) - core


@pytest.mark.parametrize("name", sorted(notices("Installed with waypost")))
def test_a_notice_states_the_licence_that_the_package_states(name: str) -> None:
    licence, homepage = notices("Installed with waypost")[name]
    said = stated(name)
    assert said and licence.startswith(said), f"{name} says {said!r}, the notices say {licence!r}"
    metadata = importlib.metadata.metadata(name)
    places = " ".join([metadata["Home-page"] or "", *(metadata.get_all("Project-URL") or [])])
    assert homepage.rstrip("/") in places


def test_direct_dependencies_are_the_decided_ones() -> None:
    names = {re.split(r"[<>=!~\[ ;]", one)[0] for one in project()["project"]["dependencies"]}
    assert names == {"msgspec", "apsw-sqlite3mc", "zstandard", "rich", "watchfiles"}


def test_the_lock_file_names_public_hosts_only() -> None:
    hosts = set(re.findall(r"https?://([^/\"]+)", text_of("uv.lock")))
    assert hosts and hosts <= {"pypi.org", "files.pythonhosted.org"}
    assert "file://" not in text_of("uv.lock")


def test_the_dev_extra_equals_the_dev_group() -> None:
    found = project()
    extras, groups = found["project"]["optional-dependencies"], found["dependency-groups"]
    assert extras["dev"] == groups["dev"]
    assert extras["docs"] == groups["docs"]


def test_the_licence_is_the_whole_apache_licence() -> None:
    text = text_of("LICENSE")
    assert "Apache License\n" in text and "END OF TERMS AND CONDITIONS" in text and len(text) > 11_000
    assert project()["project"]["license"] == "Apache-2.0"


def test_the_version_is_said_once() -> None:
    from waypost.surfaces.cli.main import __version__

    version = project()["project"]["version"]
    assert __version__ == version == lock()["waypost"]["version"]
    assert f"## [{version}]" in text_of("CHANGELOG.md")


def test_price_rows_say_where_they_come_from() -> None:
    rows = json.loads((PACKAGE / "rules" / "prices.json").read_text("utf-8"))["models"]
    assert rows and all(row["source"] for row in rows)
