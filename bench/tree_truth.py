"""The totals of a generated tree, counted while its records are made, and the one way its files are "
"written."""

import platform
from pathlib import Path
from typing import Any


class Truth:
    """The totals, counted as records are made."""

    def __init__(self) -> None:
        self.counts: dict[str, dict[str, int]] = {"claude": {}, "codex": {}}
        self.models: dict[str, dict[str, dict[str, int]]] = {"claude": {}, "codex": {}}
        self.bytes: dict[str, int] = {"claude": 0, "codex": 0}

    def add(self, harness: str, key: str, n: int = 1) -> None:
        counts = self.counts[harness]
        counts[key] = counts.get(key, 0) + n

    def usage(self, harness: str, model: str, **tokens: int) -> None:
        held = self.models[harness].setdefault(model, {})
        held["responses"] = held.get("responses", 0) + 1
        for key, value in tokens.items():
            held[key] = held.get(key, 0) + value

    def document(self, *, seed: int, mode: str) -> dict[str, Any]:
        classes = ("input", "cache_write_5m", "cache_write_1h", "cache_read", "output")
        out: dict[str, Any] = {
            "generator": 1,
            "seed": seed,
            "mode": mode,
            "python": platform.python_version(),
            "bytes": self.bytes,
            "harnesses": {},
        }
        grand = dict.fromkeys(classes, 0)
        for harness, models in self.models.items():
            tokens = {c: sum(m.get(c, 0) for m in models.values()) for c in classes}
            for c in classes:
                grand[c] += tokens[c]
            out["harnesses"][harness] = {
                **self.counts[harness],
                "responses": sum(m["responses"] for m in models.values()),
                "tokens": {**tokens, "total": sum(tokens.values())},
                "models": models,
            }
        out["tokens"] = {**grand, "total": sum(grand.values())}
        return out


def save(path: Path, lines: list[str]) -> int:
    data = ("\n".join(lines) + "\n").encode()
    path.write_bytes(data)
    return len(data)
