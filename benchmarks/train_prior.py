"""Makes the prior that is shipped: a logit and a scale a view, from collections that are named.

Each collection is named with the licence under which its numbers may be given away. Weights that
are the same for all queries are learned on the training queries of each; the prior is their mean.

Run it from the repository root: ``python -m benchmarks.train_prior DATA=LICENCE [...]``; it writes
``rl_rewriter/actions/shipped_prior.json``. ``RL_REWRITER_CACHE`` names the folder where embeddings
and outcomes are kept.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from benchmarks._prior import combined, named, searched

FILE = Path("rl_rewriter/actions/shipped_prior.json")


def main() -> None:
    """Learn and write."""
    collections = named(sys.argv[1:])
    unclear = [each.data for each in collections if each.licence is None]
    if unclear or not collections:
        raise SystemExit(f"name collections with their licences, DATA=LICENCE: {unclear}")
    with tempfile.TemporaryDirectory() as folder:
        found = [searched(each.data, Path(folder)) for each in collections]
    record = {
        "made_by": "python -m benchmarks.train_prior DATA=LICENCE ...",
        "learned_on": {
            each.name: {"licence": of.licence, "training_queries": len(each.train.pools)}
            for each, of in zip(found, collections, strict=True)
        },
        "views": combined(found).to_json(),
    }
    FILE.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    print(FILE.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
