"""Speed of `waypost.rules.redaction`: MB/s on ordinary text and on inputs made to be slow.

Run with `python bench/redaction.py [megabytes]`. Times are processor time, so a busy machine counts less.
The floor is one `str.find` of a missing word over the same text; the last column doubles the input and
shows by how much the work grew (linear is 2.0).
"""

import base64
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path

from waypost.rules import redaction

CHARACTERS_PER_MEGABYTE = 1_000_000
SECRET = "AK" + "IA" + "IOSFODNN7EXAMPLE"


def repeated(pattern: str) -> Callable[[int], str]:
    """A maker of one pattern, repeated to the wanted length."""
    return lambda size: (pattern * (size // len(pattern) + 1))[:size]


def ciphertext(size: int) -> str:
    """One unbroken run of base64."""
    return base64.b64encode(random.Random(1).randbytes(size * 3 // 4 + 3)).decode()[:size]


def runs_below_the_threshold(size: int) -> str:
    """Base64 in the longest runs that are still scanned."""
    length = redaction.opaque_run_chars_max - 1
    text = ciphertext(size)
    return "\n".join(text[at : at + length] for at in range(0, size, length + 1))


def source_code(size: int) -> str:
    """Python sources of the standard library."""
    folder = Path(random.__file__).parent
    parts: list[str] = []
    length = 0
    for path in sorted(folder.glob("*.py")) + sorted(folder.glob("*/*.py")):
        parts.append(path.read_text(encoding="utf-8", errors="replace"))
        length += len(parts[-1])
        if length > size:
            break
    text = "".join(parts)
    return (text * (size // len(text) + 1))[:size]


def mixed(size: int) -> str:
    """A transcript-like mixture: code, JSON lines with token counts, paths, commit ids, secrets, emoji."""
    code = source_code(min(size, 400_000))
    row = (
        '{"usage":{"input_tokens":12,"output_tokens":3,"service_tier":"standard"},"cwd":"/r/app","id":"%s"}\n'
    )
    pieces: list[str] = []
    for at in range(0, len(code), 4000):
        pieces.append(code[at : at + 4000])
        pieces.append(row % f"{at:040x}")
        if at % 40_000 == 0:
            pieces.append(f"aws {SECRET} password='hunter2-{at}' \U0001f600\n")
    return repeated("".join(pieces))(size)


INPUTS: dict[str, Callable[[int], str]] = {
    "mixed transcript": mixed,
    "source code": source_code,
    "prose without anchors": repeated("the quick brown fox jumps over the lazy dog. "),
    "chinese": repeated("密码是什么我也不知道这是一段中文文本。"),
    "base64, one run": ciphertext,
    "base64, runs just below": runs_below_the_threshold,
    "dense secrets": repeated(SECRET + " "),
    "dense quoted values": repeated("password='abcd1234' "),
    "dense bare values": repeated("token=ab12cd34ef "),
    "dense refused values": repeated("token=my_token_name "),
    "keyword run": repeated("token"),
    "key run": repeated("api_key_"),
    "secret key run": repeated("secret_key="),
    "pass run": repeated("password"),
    "unclosed quotes": repeated('password="'),
    "alternating quotes": repeated("token=\"a token='b "),
    "PEM begins, no end": repeated("-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkq\n"),
    "PEM, dashes": repeated("-----BEGIN PRIVATE KEY-----" + "- -- --- ----" * 40),
    "dashes": repeated("-" * 2000 + "\n"),
    "flag run": repeated("--a-b-c-"),
    "jwt starts": repeated(".eyJ"),
    "jwt starts with dashes": repeated(("-eyJ" * 1000) + " "),
    "jwt halves": repeated("eyJhbGciOi.eyJhbGci "),
    "jwt long heads": repeated("eyJ" + "a" * 4000 + " .eyJ" + "b" * 4000 + " "),
    "sk- run": repeated("sk-"),
    "sk-proj- run": repeated("sk-proj-abc "),
    "gh run": repeated("ghp_"),
    "url colons": repeated("://a:"),
    "url long passwords": repeated("://a:" + "b" * 511 + " "),
    "url at signs": repeated("://a:" + "@" * 511 + " "),
    "aws ids and blanks": repeated(SECRET + "        "),
    "authorization run": repeated("authorization: bearer "),
    "bearer run": repeated("bearer bearer "),
    "netrc run": repeated("login " * 9 + " " * 7),
    "netrc long names": repeated("login " + "a" * 255 + " "),
    "curl run": repeated("curl -u a:b "),
    "-u run": repeated("-u"),
    "pgpass run": repeated(":5432:a:"),
    "backslashes": repeated('token=\\\\\\"'),
    "blank runs": repeated("token        :        "),
    "surrogates": repeated("\ud800 token "),
}


def seconds(work: Callable[[], object], repeats: int = 3) -> float:
    """The best of a few runs."""
    best = float("inf")
    for _ in range(repeats):
        begin = time.process_time()
        work()
        best = min(best, time.process_time() - begin)
    return best


def main() -> None:
    """Prints one row for each input."""
    size = int(float(sys.argv[1] if len(sys.argv) > 1 else "2") * CHARACTERS_PER_MEGABYTE)
    print(f"{'input':28} {'MB/s':>8} {'x floor':>8} {'found':>8} {'growth':>7}")
    for name, make in INPUTS.items():
        text, double = make(size), make(2 * size)
        taken = seconds(lambda text=text: redaction.redact(text))
        taken_double = seconds(lambda double=double: redaction.redact(double))
        floor = seconds(lambda text=text: text.find("absent-word"))
        found = len(redaction.redact(text).found)
        rate = size / taken / CHARACTERS_PER_MEGABYTE
        print(f"{name:28} {rate:8.1f} {taken / floor:8.0f} {found:8d} {taken_double / taken:7.2f}")


if __name__ == "__main__":
    main()
