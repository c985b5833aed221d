"""Redaction is the one secret rule set behind everything that is shown or exported.

`redact` takes any text and gives it back with every recognised secret replaced by
`[redacted:<rule>]` and every unbroken run of at least `opaque_run_chars_max` base64 characters
replaced by `[dropped: N characters of base64, sha256:…]`. All other characters are kept as they were.

Guarantees:
  * never raises, whatever the text holds (lone surrogates included);
  * text without a finding is returned as the same object;
  * work is linear in the length of the text, and `redact` of its own output changes nothing
    (up to `rounds_max` tokens that each become visible only once the one before is masked).

How the speed is kept. Opaque runs go first, found by probing one character in every half
threshold. What is left is reduced to an ASCII copy of equal length (anything else becomes `?`), in
which each rule first looks for its `anchors` with a plain substring search; only then does its
pattern run, and each pattern starts with a literal, so the regex engine skips to it as well. No
pattern can walk the same characters twice: repeats are possessive, or bounded, or stop at the
characters the anchor itself contains. Repeats of groups are plain: before CPython 3.11.4 a possessive
group kept what a failed last turn had consumed. Boundary checks stand after the literal for the same reason.

What is deliberately left alone: placeholders, references to variables and environment, calls, empty
values, attribute access, hashes and commit ids without a secret's name, names of secrets, and pure
numbers that are not passwords. A bare value in code is masked only if it does not read like an identifier.

Sources: the vendors' token formats (GitHub "token formats", AWS IAM identifiers, Anthropic, OpenAI,
GitLab "token overview", Slack, Stripe, Google, npm, PyPI, Hugging Face, SendGrid, Twilio), RFC 7468 (PEM),
RFC 7515 (JWS), RFC 3986 (userinfo); over-redaction cases from entireio/cli #471, #1203, #1901.
"""

import hashlib
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from typing import NamedTuple

opaque_run_chars_max = 4096
pem_chars_max = 32_768
value_chars_max = 512
context_chars_max = 200
rounds_max = 4
_END = (1 << 62) - 1


class LazyPattern:
    """A regular expression that is compiled when it is first used.

    Compiling them all takes 20 ms, as much as the rest of a short command's start; most texts hold no
    rule's anchor, so most are never needed.
    """

    __slots__ = ("_compiled", "flags", "pattern")

    def __init__(self, pattern: str, flags: re.RegexFlag = re.RegexFlag(0)) -> None:  # noqa: B008
        self.pattern = pattern
        self.flags = flags
        self._compiled: re.Pattern[str] | None = None

    @property
    def compiled(self) -> re.Pattern[str]:
        """The compiled expression."""
        if self._compiled is None:
            self._compiled = re.compile(self.pattern, self.flags)
        return self._compiled

    def match(self, text: str, start: int = 0, end: int = _END) -> re.Match[str] | None:
        """As ``re.Pattern.match``."""
        return self.compiled.match(text, start, end)

    def search(self, text: str, start: int = 0, end: int = _END) -> re.Match[str] | None:
        """As ``re.Pattern.search``."""
        return self.compiled.search(text, start, end)

    def fullmatch(self, text: str, start: int = 0, end: int = _END) -> re.Match[str] | None:
        """As ``re.Pattern.fullmatch``."""
        return self.compiled.fullmatch(text, start, end)

    def finditer(self, text: str, start: int = 0, end: int = _END) -> Iterator[re.Match[str]]:
        """As ``re.Pattern.finditer``."""
        return self.compiled.finditer(text, start, end)


Span = tuple[int, int]
Judge = Callable[[str, re.Match[str]], Span | None]


class Rule(NamedTuple):
    """One family of secrets: where to look, what it looks like, and what of it to mask.

    `anchors` are literal substrings of which the text must hold one; `folded` says that anchors and
    pattern are in lower case and meet a lower-cased copy. The `judge` sees the match with the real
    text and answers the span to mask, or None.
    """

    name: str
    pattern: LazyPattern
    anchors: tuple[str, ...]
    judge: Judge
    folded: bool = False


