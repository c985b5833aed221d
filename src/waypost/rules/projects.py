"""A project's identity is its remote repository, written one way however it was reached.

`canonical_remote` turns ssh, https, git and scp-like addresses of one repository into `host[:port]/path`,
without credentials; addresses that name no shared repository (local paths, `file://`, helpers, anything
with `..`, whitespace or control characters) give None. `remote_from_git_config` finds the address in the text
of a git config file, and `gitdir_from_dotgit` the directory a worktree's `.git` file points to. All of it is
pure, never raises, and reads at most `url_chars_max` and `config_chars_max`. `url.<base>.insteadOf` is not
applied and includes are not followed: both need the machine.

Sources: git-config(1) and git's `config.c` (2.39); gitrepository-layout(5) for `.git` files; git-clone(1)
"GIT URLS". Hosts that ignore the case of paths: GitHub, GitLab, Bitbucket Cloud and Azure DevOps treat
names that differ only in case as one; Codeberg runs Forgejo, which looks names up in lower case. SSH over
the HTTPS port: GitHub `ssh.github.com:443`, GitLab `altssh.gitlab.com:443`, Bitbucket
`altssh.bitbucket.org:443`. Azure DevOps: `ssh.dev.azure.com:v3/org/project/repo`,
`dev.azure.com/org/project/_git/repo`, and the older `org.visualstudio.com`.
"""

import re
from collections.abc import Iterator

url_chars_max = 4096
config_chars_max = 1 << 20

_DEFAULT_PORTS = {
    "ssh": "22",
    "git+ssh": "22",
    "ssh+git": "22",
    "git": "9418",
    "http": "80",
    "git+http": "80",
    "https": "443",
    "git+https": "443",
}
_ALIASES = {
    "ssh.github.com": "github.com",
    "www.github.com": "github.com",
    "altssh.gitlab.com": "gitlab.com",
    "www.gitlab.com": "gitlab.com",
    "altssh.bitbucket.org": "bitbucket.org",
    "www.bitbucket.org": "bitbucket.org",
    "ssh.dev.azure.com": "dev.azure.com",
    "vs-ssh.visualstudio.com": "dev.azure.com",
}
# `https:/h/x` is a mistyped URL, not a path on a machine called https.
_NEVER_HOSTS = frozenset({*_DEFAULT_PORTS, "file", "ftp", "ftps", "ext", "rsync"})
_CASELESS_HOSTS = frozenset({"github.com", "gitlab.com", "bitbucket.org", "codeberg.org", "dev.azure.com"})

_URL = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<authority>[^/?#]*)(?P<path>[^?#]*)")
_SCP = re.compile(r"(?:(?P<user>[^/:@]+)@)?(?P<host>\[[^\]/]+\]|[^/:@\[\]]+):(?P<path>.+)")
_HOST = re.compile(r"[^\W_](?:[\w.-]*\w)?|\[[0-9a-f:.]+\]")
_PORT = re.compile(r"[0-9]{1,5}")
_REFUSED = re.compile(r"[\x00-\x20\x7f-\xa0\\\ud800-\udfff]")
_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})")
_PATH_SAFE = frozenset(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~!$&'()*+,;=:@/%".encode("ascii")
)
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~!$&'()*+,;=:@")


def canonical_remote(url: str) -> str | None:
    """`host[:port]/path` of the repository behind an address, or None if it names none that is shared."""
    if not url or len(url) > url_chars_max or _REFUSED.search(url) or any(map(str.isspace, url)):
        return None
    found = _URL.match(url)
    if found:
        scheme = found["scheme"].lower()
        if scheme not in _DEFAULT_PORTS:
            return None
        address = found["authority"].rpartition("@")[2]
        host, port = _host_and_port(address)
        if port == _DEFAULT_PORTS[scheme]:
            port = ""
        path = found["path"]
    else:
        scp = _SCP.fullmatch(url)
        # `c:/x` is a drive; `helper::address` and `user:password@host:path` are not ours to read.
        if scp is None or scp["host"].lower() in _NEVER_HOSTS or scp["path"].startswith(":"):
            return None
        is_drive = len(scp["host"]) == 1 and scp["path"].startswith("/")
        if scp["user"] is None and (is_drive or "@" in scp["path"].split("/")[0]):
            return None
        host, port, path = scp["host"].lower(), "", scp["path"]
    if _HOST.fullmatch(host) is None:
        return None
    return _assembled(host, port, path)


