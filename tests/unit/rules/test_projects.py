"""Tests of project identity: every spelling of one remote, hostile addresses, and git's own files."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from waypost.rules.projects import (
    canonical_remote,
    gitdir_from_dotgit,
    project_name,
    remote_from_git_config,
    without_worktree,
)

any_text = st.text(st.characters(codec=None, categories=None))


@pytest.mark.parametrize(
    "url",
    [
        "git@h:acme/demo.git",
        "ssh://git@h:22/acme/demo.git",
        "https://user:tok@h/acme/demo",
        "git://h/acme/demo/",
        "h:acme/demo",
        "https://h:443/acme/demo.git/",
        "http://h:80//acme//demo",
        "git+ssh://git@H/acme/demo.git",
        "SSH://git@h/acme/demo",
        "git@h:/acme/demo",
        "https://user:p@ss@h/acme/demo",
        "https://h/acme/demo?x=1#y",
        "https://h/%61cme/d%65mo",
        "https://h./acme/./demo",
    ],
)
def test_every_spelling_of_one_remote_is_the_same_project(url: str) -> None:
    assert canonical_remote(url) == "h/acme/demo"


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("ssh://git@h:2222/acme/demo", "h:2222/acme/demo"),
        ("https://h:8443/Acme/Demo", "h:8443/Acme/Demo"),
        ("git@Example.COM:Acme/Demo.git", "example.com/Acme/Demo"),
        ("git@GitHub.com:Acme/Demo.git", "github.com/acme/demo"),
        ("https://www.github.com/Acme/Demo", "github.com/acme/demo"),
        ("ssh://git@ssh.github.com:443/Acme/Demo.git", "github.com/acme/demo"),
        ("git@ssh.github.com:Acme/Demo.git", "github.com/acme/demo"),
        ("ssh://git@altssh.bitbucket.org:443/Acme/Demo.git", "bitbucket.org/acme/demo"),
        ("ssh://git@altssh.gitlab.com:443/Group/Sub/Demo.git", "gitlab.com/group/sub/demo"),
        ("https://codeberg.org/Acme/Demo", "codeberg.org/acme/demo"),
        ("git@ssh.dev.azure.com:v3/Org/My%20Project/Repo", "dev.azure.com/org/my%20project/repo"),
        ("https://org@dev.azure.com/Org/My%20Project/_git/Repo", "dev.azure.com/org/my%20project/repo"),
        ("https://org.visualstudio.com/DefaultCollection/Proj/_git/Repo", "dev.azure.com/org/proj/repo"),
        ("https://org.visualstudio.com/_git/Repo", "dev.azure.com/org/repo/repo"),
        ("https://dev.azure.com/org/_git/repo", "dev.azure.com/org/repo/repo"),
        ("org@vs-ssh.visualstudio.com:v3/org/proj/repo", "dev.azure.com/org/proj/repo"),
        ("ssh://git@[2001:DB8::1]:2222/acme/demo", "[2001:db8::1]:2222/acme/demo"),
        ("git@[::1]:acme/demo", "[::1]/acme/demo"),
        ("https://h/acme/d%c3%a9mo", "h/acme/d%C3%A9mo"),
        ("https://h/acme/démo", "h/acme/d%C3%A9mo"),
        ("https://h/acme/de%2fmo", "h/acme/de%2Fmo"),
        ("git@hh:~me/demo.git", "hh/~me/demo"),
        ("git@hh:demo.git.git", "hh/demo.git"),
        ("git@hh:what?#.git", "hh/what%3F%23"),
    ],
)
def test_host_port_case_and_escapes_are_settled(url: str, expected: str) -> None:
    assert canonical_remote(url) == expected


@pytest.mark.parametrize(
    "url",
    [
        "",
        "/srv/git/demo.git",
        "./demo",
        "../demo",
        "acme/demo",
        "demo",
        "~/demo",
        "file:///srv/demo.git",
        "file:/srv/demo.git",
        "https:/h/demo",
        "C:/work/demo",
        "C:\\work\\demo",
        "\\\\server\\share\\demo",
        "/srv/a:b",
        "./a:b",
        "git@h:../demo",
        "https://h/acme/../demo",
        "https://h/acme/%2e%2E/demo",
        "https://h/acme/demo%0a",
        "https://h/acme demo",
        "https://h/acme\tdemo",
        "git@h:acme/demo\n",
        "git@h:acme/\x1b[31mdemo",
        "git@h:acme/de\u2028mo",
        "git@h:acme/\ud800",
        "https://h",
        "https://h/",
        "https:///acme/demo",
        "https://h:port/acme/demo",
        "https://h:99999/acme/demo",
        "git@h:",
        "git@h:.git",
        "ext::sh -c x",
        "ext::x",
        "codecommit::us-east-1://demo",
        "user:token@h:acme/demo",
        "ftp://h/acme/demo",
        "https://-bad/acme/demo",
        "git@h:" + "a" * 5000,
    ],
)
def test_what_names_no_shared_repository_gives_none(url: str) -> None:
    assert canonical_remote(url) is None


@given(any_text)
@example("https://\u2100/x")
@settings(max_examples=500, deadline=None)
def test_any_address_gives_none_or_a_clean_identity(url: str) -> None:
    check_identity(url)


@given(
    st.sampled_from(["https://u:secretword@", "git@", "ssh://secretword@"]),
    any_text,
    st.sampled_from(["/", ":"]),
    any_text,
)
@settings(max_examples=500, deadline=None)
def test_credentials_never_reach_the_identity(prefix: str, host: str, mark: str, path: str) -> None:
    check_identity(prefix + host + mark + path)
    assert "secretword" not in (canonical_remote(prefix + host + mark + path) or "")


def check_identity(url: str) -> None:
    identity = canonical_remote(url)
    if identity is not None:
        assert identity.partition("/")[0] and identity.partition("/")[2]
        assert not any(part in ("", ".", "..") for part in identity.split("/"))
        assert not any(character.isspace() for character in identity)
        assert canonical_remote("https://" + identity) in (identity, None)


def test_a_project_is_called_by_its_path_or_its_directory() -> None:
    assert project_name("github.com/acme/demo", "/r/other") == "acme/demo"
    assert project_name("gitlab.com/group/sub/demo", "/r") == "group/sub/demo"
    assert project_name(None, "/r/repo/") == "repo"
    assert project_name(None, "C:\\work\\repo") == "repo"
    assert project_name(None, "/") == "/"
    assert project_name(None, "") == "/"


CONFIGS = [
    '[remote "origin"]\n\turl = git@h:acme/demo.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n',
    '[core]\n\tbare = false\n[remote "upstream"]\n\turl = u\n[remote "origin"]\n\turl = o\n',
    '[REMOTE "origin"]\n  URL=x\n',
    '[remote "Origin"]\n\turl = upper\n[remote "origin"]\n\turl = lower\n',
    "[remote.origin]\n\turl = old-style\n",
    "[remote.ORIGIN]\n\turl = old-style\n",
    '[remote "origin"] url = same-line ; comment\n',
    '[remote "origin"]\n\turl = "quoted ; not comment" # comment\n',
    '[remote "origin"]\n\turl = a"b c"d\n',
    '[remote "origin"]\n\turl = a\\\\b\\"c\\tq\n',
    '[remote "origin"]\n\turl = one\\\ntwo\\\n  three\n',
    '[remote "origin"]\n\turl = "a\\\nb"\n',
    '[remote "origin"]\n\turl = trailing   \n',
    '[remote "origin"]\n\turl = "trailing  "  \n',
    '[remote "origin"]\n\turl = inner   blanks   kept\n',
    '[remote "origin"]\n\turl = # only a comment\n\turl = second\n',
    '[remote "origin"]\n\turl = first\n\turl = second\n',
    '[remote "origin"]\n\turl = first\n[remote "other"]\n\turl = x\n[remote "origin"]\n\turl = second\n',
    '[remote "origin"]\r\n\turl = windows\r\n',
    '[remote "origin"]\n\turl = no newline at the end',
    '[remote "origin"]\n\turl = ends in a backslash\\',
    '[remote "origin"]\n\turl = bad\\escape\n',
    '[remote "origin"]\n\turl = "unclosed\n',
    '[remote "origin"\n\turl = x\n',
    '[remote "origin" ]\n\turl = x\n',
    "[remote origin]\n\turl = x\n",
    '[remote "ori\ngin"]\n\turl = x\n',
    '[remote   "origin"]\n\turl = x\n',
    '[remote\t"origin"]url=x',
    '[remote "or\\igin"]\n\turl = escaped\n',
    '[remote "a.b"]\n\turl = dotted\n',
    '[remote.A "b"]\n\turl = mixed\n',
    '[remote "or]igin"]\n\turl = bracket\n[remote "z"]\n\turl = z\n',
    '[remote "quo\\"te"]\n\turl = quote\n',
    '[remote ""]\n\turl = empty name\n',
    '[remote "zeta"]\n\turl = z\n[remote "alpha"]\n\turl = a\n',
    '# [remote "origin"]\n; url = x\n[remote "real"]\n\turl = r\n',
    '[include]\n\tpath = /etc/passwd\n[remote "origin"]\n\turl = x\n',
    '[remote "origin"]\n\tpushurl = p\n\turl-x = y\n\turl = x\n',
    '[remote "origin"]\n\t1url = x\n',
    '[remote "origin"]\n\turl_x = x\n',
    '[remote "origin"]\n\turl : x\n',
    "[]\n",
    "[remote]\n\turl = sectionless\n",
    '[branch "origin"]\n\turl = not a remote\n',
    '\ufeff[remote "origin"]\n\turl = bom\n',
    '[remote "origin"]\n\turl = \u4e2d\u6587\n',
    "",
    "\n\n",
    "garbage",
    "\x01",
]


def git_urls(path: Path) -> dict[str, list[str]]:
    """What git itself reads: remote name to its URLs, in order."""
    argv = ["git", "config", "-f", str(path), "-z", "--get-regexp", r"^remote\..*\.url$"]
    done = subprocess.run(argv, capture_output=True, timeout=60, check=False)
    urls: dict[str, list[str]] = {}
    if done.returncode in (0, 1):
        for entry in done.stdout.decode("utf-8").split("\0"):
            key, separator, value = entry.partition("\n")
            if separator:
                urls.setdefault(key.removeprefix("remote.").removesuffix(".url"), []).append(value)
    return urls


@pytest.mark.parametrize("text", CONFIGS)
def test_a_config_file_is_read_as_git_reads_it(text: str, tmp_path: Path) -> None:
    check_against_git(text, tmp_path / "config")


@given(
    st.lists(
        st.sampled_from(
            [
                "[",
                "]",
                '"',
                "\\",
                "\n",
                "\r\n",
                " ",
                "=",
                "#",
                ";",
                "remote",
                "origin",
                "url",
                "x",
                ".",
                "-",
                '[remote "origin"]',
                "\n\turl = ",
            ]
        ),
        max_size=14,
    ).map("".join)
)
@settings(max_examples=150, deadline=None)
def test_any_mixture_of_git_syntax_is_read_as_git_reads_it(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    check_against_git(text, tmp_path_factory.mktemp("git") / "config")


def check_against_git(text: str, path: Path) -> None:
    path.write_bytes(text.encode("utf-8"))
    urls = {name: values for name, values in git_urls(path).items() if any(values)}
    expected = None
    if urls:
        values = urls["origin"] if "origin" in urls else urls[min(urls)]
        expected = next(value for value in values if value)
    assert remote_from_git_config(text) == expected


@given(any_text)
@settings(max_examples=300, deadline=None)
def test_any_config_text_gives_a_string_or_none(text: str) -> None:
    found = remote_from_git_config(text)
    assert found is None or found


def test_a_config_file_beyond_the_limit_is_not_read() -> None:
    assert remote_from_git_config('[remote "origin"]\nurl = x\n' + "#" * (1 << 20)) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("gitdir: /r/.git/worktrees/3\n", "/r/.git/worktrees/3"),
        ("gitdir: ../.git/modules/sub\r\n", "../.git/modules/sub"),
        ("gitdir: with space \n", "with space "),
        ("gitdir: ", None),
        ("gitdir: \n", None),
        ("gitdir:/r/.git", None),
        ("Gitdir: /r/.git", None),
        ("gitdir: /r\n/second", None),
        ("gitdir: /r\0", None),
        ("", None),
        ("gitdir: " + "a" * 5000, None),
    ],
)
def test_a_dotgit_file_names_its_directory(text: str, expected: str | None) -> None:
    assert gitdir_from_dotgit(text) == expected


@pytest.mark.parametrize(
    ("path", "root"),
    [
        ("/r/repo/.worktrees/3", "/r/repo"),
        ("/r/repo/.worktrees/soph/fix/src", "/r/repo"),
        ("/r/repo/.claude/worktrees/x", "/r/repo"),
        ("/r/repo", "/r/repo"),
        ("/r/repo/.worktrees", "/r/repo/.worktrees"),
        ("/.worktrees/3", "/.worktrees/3"),
        ("", ""),
    ],
)
def test_a_worktree_folder_that_is_gone_leads_to_the_folder_it_hung_below(path: str, root: str) -> None:
    assert without_worktree(path) == root