class Finding(NamedTuple):
    """Where a rule applied, in offsets of the original text."""

    rule: str
    start: int
    end: int


class Redaction(NamedTuple):
    """Text that may be shown, the secrets masked in it, and the opaque runs cut out of it."""

    text: str
    found: tuple[Finding, ...]
    dropped: tuple[Finding, ...] = ()


# A span of the original that is replaced, with the rule that says so or `OPAQUE_RUN`. A plain tuple: texts
# can hold a finding every twenty characters, and a record costs as much as the match that found it.
_Cut = tuple[int, int, str]
OPAQUE_RUN = "opaque-run"

# --- Judging a value -------------------------------------------------------------------------

# A value that stands for something else: a variable, a template, a mask, an ellipsis, a file.
_REFERENCE = LazyPattern(
    r"\$[A-Za-z_({\[0-9@*]|#[0-9a-fA-F]{3,8}$|\(|<[^<>]*>|%[({sdr]|\{|\[|(?:~|\.{1,2})?/[^/+=]*/|~|\.{1,2}/|sha[0-9]{1,3}[:-]|"
    r"(?:process|import|os|env|ENV|self|this|config|settings|secrets|vars|ctx|args|opts|options|params|req|"
    r"request|data|props|var|local|module|github)\.[A-Za-z_]"
)
_TEMPLATE = LazyPattern(r"\$[{(]|\{\{|\.\.\.|…|\*\*\*|://|\[(?:redacted|dropped):")
_MASKED = LazyPattern(r"\[(?:redacted|dropped):|\.\.\.|…|\*{3}|\$\{|\$\(|\{\{|^[<$%{*]|^\[")
_WORDS = LazyPattern(r"_*[A-Za-z]+(?:[-_.:/ ]+[A-Za-z]+)*[-_]?[0-9]{0,2}")
_PLACEHOLDER = LazyPattern(
    r"your|change|replace|insert|example|sample|placeholder|dummy|password|passwd|passphrase|secret|token|"
    r"credential|undefined|required|optional|redacted|masked|hidden|unknown|default|bearer|string|x{4}|"
    r"(?<![a-z])(?:foo|bar|baz|test|testing|user|root|admin|here|key|apikey|auth|pass|pwd|text|none|null|nil|true|"
    r"false|todo|tbd|fake|mock|empty|value|postgres|mysql|basic|str|bool|boolean|any|number|object|self)(?![a-z])",
    re.IGNORECASE,
)
_ATTRIBUTE = LazyPattern(r"[A-Za-z_][A-Za-z_0-9]*(?:(?:\.|::|->)[A-Za-z_][A-Za-z_0-9]*)+")
_CONNECTION = LazyPattern(
    r"(?:server|data source|user id|uid|dbname|initial catalog|host|user|endpoint|accountname)\s?=[^,\n]*$",
    re.IGNORECASE,
)


_OPAQUE = LazyPattern(
    r"(?=.{8})(?=[^A-Za-z]*+[A-Za-z])(?:(?=(?:[^0-9]*+[0-9]){3})|(?=[^0-9]*+[0-9])(?=[\w.-]*+[^\w.-]))",
    re.DOTALL,
)

_OPENING = frozenset("([{<")


def _is_reference(value: str) -> bool:
    """True for a value that stands for another: a variable, a template, a path, a mask."""
    return not value.isalnum() and bool(_REFERENCE.match(value) or _TEMPLATE.search(value))


def _is_placeholder(value: str) -> bool:
    """True for words that name or stand for a secret instead of being one, and for one character repeated."""
    if _WORDS.fullmatch(value) is not None:
        return _PLACEHOLDER.search(value) is not None
    return value.count(value[0]) + value.count(value[-1]) >= len(value)


def _is_opaque(value: str) -> bool:
    """True for values no person would choose as an identifier: long, varied, with digits among letters.

    Variety is counted in distinct characters; for lengths below a hundred it orders values as
    entropy does and costs a tenth.
    """
    return _OPAQUE.match(value) is not None and len(set(value)) >= 6


