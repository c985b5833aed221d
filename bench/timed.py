"""One timed command: wall clock, CPU of the whole process tree it waited for, peak memory, exit code, output.

CPU is what ``wait4`` reports (user + system of the child and of the children it reaped). A daemon that
outlives the command is not in it, which is why peers that start one are told not to.
"""

import os
import statistics
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Timed:
    wall_s: float
    cpu_s: float
    rss_mb: float
    code: int
    out: bytes
    err: bytes

    def why(self) -> str:
        """One line on a failure: the exit code and the last words on stderr."""
        words = self.err.decode("utf-8", "replace").strip().splitlines()
        return f"exit {self.code}" + (f": {words[-1][:200]}" if words else "")


def run(argv: list[str], *, env: dict[str, str], cwd: Path | None = None) -> Timed:
    """Run ``argv`` to its end. Output goes through files, so that no pipe slows the child down."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        begin = time.perf_counter()
        try:
            child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=env, cwd=cwd)
        except OSError as error:
            return Timed(wall_s=0.0, cpu_s=0.0, rss_mb=0.0, code=127, out=b"", err=str(error).encode())
        _, status, used = os.wait4(child.pid, 0)
        wall = time.perf_counter() - begin
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        return Timed(
            wall_s=wall,
            cpu_s=used.ru_utime + used.ru_stime,
            rss_mb=used.ru_maxrss / 1024,
            code=child.returncode,
            out=out.read(),
            err=err.read(),
        )


def summary(runs: list[Timed]) -> dict[str, float | int]:
    """Medians, with the widest ratio of two CPU figures as the statement of noise."""
    cpu = [r.cpu_s for r in runs]
    return {
        "runs": len(runs),
        "wall_s": round(statistics.median(r.wall_s for r in runs), 4),
        "cpu_s": round(statistics.median(cpu), 4),
        "cpu_max_over_min": round(max(cpu) / max(min(cpu), 1e-9), 2),
        "rss_mb": round(max(r.rss_mb for r in runs), 1),
    }