def _host_and_port(address: str) -> tuple[str, str]:
    """Splits `host:port`; an unusable port makes the host unusable as well."""
    address = address.lower()
    bracket = address.rfind("]")
    host, colon, port = address[bracket + 1 :].partition(":")
    host = address[: bracket + 1] + host
    if port and (not _PORT.fullmatch(port) or int(port) > 65_535):
        return "", ""
    return host.rstrip("."), port.lstrip("0") if colon else ""


def _assembled(host: str, port: str, path: str) -> str | None:
    segments = _segments(path)
    if not segments:
        return None
    if host in _ALIASES:
        host = _ALIASES[host]
        port = "" if port in ("22", "443") else port
    host, segments = _azure(host, segments)
    if not segments:
        return None
    name = "/".join(segments)
    if host in _CASELESS_HOSTS:
        name = _lowered(name)
    return f"{host}:{port}/{name}" if port else f"{host}/{name}"


def _segments(path: str) -> list[str]:
    """The parts of a path, escapes normalised, without `.git`; empty if it climbs or is malformed."""
    plain = _ESCAPE.sub(_normalised_escape, path)
    encoded = "".join(chr(byte) if byte in _PATH_SAFE else f"%{byte:02X}" for byte in plain.encode("utf-8"))
    segments = [segment for segment in encoded.split("/") if segment not in ("", ".")]
    if any(segment == ".." or re.search("%[01][0-9A-F]|%7F", segment) for segment in segments):
        return []
    if segments and segments[-1].endswith(".git"):
        segments[-1] = segments[-1].removesuffix(".git")
        if not segments[-1]:
            segments.pop()
    return segments


def _normalised_escape(match: re.Match[str]) -> str:
    character = chr(int(match[1], 16))
    return character if character in _UNRESERVED else match[0].upper()


def _lowered(name: str) -> str:
    """Lower case, with percent escapes kept in upper case."""
    return _ESCAPE.sub(lambda match: match[0].upper(), name.lower())


def _azure(host: str, segments: list[str]) -> tuple[str, list[str]]:
    """Azure DevOps in all its spellings as `dev.azure.com/org/project/repo`."""
    if host.endswith(".visualstudio.com"):
        organisation = host.removesuffix(".visualstudio.com")
        rest = segments[1:] if segments[0].lower() == "defaultcollection" else segments
        host, segments = "dev.azure.com", [organisation, *rest]
    elif host != "dev.azure.com":
        return host, segments
    if segments[0] == "v3":
        segments = segments[1:]
    if "_git" in segments:
        at = segments.index("_git")
        project = segments[1:at] or segments[at + 1 : at + 2]
        segments = [*segments[:1], *project, *segments[at + 1 :]]
    return host, segments


def without_worktree(path: str) -> str:
    """Return the folder that a worktree folder hangs below, by the names that tools give such folders.

    ``/r/repo/.worktrees/3`` and ``/r/repo/.claude/worktrees/x/src`` give ``/r/repo``; any other path is
    returned as it is. For folders that are gone, where no ``.git`` can be asked any more.
    """
    for marker in ("/.worktrees/", "/.claude/worktrees/"):
        place = path.find(marker)
        if place > 0:
            return path[:place]
    return path


def project_name(remote: str | None, root: str) -> str:
    """What a person calls the project: `acme/demo` of a canonical remote, else the last part of the root."""
    if remote:
        path = remote.partition("/")[2]
        return path or remote
    parts = [part for part in re.split(r"[/\\]", root) if part]
    return parts[-1] if parts else root or "/"


# --- Reading git's files ---------------------------------------------------------------------

_KEY_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-")
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_BLANKS = frozenset(" \t\r\n")
_VALUE_ESCAPES = {"n": "\n", "t": "\t", "b": "\b", "\\": "\\", '"': '"'}


class _MalformedError(Exception):
    """The text is no git config file; git itself would refuse all of it."""