# The whole token must read as words: what follows a real one without a gap must not excuse it, also
# when it happens to hold no digit. In words no lower-case letter stands alone beside a capital.
_WORD = r"(?:(?:[A-Z]*+[a-z]{2,}+|[A-Z]++)++|[A-Za-z])"
_STAND_IN = LazyPattern(
    r"[A-Za-z]{2,8}[-_](?:[A-Za-z]{2,8}[0-9]{0,2}[-_]){0,2}"
    rf"_*{_WORD}(?:[-_.:/ ]+{_WORD})*[-_]?[0-9]{{0,2}}"
)


def _whole(text: str, match: re.Match[str]) -> Span | None:
    """Masks the secret of a token whose prefix already proves what it is, unless it is a stand-in."""
    start, end = match.span("secret")
    value = text[start:end]
    if len(set(value[4:])) < 5 or (_STAND_IN.fullmatch(value) and _PLACEHOLDER.search(value)):
        return None
    return start, end


def _opaque(text: str, match: re.Match[str]) -> Span | None:
    """Masks the secret when a weak prefix needs the value to look random as well."""
    start, end = match.span("secret")
    return (start, end) if _is_opaque(text[start:end]) else None


def _placed(text: str, match: re.Match[str]) -> Span | None:
    """Masks whatever stands where only a secret can stand, unless it is a reference or a mask."""
    start, end = match.span("secret")
    value = text[start:end]
    return None if _MASKED.search(value) or value.isspace() else (start, end)


def _credential(text: str, match: re.Match[str]) -> Span | None:
    """Masks an authorization value that is neither a reference nor the name of one."""
    start, end = match.span("secret")
    value = text[start:end]
    return None if _MASKED.search(value) or _is_placeholder(value) else (start, end)


def _after_word(*words: str) -> Judge:
    """Builds a judge for secrets that count only after a word, at most `context_chars_max` before."""

    def judge(text: str, match: re.Match[str]) -> Span | None:
        before = text[max(0, match.start() - context_chars_max) : match.start()].lower()
        return _placed(text, match) if any(word in before for word in words) else None

    return judge


def _flagged(text: str, match: re.Match[str]) -> Span | None:
    """Masks the value of a command-line flag if it does not read like the next word of a sentence."""
    start, end = match.span("secret")
    value = text[start:end]
    if value.startswith("-") or _is_reference(value) or _is_placeholder(value):
        return None
    known = match["keyword"].startswith("pass") and any(map(str.isdigit, value))
    return (start, end) if known or _is_literal(value) else None


_PEM_LINES = LazyPattern(
    r"(?:[^A-Za-z+/=-]{0,24}+(?:[nrt]?(?:Proc-Type|DEK-Info|Version|Comment)[^\n\\]{0,120}+|[A-Za-z0-9+/=]{16,}+))+"
)
_PEM_BODY = LazyPattern(r"[A-Za-z0-9+/]{24}|\[dropped:")


def _pem(text: str, match: re.Match[str]) -> Span | None:
    """Masks a private key block; of a block without an end, the header and the key lines after it."""
    start, end = match.span()
    body_start, body_end = match.span("body")
    if match["footer"] and body_end - body_start <= pem_chars_max:
        return (start, end) if _PEM_BODY.search(text, body_start, body_end) else None
    lines = _PEM_LINES.match(text, body_start, body_end)
    return (start, lines.end()) if lines else None


def _jwt_header(text: str, match: re.Match[str]) -> Span | None:
    """Finds the header before `.eyJ`; it cannot hold a dot, so walking back is linear overall."""
    run = text[max(0, match.start() - context_chars_max * 10) : match.start()]
    header = re.search(r"eyJ[A-Za-z0-9_-]{5,}+$", run[_run_start(run) :])
    return (match.start() - len(header[0]), match.end()) if header else None


_BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/_-"


def _run_start(text: str) -> int:
    """The offset where the run of base64 characters at the end of `text` begins."""
    return len(text.rstrip(_BASE64))


