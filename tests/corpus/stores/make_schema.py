"""Makes the sample store of the current schema: ``python tests/corpus/stores/make_schema.py``.

Run once when a schema is released, never again for that schema: the kept file shows that later
programs open what this one wrote. The transcripts are the program's own sample, at a fixed place.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from waypost.machine.store import database

HERE = Path(__file__).resolve().parent
SAMPLE = HERE.parents[2] / "src" / "waypost" / "sample"


def main() -> None:
    place = HERE / f"schema-{database.SCHEMA}"
    if place.exists() and any(place.iterdir()):
        sys.exit(f"{place} exists; a kept store is never made again")
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        home = Path(folder) / "home"
        subprocess.run(
            [
                *(str(Path(sys.executable).parent / "waypost"), "ingest", "--json", "--jobs", "1"),
                *("--claude", str(SAMPLE / "claude"), "--codex", str(SAMPLE / "codex")),
            ],
            env={"PATH": os.environ["PATH"], "HOME": folder, "WAYPOST_HOME": str(home)},
            check=True,
        )
        store = database.open_store(home, create=False)
        assert store is not None
        database.compact(store)
        store.close()
        place.mkdir(exist_ok=True)
        shutil.copy(database.store_path(home), place / "waypost.db")
        shutil.copy(home / "waypost.key", place / "waypost.key")


if __name__ == "__main__":
    main()