class _Reader:
    """Hands out characters as git does: the end of the text reads as a newline."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    @property
    def is_done(self) -> bool:
        """True once a character beyond the last was asked for."""
        return self._at > len(self._text)

    def next(self) -> str:
        """The next character."""
        self._at += 1
        return self._text[self._at - 1] if self._at <= len(self._text) else "\n"


def remote_from_git_config(text: str) -> str | None:
    """The first URL of remote `origin` in a git config file, else of the first remote by name, else None.

    Of several URLs git fetches from the first. A file git would refuse as a whole gives None.
    """
    if len(text) > config_chars_max or "\0" in text:
        return None
    urls: dict[str, str] = {}
    try:
        for section, subsection, key, value in _entries(text):
            if section == "remote" and subsection is not None and key == "url" and value:
                urls.setdefault(subsection, value)
    except _MalformedError:
        return None
    return urls.get("origin") or (urls[min(urls)] if urls else None)


def _entries(text: str) -> Iterator[tuple[str, str | None, str, str | None]]:
    """Each variable as section, subsection, key and value, in the order of git's own parser."""
    reader = _Reader(text.removeprefix("\ufeff").replace("\r\n", "\n"))
    section: str = ""
    subsection: str | None = None
    is_comment = False
    while True:
        character = reader.next()
        if character == "\n":
            if reader.is_done:
                return
            is_comment = False
        elif is_comment or character in _BLANKS:
            continue
        elif character in "#;":
            is_comment = True
        elif character == "[":
            section, subsection = _header(reader)
        elif character in _LETTERS:
            key, value = _variable(reader, character)
            yield section, subsection, key, value
        else:
            raise _MalformedError


def _header(reader: _Reader) -> tuple[str, str | None]:
    """A section header after its bracket; `[a.b]` is the old way to write a lower-case subsection."""
    name = ""
    while True:
        character = reader.next()
        if reader.is_done:
            raise _MalformedError
        if character == "]":
            if not name:
                raise _MalformedError
            section, dot, subsection = name.lower().partition(".")
            return section, subsection if dot else None
        if character in _BLANKS:
            section, _, prefix = name.lower().partition(".")
            quoted = _subsection(reader, character)
            return section, f"{prefix}.{quoted}" if prefix else quoted
        if character not in _KEY_CHARACTERS and character != ".":
            raise _MalformedError
        name += character


def _subsection(reader: _Reader, character: str) -> str:
    while character in _BLANKS:
        if character == "\n":
            raise _MalformedError
        character = reader.next()
    if character != '"':
        raise _MalformedError
    parts: list[str] = []
    while True:
        character = reader.next()
        if character == '"':
            break
        if character == "\\":
            character = reader.next()
        if character == "\n":
            raise _MalformedError
        parts.append(character)
    if reader.next() != "]":
        raise _MalformedError
    return "".join(parts)


def _variable(reader: _Reader, first: str) -> tuple[str, str | None]:
    """A variable after its first letter; one without `=` has the value None."""
    letters = [first]
    character = reader.next()
    while character in _KEY_CHARACTERS:
        letters.append(character)
        character = reader.next()
    key = "".join(letters).lower()
    while character in " \t":
        character = reader.next()
    if character == "\n":
        return key, None
    if character != "=":
        raise _MalformedError
    return key, _value(reader)


def _value(reader: _Reader) -> str:
    """A value: quotes and escapes resolved, comment and outer blanks removed, inner blanks kept."""
    parts: list[str] = []
    blanks: list[str] = []
    is_quoted = is_comment = False
    while True:
        character = reader.next()
        if character == "\n":
            if is_quoted:
                raise _MalformedError
            return "".join(parts)
        if is_comment:
            continue
        if character in _BLANKS and not is_quoted:
            if parts:
                blanks.append(character)
            continue
        if character in "#;" and not is_quoted:
            is_comment = True
            continue
        parts += blanks
        blanks.clear()
        if character == "\\":
            character = reader.next()
            if character != "\n":
                if character not in _VALUE_ESCAPES:
                    raise _MalformedError
                parts.append(_VALUE_ESCAPES[character])
        elif character == '"':
            is_quoted = not is_quoted
        else:
            parts.append(character)


def gitdir_from_dotgit(text: str) -> str | None:
    """The directory named by a worktree's or submodule's `.git` file (`gitdir: …`), or None."""
    if not text.startswith("gitdir: ") or len(text) > url_chars_max:
        return None
    path = text.removeprefix("gitdir: ").rstrip("\r\n")
    return path if path and not re.search(r"[\x00-\x1f\x7f]", path) else None