def _closing(text: str, start: int, end: int, quote: str) -> int:
    """The offset of the quote that closes a value, or -1 if its line or `value_chars_max` ends first."""
    limit = max(end + 1, start + value_chars_max)
    at = text.find(quote[-1], end, limit)
    while at > start and text[at - 1] == "\\" and text[start - 2 : start - 1] != "\\":
        at = text.find(quote[-1], at + 1, limit)
    if at < 0 or "\n" in text[end:at]:
        return -1
    return start + len(text[start:at].rstrip("\\"))


def _assigned(text: str, match: re.Match[str]) -> Span | None:
    """Decides whether a named value is a literal secret; see the module's list of what is left alone."""
    start, end = match.span("secret")
    keyword, operator, quote = match.group("keyword", "operator", "quote")
    is_password = keyword[0] == "p"
    is_closed = False
    if quote:
        is_closed = text.startswith(quote, end)
        if not is_closed and (is_password or text[end : end + 1] not in " \t\n"):
            closed = _closing(text, start, end, quote)
            is_closed = closed >= 0
            end = max(end, closed)
    value = text[start:end]
    if len(value) < 4 or (operator == ">" and (quote or text[end : end + 2] != "</")):
        return None
    # Letters and digits that are not words with a number after them need no further look.
    doubtful = not value.isalnum() or len(value) < 6 or _WORDS.fullmatch(value) is not None
    if doubtful and (_is_reference(value) or _is_placeholder(value)):
        return None
    if is_closed and " " in value:
        return (start, end) if is_password and operator.endswith("=") and len(value) < 64 else None
    if not is_closed and operator != ">":
        if _is_bare_secret(text, end, match, value):
            return start, end
        head = text[match.start() : start]
        if quote or not head.isupper() or head[-1] != "=" or head[-2] == " ":
            return None
    return (start, end) if is_password or _is_literal(value) else None


def _is_literal(value: str) -> bool:
    """True for a quoted or environment value that is not just words: those are names of secrets."""
    return len(value) >= 6 and not value.isdigit() and _WORDS.fullmatch(value) is None


def _is_bare_secret(text: str, end: int, match: re.Match[str], value: str) -> bool:
    """Judges an unquoted value, which in code is far more often an expression than a literal."""
    following = text[end : end + 1]
    if following in _OPENING or ("." in value and _ATTRIBUTE.fullmatch(value)):
        return False
    if _is_opaque(value):
        return True
    if match["keyword"][0] != "p":
        return False
    before = text[max(0, match.start() - context_chars_max) : match.start()]
    operator = match["operator"]
    if operator == "=" and following in ("", ";", " ", '"', "'", "\n") and _CONNECTION.search(before):
        return True
    # `password: hunter2` alone on its line is configuration; in code a comma or a bracket follows.
    alone = not before[before.rfind("\n") + 1 :].strip(" \t-+>") and following in ("", "\n", "\r")
    mixed = any(map(str.isdigit, value)) and any(map(str.isalpha, value))
    return alone and mixed and len(value) >= 6


# --- The rules -------------------------------------------------------------------------------


def _left(prefix: str, inner: str) -> str:
    """A literal, and after it the check that it began a word: no `inner` before it, or an escape."""
    return (
        rf"{prefix}(?:(?<![{inner}]{prefix})|(?<=\\[nrtbf]{prefix})|(?<=[0-9;\[]m{prefix})"
        rf"|(?<=\\u[0-9a-fA-F]{{4}}{prefix})|(?<=%[0-9A-Fa-f]{{2}}{prefix}))"
    )


def _token(name: str, anchor: str, pattern: str, judge: Judge = _whole) -> Rule:
    """A rule for tokens with a prefix of their own, masked as a whole."""
    return Rule(name, LazyPattern(rf"(?P<secret>{pattern})"), (anchor,), judge)


def _part(name: str, anchor: str, pattern: str, judge: Judge) -> Rule:
    """A rule that masks only the part of its match that the pattern calls the secret."""
    return Rule(name, LazyPattern(pattern), (anchor,), judge)


