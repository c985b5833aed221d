"""Makes ``source.py`` importable under the import mode that this suite uses."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
