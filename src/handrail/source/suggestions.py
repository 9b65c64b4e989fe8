"""Suggests a known name for a misspelt one. Pure."""

from collections.abc import Iterable

SHORTEST_BEGINNING = 3


def distance(left: str, right: str) -> int:
    """The number of edits from one name to the other: insert, delete, replace, swap two neighbours."""
    previous: list[int] = []
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        previous, row_before, row = row, previous, [i]
        for j, b in enumerate(right, 1):
            cost = min(previous[j] + 1, row[j - 1] + 1, previous[j - 1] + (a != b))
            if row_before and j > 1 and a == right[j - 2] and left[i - 2] == b:
                cost = min(cost, row_before[j - 2] + 1)
            row.append(cost)
    return row[-1]


def nearest(name: str, known: Iterable[str], most: int = 1) -> list[str]:
    """Up to `most` known names that are similar to `name`, the most similar first.

    If none is similar, the only name that `name` is a beginning of: `bool` means `boolean`.
    """
    name = name[:80]
    scores: list[tuple[int, str]] = []
    candidates = dict.fromkeys(known)
    for candidate in candidates:
        if candidate.casefold() == name.casefold():
            scores.append((0, candidate))
            continue
        limit = max(1, min(3, max(len(name), len(candidate)) // 3))
        if abs(len(name) - len(candidate)) > limit:
            continue
        score = distance(name.casefold(), candidate.casefold())
        if score <= limit and score < max(len(name), len(candidate)):  # names of one letter have nothing in common
            scores.append((score, candidate))
    if not scores and len(name) >= SHORTEST_BEGINNING:
        longer = [candidate for candidate in candidates if candidate.casefold().startswith(name.casefold())]
        return longer if len(longer) == 1 else []
    beginning = name.casefold()  # of names that are equally similar, one that begins with it comes first
    scores.sort(key=lambda row: (row[0], not row[1].casefold().startswith(beginning), row[1]))
    return [candidate for _, candidate in scores[:most]]


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    """A hint with the most similar known name, or None if no name is similar."""
    suggestions = nearest(name, known)
    return f"did you mean `{suggestions[0]}`?" if suggestions else None