def _folded(name: str, anchor: str, pattern: str, judge: Judge) -> Rule:
    """The same for words written in any letter case."""
    return Rule(name, LazyPattern(pattern), (anchor,), judge, folded=True)


_ASSIGNMENT = (
    r"(?:[_-]?(?:access[_-]?key|key[_-]?base|key|token|value|prod|production|staging|dev|live|test|[0-9]{1,2}))?"
    r"(?:\\{0,3}[\"'`]\]?)?[ \t]{0,8}"
    r"(?P<operator>:[ \t]{0,2}&?(?:str|string)[ \t]{0,2}=|:=|=>|=(?![=~>])|:(?![:=/])|>)[ \t]{0,8}"
    r"(?:[brfu]{1,2}(?=[\"']))?(?P<quote>\\{0,3}[\"'`])?"
    r"(?P<secret>(?(quote)[^\s\"'`\\]{1,}+|[^\s\"'`\\<>,;&|(){}\[\]]{3,}+))"
)
# Each is checked by looking back from `key`, so that one literal serves all of them.
_KEY_OWNERS = ("api", "access", "private", "signing", "encryption", "account", "master", "auth")
_KEY = "(?:" + "|".join(rf"(?<={owner}[_-]key)|(?<={owner}key)" for owner in _KEY_OWNERS) + ")"


def _assignment(anchor: str, rest: str = "") -> Rule:
    """A rule for `name = value` in the notations of shells, code, JSON, YAML, INI and XML."""
    return _folded("assignment", anchor, rf"(?P<keyword>{anchor}{rest}){_ASSIGNMENT}", _assigned)


_FLAG = (
    r"--(?:[a-z0-9]{1,16}-){0,3}(?P<keyword>password|passwd|passphrase|token|secret|api-?key|access-key|secret-key)"
    r"[ \t]{1,4}[\"']?(?P<secret>[^\s\"'`\\|&;<>()]{4,}+)"
)
_AUTHORIZATION = (
    r"authorization\\{0,3}[\"'`]?\]?[ \t]{0,4}[:=,][ \t]{0,4}\\{0,3}[\"'`]?"
    r"(?:bearer|basic|token|apikey|bot|digest)[ \t]{1,4}(?P<secret>[^\s\"'`\\,;<>]{6,}+)"
)
_PEM = (
    r"-----BEGIN (?:[A-Z0-9]{1,16} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
    r"(?P<body>[^-]*+(?:-(?!----)[^-]*+)*)(?P<footer>-----END[ A-Z0-9]{0,48}-----)?"
)
_URL_PASSWORD = r"://[^\s/:@\"'`<>?#\\\[\]]{0,256}+:(?P<secret>[^\s/\"'`<>?#\\]{1,512})@(?=[^\s@])"
_NETRC = (
    r"login\s{1,8}+[^\s\"]{1,256}+\s{1,8}+(?:account\s{1,8}+\S{1,256}+\s{1,8}+)?"
    r"password\s{1,8}+(?P<secret>\S{1,512}+)"
)
_CURL_USER = r"-u(?:ser)?[ =]{0,2}[\"']?[^\s:\"'/\[]{1,64}+:(?P<secret>[^\s\"'/\\]{2,512}+)"
_AWS_SECRET = r"(?P<secret>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+])"
_BASE64URL = "[A-Za-z0-9_-]"

