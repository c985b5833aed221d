"""Words for generated transcripts: escaped text, seeded choices and a clock. Used by ``generate.py`` only.

Everything expensive happens once, in :class:`Words`; afterwards text is only sliced, chosen and joined,
already escaped for JSON. That is what makes the generator write faster than any reader reads.
"""

import base64
import bisect
import keyword
import random
import re
import sysconfig
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from json.encoder import encode_basestring
from pathlib import Path
from typing import Any

PROJECTS = tuple(
    re.findall(r"\w+", "harbor lantern meridian quarry tidepool orchard foundry sextant juniper basalt")
)


def escape(text: str) -> str:
    """Return the inside of the JSON string for ``text``."""
    return encode_basestring(text)[1:-1]


class Words:
    """Pools of already escaped text. Built once per run (a second or two), then only sliced and joined."""

    def __init__(self, rng: random.Random, *, source_bytes_max: int = 14_000_000) -> None:
        root = Path(sysconfig.get_path("stdlib"))
        folders = [
            root,
            *(
                root / d
                for d in [
                    "asyncio",
                    "email",
                    "json",
                    "logging",
                    "test",
                    "unittest",
                    "xml",
                    "idlelib",
                    "lib2to3",
                ]
            ),
        ]
        paths = sorted(p for d in folders if d.is_dir() for p in d.glob("*.py") if p.stat().st_size > 1_500)
        rng.shuffle(paths)
        self.files: list[tuple[str, list[str], list[str], list[int]]] = []
        identifiers: set[str] = set()
        prose: list[str] = []
        held = 0
        for path in paths:
            try:
                text = path.read_text(encoding="utf-8")
            except (UnicodeDecodeError, OSError):
                continue
            held += len(text)
            if held > source_bytes_max:
                break
            lines = text.split("\n")
            plain = escape(text).split("\\n")
            if len(plain) != len(lines):  # a literal backslash before an n: keep the pieces that match
                plain = [escape(line) for line in lines]
            numbered = [f"{number:>6}→{line}" for number, line in enumerate(plain, 1)]
            starts, at = [], 0
            for line in plain:
                starts.append(at)
                at += len(line) + 2
            self.files.append((str(path.relative_to(root)), plain, numbered, starts))
            identifiers.update(re.findall(r"[A-Za-z_][A-Za-z0-9_]{3,24}", text))
            for doc in re.findall(r'"""(.{80,1500}?)"""', text, re.S):
                prose.extend(
                    s.strip() for s in re.split(r"(?<=[.:!?])\s+", " ".join(doc.split())) if 30 < len(s) < 240
                )
        self.identifiers = sorted(identifiers - set(keyword.kwlist))
        rng.shuffle(self.identifiers)
        names, verbs = (
            self.identifiers,
            [
                "checks",
                "reads",
                "drops",
                "keeps",
                "moves",
                "returns",
                "resolves",
                "leaks",
                "blocks",
                "retries",
            ],
        )
        sentences: tuple[Callable[[str, str, str, str, int], str], ...] = (
            lambda a, b, c, v, n: (
                f"The failure in `{a}` happens because `{b}` {v} `{c}` before the lock is taken."
            ),
            lambda a, b, c, v, n: f"Let me look at how {a} {v} {b} when {c} is empty.",
            lambda a, b, c, v, n: (
                f"I changed {a}.py so that {b} no longer {v} {c}; the tests keep the old behaviour."
            ),
            lambda a, b, c, v, n: f"Next I need to verify that `{a}({b})` still {v} the {c} entry.",
            lambda a, b, c, v, n: f"There are {n} callers of {a}, and only {b} depends on {c}.",
        )
        for number in range(12_000):
            a, b, c = (names[int(rng.random() * len(names))] for _ in range(3))
            prose.append(sentences[number % 5](a, b, c, verbs[number % 10], number % 90))
        self.prose = [escape(s) for s in prose]
        rng.shuffle(self.prose)
        self.logs = [escape(line) for line in self._logs(rng, 60_000)]
        self.noise = base64.b64encode(rng.randbytes(1_500_000)).decode("ascii")

    def _logs(self, rng: random.Random, count: int) -> list[str]:
        names, levels = self.identifiers, ("INFO", "DEBUG", "WARNING", "ERROR")
        shapes: tuple[Callable[[str, str, str, str, int, int], str], ...] = (
            lambda a, b, c, d, n, m: (
                f"tests/test_{a}.py::test_{b}_{c} PASSED                              [{m:>3}%]"
            ),
            lambda a, b, c, d, n, m: (
                f"tests/test_{a}.py::test_{b} FAILED                                  [{m:>3}%]"
            ),
            lambda a, b, c, d, n, m: f"E       AssertionError: assert {a}({n}) == {b}['{c}']",
            lambda a, b, c, d, n, m: (
                f"2026-0{m % 9 + 1}-{n % 19 + 10} 1{m % 10}:{m % 60:02}:11,{n % 1000:03} "
                f"{levels[n % 4]} {a}.{b}: {c} took {n} ms ({d})"
            ),
            lambda a, b, c, d, n, m: (
                f'src/{a}/{b}.py:{n}: error: Argument {m} to "{c}" has incompatible type "{d}"'
            ),
            lambda a, b, c, d, n, m: f"ok  \tinternal/{a}/{b}\t{n / 1000:.3f}s",
            lambda a, b, c, d, n, m: f"--- FAIL: Test{a}_{b} ({m / 100:.2f}s)",
            lambda a, b, c, d, n, m: f" {m} files changed, {n} insertions(+), {n % 400} deletions(-)",
            lambda a, b, c, d, n, m: f"{hash((n, m)) & 0xFFFFFFF:07x} {a}: make {b} strict for {c}",
            lambda a, b, c, d, n, m: (
                f"-rw-r--r-- 1 dev dev {n * 37:>8} Nov {m % 28 + 1:>2} 10:{m % 60:02} {a}_{b}.py"
            ),
            lambda a, b, c, d, n, m: f"src/{a}.py:{n}:    {b} = {c}({d}, timeout={m})",
            lambda a, b, c, d, n, m: f'  File "/home/dev/work/src/{a}/{b}.py", line {n}, in {c}',
            lambda a, b, c, d, n, m: f"Downloading {a}-{m}.{n % 9}.{n % 7}-py3-none-any.whl ({n} kB)",
        )
        draw, count_names = rng.random, len(names)
        out = []
        for _ in range(count):
            a, b, c, d = (names[int(draw() * count_names)] for _ in range(4))
            shape = shapes[int(draw() * len(shapes))]
            out.append(shape(a, b, c, d, int(draw() * 2_000), int(draw() * 100)))
        return out


