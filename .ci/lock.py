"""Prints exact versions of all that development installs, as this environment has them.

``make lock`` writes them to requirements-dev.lock. Builds for one kind of machine ("+cpu") are
named by their public version, which every build of it satisfies.
"""

from __future__ import annotations

import platform
import re
import sys
from importlib.metadata import distribution

from packaging.requirements import Requirement

OURS = "rl-rewriter"


def normalised(name: str) -> str:
    """A distribution's name as indexes spell it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def closure() -> dict[str, str]:
    """Name -> version of everything that ``rl-rewriter[dev]`` brings."""
    waiting, seen, versions = [(OURS, "dev")], set(), {}
    while waiting:
        name, extra = waiting.pop()
        if (name, extra) in seen:
            continue
        seen.add((name, extra))
        found = distribution(name)
        versions[name] = found.version.partition("+")[0]
        for line in found.requires or ():
            needed = Requirement(line)
            if needed.marker is None or needed.marker.evaluate({"extra": extra}):
                waiting += [(normalised(needed.name), e) for e in ("", *needed.extras)]
    del versions[OURS]
    return versions


if __name__ == "__main__":
    python = ".".join(platform.python_version_tuple()[:2])
    head = f"# What development installs with Python {python}; written by: make lock\n"
    pins = (f"{name}=={version}\n" for name, version in sorted(closure().items()))
    sys.stdout.writelines((head, *pins))