# No rule is named so that its mask, with a value after it, would read as an assignment.
# Specific families stand before general ones: of two rules on one place, the first names the mask.
RULES: tuple[Rule, ...] = (
    Rule("private-key", LazyPattern(_PEM), ("-----BEGIN ",), _pem),
    _token("aws-access-key-id", "AKIA", r"AKIA[A-Z0-9]{16}"),
    # Half of the alphabet could spell a word after ASIA ("ASIAPACIFIC…"), so it needs a digit.
    _token("aws-access-key-id", "ASIA", r"ASIA(?=[A-Z]{0,15}[0-9])[A-Z0-9]{16}"),
    _part("aws-secret", "AKIA", rf"AKIA[A-Z0-9]{{16}}\W{{1,8}}{_AWS_SECRET}", _whole),
    _folded(
        "aws-secret",
        "secret",
        rf"secret[_-]?(?:access)?[_-]?key[^a-z0-9/+\n]{{1,12}}{_AWS_SECRET}",
        _whole,
    ),
    _token("github-token", "gh", r"gh[pousr]_[A-Za-z0-9]{30,}+"),
    _token("github-token", "github_pat_", r"github_pat_[A-Za-z0-9_]{30,}+"),
    _token("gitlab-token", "glpat-", r"glpat-[A-Za-z0-9_.-]{18,}+"),
    _token("slack-token", "xox", r"xox[a-z]-[A-Za-z0-9-]{10,}+"),
    _token("slack-token", "xapp-", r"xapp-[0-9]-[A-Za-z0-9-]{10,}+"),
    _part(
        "slack-webhook",
        "hooks.slack.com/",
        r"hooks\.slack\.com/[a-z]{1,12}/(?P<secret>[A-Za-z0-9/_-]{20,}+)",
        _whole,
    ),
    _token("stripe-key", "sk_live_", r"sk_live_[A-Za-z0-9]{10,}+"),
    _token("stripe-key", "rk_live_", r"rk_live_[A-Za-z0-9]{10,}+"),
    _token("stripe-webhook", "whsec_", r"whsec_[A-Za-z0-9+/=]{24,}+"),
    _token("anthropic-key", "sk-ant-", r"sk-ant-[a-z]{1,8}[0-9]{0,4}-[A-Za-z0-9_-]{16,}+"),
    _token("openai-key", "sk-", r"sk-(?:proj|svcacct|admin|None|or-v1)-[A-Za-z0-9_-]{20,}+"),
    _token("openai-key", "T3BlbkFJ", r"sk-[A-Za-z0-9]{16,32}?T3BlbkFJ[A-Za-z0-9]{16,}+"),
    _token("sk-key", "sk-", rf"{_left('sk-', 'A-Za-z0-9')}[A-Za-z0-9]{{20,}}+(?![-_])", _opaque),
    _token("google-key", "AIza", r"AIza[A-Za-z0-9_-]{35}"),
    _token("google-oauth", "GOCSPX-", r"GOCSPX-[A-Za-z0-9_-]{20,}+"),
    _token("google-oauth", "ya29.", r"ya29\.[A-Za-z0-9_-]{30,}+"),
    _token("npm-token", "npm_", r"npm_[A-Za-z0-9]{30,}+"),
    _token("pypi-token", "pypi-", r"pypi-[A-Za-z0-9_-]{40,}+"),
    _token("hugging-face-token", "hf_", r"hf_[A-Za-z0-9]{30,}+"),
    _token("sendgrid-token", "SG.", r"SG\.[A-Za-z0-9_-]{16,64}+\.[A-Za-z0-9_-]{16,}+"),
    _token("twilio-token", "SK", r"SK[0-9a-f]{32}(?![0-9a-f])"),
    _token("groq-token", "gsk_", r"gsk_[A-Za-z0-9]{40,}+"),
    _token("xai-token", "xai-", r"xai-[A-Za-z0-9]{60,}+"),
    _token("digitalocean-token", "dop_v1_", r"dop_v1_[a-f0-9]{64}"),
    _token("supabase-token", "sb_secret_", r"sb_secret_[A-Za-z0-9_-]{20,}+"),
    _token("atlassian-token", "ATATT3", r"ATATT3[A-Za-z0-9_=-]{50,}+"),
    _token("age-identity", "AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[A-Z0-9]{58}"),
    _token("telegram-bot", ":AA", r"(?<=[0-9]{8}):AA[A-Za-z0-9_-]{32,33}+"),
    _token(
        "jwt",
        "eyJ",
        rf"{_left('eyJ', 'A-Za-z0-9_-')}{_BASE64URL}{{5,}}+\.{_BASE64URL}{{4,}}+\.{_BASE64URL}{{10,}}+",
    ),
    # A header glued to a word is found from the payload, which begins with a dot.
    _token("jwt", ".eyJ", r"\.eyJ[A-Za-z0-9_-]{5,}+\.[A-Za-z0-9_-]{10,}+", _jwt_header),
    _part("url-password", "://", _URL_PASSWORD, _placed),
    _part("url-user", "://", r"://(?P<secret>[A-Za-z0-9_.-]{20,256}+)(?::(?:x-oauth-basic)?)?@", _opaque),
    _folded("authorization", "authorization", _AUTHORIZATION, _credential),
    _folded("bearer", "bearer ", r"bearer (?P<secret>[a-z0-9._~+/=-]{16,}+)", _opaque),
    _folded("netrc", "login", _NETRC, _after_word("machine", "default")),
    _folded("curl-user", "-u", _CURL_USER, _after_word("curl ")),
    _part(
        "pgpass", ":5432:", r":5432:[^\s:\[]{1,64}+:[^\s:\[]{1,64}+:(?P<secret>[^\s:\"'\\]{2,512}+)", _placed
    ),
    _folded(
        "docker-auth",
        "auth",
        r"auth\\?\"\s{0,4}:\s{0,4}\\?\"(?P<secret>[a-z0-9+/]{12,}+={0,2})\\?\"",
        _opaque,
    ),
    _folded("flag", "--", _FLAG, _flagged),
    _assignment("pass", "(?:word|wd|phrase|(?<=[_-]pass))"),
    _assignment("pwd"),
    _assignment("secret"),
    _assignment("token"),
    _assignment("credential"),
    _assignment("key", _KEY),
)