class Pick:
    """Seeded choices, as cheap as Python makes them."""

    def __init__(self, rng: random.Random, words: Words) -> None:
        self.rng, self.words = rng, words
        self.random, self.bits, self.choices = rng.random, rng.getrandbits, rng.choices

    def below(self, n: int) -> int:
        return int(self.random() * n)

    def one(self, sequence: Any) -> Any:
        return sequence[int(self.random() * len(sequence))]

    def weighted(self, pairs: tuple[tuple[str, int], ...]) -> str:
        return self.choices([p[0] for p in pairs], [p[1] for p in pairs])[0]

    def size(self, median: float, sigma: float, most: float) -> int:
        return int(min(self.rng.lognormvariate(0, sigma) * median, most))

    def uuid(self) -> str:
        h = f"{self.bits(128):032x}"
        return f"{h[:8]}-{h[8:12]}-4{h[13:16]}-{'89ab'[self.bits(2)]}{h[17:20]}-{h[20:]}"

    def uuid7(self, ms: int) -> str:
        h = f"{ms:012x}{self.bits(80):020x}"
        return f"{h[:8]}-{h[8:12]}-7{h[13:16]}-{'89ab'[self.bits(2)]}{h[17:20]}-{h[20:]}"

    def key(self) -> str:
        """A unique id. (A slice of the noise would repeat: there are only so many places to cut it.)"""
        return f"{self.bits(96):024x}"[2:]

    def token(self, n: int) -> str:
        """Incompressible text: signatures, images."""
        at = self.below(len(self.words.noise) - n)
        return self.words.noise[at : at + n].replace("+", "A").replace("/", "B")

    def prose(self, chars: int) -> str:
        n = max(1, chars // 95)
        parts = self.choices(self.words.prose, k=n)
        if n < 5:
            return " ".join(parts)
        return "\\n\\n".join(" ".join(parts[i : i + 4]) for i in range(0, n, 4))

    def log(self, chars: int) -> str:
        return "\\n".join(self.choices(self.words.logs, k=max(1, chars // 78)))

    def source(self, chars: int) -> tuple[str, list[str], list[str], int]:
        """A slice of a source file: name, escaped lines, the same with line numbers, number of the first."""
        name, plain, numbered, starts = self.one(self.words.files)
        total = starts[-1]
        first = 0 if chars >= total else bisect.bisect_left(starts, self.below(max(1, total - chars)))
        last = max(first + 1, bisect.bisect_left(starts, starts[min(first, len(starts) - 1)] + chars))
        return name, plain[first:last], numbered[first:last], first + 1


class Clock:
    """Milliseconds since the epoch that only move forward, and their ISO form."""

    days: dict[int, str] = {}  # noqa: RUF012 - a cache of formatted dates, shared on purpose

    def __init__(self, ms: int) -> None:
        self.ms = ms

    def iso(self, step: int = 0) -> str:
        self.ms += step
        day, rest = divmod(self.ms, 86_400_000)
        text = self.days.get(day)
        if text is None:
            text = self.days[day] = (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(days=day)).strftime(
                "%Y-%m-%d"
            )
        s, ms = divmod(rest, 1000)
        m, s = divmod(s, 60)
        h, m = divmod(m, 60)
        return f"{text}T{h:02}:{m:02}:{s:02}.{ms:03}Z"
