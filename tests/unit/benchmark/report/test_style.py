"""The page's colours, in light and in dark."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rl_rewriter.benchmark.report import page

ASSETS = Path(page.__file__).parent / "assets"


def colours(name: str) -> dict[str, str]:
    css = (ASSETS / name).read_text("utf-8")
    return dict(re.findall(r"--([a-z0-9-]+):\s*([^;]+);", css))


LIGHT, DARK = colours("layout.css"), colours("dark.css")


def luminance(colour: str) -> float:
    """Relative luminance of ``#rrggbb`` (WCAG 2)."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_dark_has_every_colour_that_light_has() -> None:
    assert set(DARK) == set(LIGHT)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("ground", ["page", "paper"])
@pytest.mark.parametrize("text", ["ink", "muted", "link", "helped", "hurt"])
def test_text_can_be_read(theme: dict[str, str], ground: str, text: str) -> None:
    assert contrast(theme[text], theme[ground]) >= 4.5


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize(
    "mark", ["policy", "keep", "fixed", "oracle", "helped", "hurt", "interval"]
)
def test_marks_of_charts_can_be_seen(theme: dict[str, str], mark: str) -> None:
    assert contrast(theme[mark], theme["paper"]) >= 3.0


def test_every_colour_that_is_used_is_defined() -> None:
    package = ASSETS.parent
    used = set()
    for path in [*package.rglob("*.css"), *package.rglob("*.j2")]:
        used |= set(re.findall(r"var\(--([a-z0-9-]+)\)", path.read_text("utf-8")))
    assert used - set(LIGHT) == set()