# --- Opaque runs -----------------------------------------------------------------------------

_OPAQUE_PROBE = LazyPattern(rf"[A-Za-z0-9+/_-]{{{opaque_run_chars_max // 2}}}")
_OPAQUE_REST = LazyPattern(r"[A-Za-z0-9+/_-]*+={0,2}")
_PEM_DASHES = LazyPattern(r"-{5,}")


def _opaque_runs(skeleton: str) -> list[_Cut]:
    """Cuts for every run of at least `opaque_run_chars_max`, PEM dashes not counted as part of one.

    A run that long covers a whole stride between two probes, so probing once a stride finds it; a
    failed probe ends at the first foreign character, so probes never overlap.
    """
    stride = opaque_run_chars_max // 2
    cuts: list[_Cut] = []
    done = 0
    probe = 0
    while probe + stride <= len(skeleton):
        if _OPAQUE_PROBE.match(skeleton, probe) is None:
            probe += stride
            continue
        back = max(done, probe - stride)
        start = back + _run_start(skeleton[back:probe])
        rest = _OPAQUE_REST.match(skeleton, probe)
        done = rest.end() if rest else probe + stride
        cuts.extend(_pieces(skeleton, start, done))
        probe = max(done, probe + stride)
    return cuts


def _pieces(skeleton: str, start: int, end: int) -> list[_Cut]:
    """The parts of one run between PEM dashes that are themselves long enough."""
    cuts: list[_Cut] = []
    borders = [(found.start(), found.end()) for found in _PEM_DASHES.finditer(skeleton, start, end)]
    for left, right in zip(
        [start, *(after for _, after in borders)], [*(at for at, _ in borders), end], strict=True
    ):
        if right - left >= opaque_run_chars_max:
            cuts.append((left, right, OPAQUE_RUN))
    return cuts


# --- Scanning and putting together -----------------------------------------------------------


def _skeleton(text: str) -> str:
    """An ASCII text of the same length; what is not ASCII belongs to no token and becomes `?`."""
    return text if text.isascii() else text.encode("ascii", errors="replace").decode("ascii")


def _scan(text: str, skeleton: str) -> list[_Cut]:
    """Every span any rule wants masked, with the rule's name; unsorted, possibly overlapping."""
    lowered = skeleton.lower()
    found: list[_Cut] = []
    for name, pattern, anchors, judge, folded in RULES:
        place = lowered if folded else skeleton
        if not any(anchor in place for anchor in anchors):
            continue
        for match in pattern.finditer(place):
            span = judge(text, match)
            if span is not None:
                found.append((span[0], span[1], name))
    return found


