"""Sizes and durations as people write them."""

import pytest

from rackproof.scenarios.quantities import duration, in_words, size


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("4GB", 4_000_000_000),
        ("512MiB", 512 * 1024**2),
        ("1.5 gib", 3 * 1024**3 // 2),
        ("100", 100),
        ("2G", 2 * 1024**3),
        ("7 B", 7),
    ],
)
def test_sizes(text: str, expected: int) -> None:
    assert size(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("30s", 30.0),
        ("2m", 120.0),
        ("1h30m", 5400.0),
        ("1h 30m 5s", 5405.0),
        ("80 ms", 0.08),
        ("1.5 S", 1.5),
        ("250us", 0.00025),
        ("2d", 172_800.0),
    ],
)
def test_durations(text: str, expected: float) -> None:
    assert duration(text) == pytest.approx(expected)


@pytest.mark.parametrize(
    "text", ["", "  ", "GB", "-4GB", "4 XB", "4GB4", "1e9", "nan", "4,5GB", "0"]
)
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a size|is no memory"):
        size(text)


@pytest.mark.parametrize(
    "text",
    ["", "s", "30", "1h30", "-30s", "30 parsecs", "s30", "0s", "1:30", "nan", "inf s", "3s!"],
)
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a duration|is no time"):
        duration(text)


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (0.004, "4 ms"),
        (1.234, "1.23 s"),
        (12.34, "12.3 s"),
        (125.0, "2 min 5 s"),
        (7260.0, "2 h 1 min"),
    ],
)
def test_seconds_in_words(seconds: float, expected: str) -> None:
    assert in_words(seconds) == expected
