"""The colors of charts: what a user sees of a canvas, which has no elements."""

from __future__ import annotations

from playwright.sync_api import Locator

POINTS = (217, 217)  # opacity of a point, 0.85, where no other one is below it

_SHADES = """
(canvas, [low, high, least]) => {
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const counts = {};
  for (let at = 0; at < data.length; at += 4) {
    if (data[at + 3] < low || data[at + 3] > high) continue;
    const color = `${data[at]} ${data[at + 1]} ${data[at + 2]}`;
    counts[color] = (counts[color] ?? 0) + 1;
  }
  return Object.keys(counts).filter(color => counts[color] >= least);
}
"""
_COUNTED = """
(canvas, [name, within]) => {
  const token = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const wanted = [1, 3, 5].map(at => parseInt(token.slice(at, at + 2), 16));
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const counts = { like: 0, all: 0 };
  for (let at = 0; at < data.length; at += 4) {
    if (data[at + 3] < 100) continue;
    counts.all += 1;
    if (wanted.every((part, place) => Math.abs(data[at + place] - part) <= within)) counts.like += 1;
  }
  return counts;
}
"""


def shades(canvas: Locator, opacity: tuple[int, int] = POINTS, least: int = 40) -> set[str]:
    """The colors with at least `least` pixels of this opacity, 0 to 255: by default those of points."""
    return set(canvas.evaluate(_SHADES, [*opacity, least]))


def pixels_like(canvas: Locator, token: str, within: int = 4) -> int:
    """The number of pixels in the color of the theme with this name, `--failed`; `within`: of 255, in each part."""
    return int(canvas.evaluate(_COUNTED, [token, within])["like"])


def share_like(canvas: Locator, token: str, within: int = 4) -> float:
    """Like `pixels_like`: the share of these pixels in all that are drawn."""
    counts = canvas.evaluate(_COUNTED, [token, within])
    return float(counts["like"] / max(1, counts["all"]))