def _replacement(text: str, cut: _Cut) -> str:
    start, end, rule = cut
    if rule != OPAQUE_RUN:
        return _MASKS[rule]
    digest = hashlib.sha256(text[start:end].encode("ascii")).hexdigest()
    return f"[dropped: {end - start} characters of base64, sha256:{digest}]"


def _apply(text: str, cuts: list[_Cut]) -> tuple[str, list[str]]:
    """The text with every cut replaced, and the replacements in order."""
    replacements = [_replacement(text, cut) for cut in cuts]
    parts: list[str] = []
    at = 0
    for (start, end, _), replacement in zip(cuts, replacements, strict=True):
        parts.append(text[at:start])
        parts.append(replacement)
        at = end
    parts.append(text[at:])
    return "".join(parts), replacements


class _Offsets:
    """Leads from offsets in a text with cuts back to the original; inside a replacement, to its edge."""

    def __init__(self, cuts: list[_Cut], replacements: list[str]) -> None:
        self._cuts = cuts
        self._starts: list[int] = []
        self._ends: list[int] = []
        shift = 0
        for (start, end, _), replacement in zip(cuts, replacements, strict=True):
            self._starts.append(start + shift)
            shift += len(replacement) - (end - start)
            self._ends.append(end + shift)

    def original(self, found: _Cut) -> _Cut:
        """The original span, widened to hold whole every cut it touches."""
        start, end, rule = found
        first = bisect_right(self._starts, start) - 1
        if first >= 0:
            inside = start < self._ends[first]
            start = self._cuts[first][0] if inside else self._cuts[first][1] + start - self._ends[first]
        last = bisect_right(self._starts, end - 1) - 1
        if last >= 0:
            end = self._cuts[last][1] + max(0, end - self._ends[last])
        return start, end, rule


_ORDER = {rule.name: place for place, rule in reversed(list(enumerate(RULES)))}
_MASKS = {rule.name: f"[redacted:{rule.name}]" for rule in RULES}
# Masking can put a boundary where a word went on, and so uncover a token that was glued to a secret. Between
# these characters it cannot: nothing that is matched begins right after them because of what stood before.
_UNCOVERING = LazyPattern(r"\[redacted:[a-z0-9-]{1,40}\](?![\s\"'`;,@\\<]|\Z)")


def _merge(cuts: list[_Cut]) -> list[_Cut]:
    """Joins overlapping spans into one, named by the rule that stands first in `RULES`."""
    joined: list[_Cut] = []
    last_end = -1
    for cut in sorted(cuts):
        start, end, rule = cut
        if start >= last_end:
            joined.append(cut)
            last_end = end
            continue
        first_start, _, first_rule = joined[-1]
        last_end = max(last_end, end)
        name = min(first_rule, rule, key=lambda name: _ORDER.get(name, len(_ORDER)))
        joined[-1] = (first_start, last_end, name)
    return joined


def redact(text: str) -> Redaction:
    """Masks secrets and cuts out opaque runs; the module's docstring states what that means."""
    cuts = _opaque_runs(_skeleton(text))
    shown, replacements = _apply(text, cuts) if cuts else (text, [])
    for _ in range(rounds_max):
        fresh = _scan(shown, _skeleton(shown))
        if not fresh:
            break
        if cuts:
            offsets = _Offsets(cuts, replacements)
            fresh = [*cuts, *map(offsets.original, fresh)]
        cuts = _merge(fresh)
        shown, replacements = _apply(text, cuts)
        if _UNCOVERING.search(shown) is None:
            break
    if not cuts:
        return Redaction(text=text, found=())
    return Redaction(
        text=shown,
        found=tuple([Finding(rule, start, end) for start, end, rule in cuts if rule != OPAQUE_RUN]),
        dropped=tuple([Finding(rule, start, end) for start, end, rule in cuts if rule == OPAQUE_RUN]),
    )
