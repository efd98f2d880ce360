"""The filter language, against a naive evaluation face by face."""

from __future__ import annotations

import operator
import os
import pickle
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from facelens.images.faceset import FaceSet, Labels
from facelens.session import filters
from facelens.session.annotations import Annotations, flagged, rated, tagged
from facelens.session.filters import FilterError, completions, parse, without, word_start
from facelens.session.mark_columns import mark_columns
from facelens.session.subsets import Subsets, put

NAMES = ["Ann_Smith", "Bo Li", "ann smith", "Çetin Ünal", "straße", "O'Neil", None, "x\ny", 'say "hi"', "and"]


def gallery(n: int = 60, seed: int = 0, *, unicode: bool = True) -> FaceSet:
    rng = np.random.default_rng(seed)
    names = [NAMES[i] for i in rng.integers(0, len(NAMES), n)] if n else []
    endings = ["a.jpg", "B_b.PNG", "É.jpg", "c d.jpg"] if unicode else ["a.jpg", "B_b.PNG"]
    paths = [f"{i:03d}/{endings[i % len(endings)]}" for i in range(n)]
    variance = rng.random(n)
    variance[rng.random(n) < 0.2] = np.nan
    landmarks = rng.random((n, 5, 2)).astype(np.float32)
    landmarks[::3, 2, 1] = np.nan
    columns = {
        "variance": variance,
        "eye distance": rng.integers(0, 5, n).astype(np.float32) / 10,
        "age": rng.integers(0, 4, n),
        "split": Labels.of([["train", "test", None][i] for i in rng.integers(0, 3, n)]),
    }
    return FaceSet.build("g", Path("/g"), paths=paths, identities=names, columns=columns, landmarks=landmarks)


def fold(text: str) -> str:
    return text.casefold().replace("_", " ")


COMPARE = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
    "=": operator.eq,
    "!=": operator.ne,
}


def naive(tree: Any, faces: FaceSet, row: int) -> bool:
    """One face at a time, straight from the description of the language."""
    kind, *rest = tree
    path = os.fsdecode(faces.paths[row])
    if kind == "and":
        return all(naive(part, faces, row) for part in rest)
    if kind == "or":
        return any(naive(part, faces, row) for part in rest)
    if kind == "not":
        return not naive(rest[0], faces, row)
    if kind == "word":
        return (fold(rest[0]) in fold(faces.identity.name(row)) and bool(faces.identity.name(row))) or fold(
            rest[0]
        ) in fold(path)
    if kind == "missing":
        values = faces.values(rest[0])
        return values.codes[row] < 0 if isinstance(values, Labels) else values[row] != values[row]
    if kind == "landmarks":
        return not np.isnan(faces.landmarks[row]).any()
    column, op, value = rest
    if kind == "number":
        values = np.asarray(faces.values(column), np.float64)
        if isinstance(value, str):
            known = values[~np.isnan(values)]
            if not len(known):
                return False
            value = np.percentile(known, float(value[1:]))
        with np.errstate(over="ignore"):
            limit = faces.values(column).dtype.type(value) if faces.values(column).dtype == np.float32 else value
        return values[row] == values[row] and bool(COMPARE[op](values[row], limit))
    text = path if column == "path" else faces.values(column).name(row)
    if not text:
        return False
    if op == "~":
        return fold(value) in fold(text)
    exact = column != "path" and value in faces.values(column).names
    same = text == value if exact else fold(text) == fold(value)
    return same if op == "=" else not same


def quoted(rng: random.Random, text: str) -> str:
    if rng.random() < 0.5 and text.isalnum() and text not in ("and", "or", "not"):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def made(rng: random.Random, depth: int = 3) -> tuple[Any, str]:
    """A random filter, as a tree and as text."""
    kind = rng.choice(["and", "or", "not", "leaf", "leaf"]) if depth else "leaf"
    if kind in ("and", "or"):
        parts = [made(rng, depth - 1) for _ in range(rng.randint(2, 3))]
        join = rng.choice([f" {kind} ", f"  {kind.upper()}\n"])
        return (kind, *(tree for tree, _ in parts)), join.join(f"({text})" for _, text in parts)
    if kind == "not":
        tree, text = made(rng, depth - 1)
        return ("not", tree), f"not ({text})"
    leaf = rng.choice(["word", "number", "name", "missing", "landmarks"])
    if leaf == "word":
        word = rng.choice(
            ["ann", "SMITH", "nn s", "jpg", "1", "b b", "ü", "ç", "strasse", "zzz", "é", "o'n", "/", "D.J", "\n"]
        )
        return ("word", word), quoted(rng, word)
    if leaf == "number":
        column = rng.choice(["variance", "age", "eye distance"])
        op = rng.choice(list(COMPARE))
        value: Any = rng.choice([0, 1, 0.5, 0.1, 0.3, -1, 1e300, "p0", "p50", "p99.9", "p100"])
        return (
            "number",
            column,
            op,
            value,
        ), f"{'`eye distance`' if ' ' in column else column}{rng.choice(['', ' '])}{op} {value}"
    if leaf == "name":
        column = rng.choice(["identity", "split", "path"])
        op = rng.choice(["=", "!=", "~"])
        value = rng.choice(
            [
                "train",
                "TEST",
                "ann_smith",
                "ANN SMITH",
                "Bo Li",
                "ann",
                "STRASSE",
                'say "hi"',
                "000/A.jpg",
                "é",
                "x\ny",
                "and",
            ]
        )
        return ("name", column, op, value), f"{column} {op} {quoted(rng, value)}"
    if leaf == "missing":
        column = rng.choice(["variance", "identity", "split", "age"])
        form = rng.choice(["{} is missing", "not has({})", "not {} is not missing"])
        return ("missing", column), form.format(column)
    return ("landmarks",), "has(landmarks)"


@pytest.mark.parametrize("seed", range(150))
def test_random_filters_agree_with_the_naive_evaluation(seed: int) -> None:
    rng = random.Random(seed)
    faces = gallery([0, 1, 40, 60][seed % 4], seed, unicode=seed % 3 > 0)
    for _ in range(6):
        tree, text = made(rng)
        got = parse(text).rows(faces)
        assert got.dtype == bool and got.shape == (len(faces),)
        assert got.tolist() == [naive(tree, faces, row) for row in range(len(faces))], text


@pytest.mark.parametrize("seed", range(40))
def test_random_text_is_read_or_refused(seed: int) -> None:
    rng = random.Random(seed)
    faces = gallery(10)
    pieces = [
        "and",
        "or",
        "not",
        "(",
        ")",
        "variance",
        ">",
        "=",
        "~",
        "!",
        "!=",
        '"',
        "`",
        "'",
        "p90",
        "0.3",
        "has(",
        "is",
        "missing",
        " ",
        "x",
        "\\",
        "is not missing",
    ]
    for _ in range(200):
        text = "".join(rng.choice(pieces) + rng.choice(["", " "]) for _ in range(rng.randint(0, 8)))
        try:
            rows = parse(text).rows(faces)
            assert rows.shape == (10,)
        except FilterError as error:
            assert error.text == text and 0 <= error.position <= len(text) and error.message.endswith(".")  # noqa: PT017
        for at in range(0, len(text) + 1, 3):
            assert word_start(text, at) <= at
            completions(text, at, faces)


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("", ()),
        ("   ", ()),
        ("smith", ("smith",)),
        ("ann smith", ("ann", "smith")),
        ("a and b and not c > 1", ("a", "b", "not c > 1")),
        ("a or b", ("a or b",)),
        ("(a or b) and c", ("(a or b)", "c")),
        ('"b c" has(landmarks)', ('"b c"', "has(landmarks)")),
        ("v is missing w is not missing", ("v is missing", "w is not missing")),
        ("  a   and   `b c`>=3 ", ("a", "`b c`>=3")),
        ("O'Neil", ("O'Neil",)),
        ("x > 1 smith", ("x > 1", "smith")),
        ("a ! b!", ("a", "!", "b!")),
    ],
)
def test_terms(text: str, terms: tuple[str, ...]) -> None:
    assert parse(text).terms == terms


def test_without_removes_one_term() -> None:
    text = "a and (b or c) and v > p90"
    assert [without(text, i) for i in range(3)] == ["(b or c) and v > p90", "a and v > p90", "a and (b or c)"]
    assert without("a or b", 0) == "" == without("a", 0)
    faces = gallery()
    for i in range(2):
        rest = parse(without("variance > 0.3 and split = train", i)).rows(faces)
        assert (rest >= parse("variance > 0.3 and split = train").rows(faces)).all()


def test_adding_keeps_what_was_meant() -> None:
    assert filters.adding("", "a") == "a"
    assert filters.adding("a and b", "b") == "a and b"
    assert filters.adding("a", "b or c") == "a and (b or c)"
    assert filters.adding("a", "") == "a"


def test_choosing_among_names() -> None:
    assert filters.choice("identity = a or identity = b", "identity") == (0, ("a", "b"))
    assert filters.choice("identity = a or split = b", "identity") is None
    assert filters.choice("blur > 1", "identity") is None
    assert filters.choosing("identity = a or identity = b", "identity", ["c"]) == "identity = c"
    assert filters.choosing("identity = a and x", "identity", []) == "x"


@pytest.mark.parametrize("name", [*filter(None, NAMES), "a\\", "`", "not", "p90", "12", "-", "(", "a\"b'c"])
def test_comparison_finds_exactly_the_name(name: str) -> None:
    faces = FaceSet.build(
        "g", Path("/g"), paths=["0", "1"], identities=[name, name + "?"], columns={"od`d name": np.array([1.5, 2])}
    )
    text = filters.comparison("identity", "=", name)
    assert parse(text).rows(faces).tolist() == [True, False]
    assert parse(filters.comparison("od`d name", ">", 1.5)).rows(faces).tolist() == [False, True]
    assert parse(filters.comparison("identity", "~", name) + " and " + text).terms[1] == text


def test_exact_spelling_comes_first() -> None:
    faces = FaceSet.build("g", Path("/g"), paths=list("abc"), identities=["Ann_Smith", "ann smith", "ANN SMITH"])
    assert parse('identity = "ann smith"').rows(faces).tolist() == [False, True, False]
    assert parse('identity = "Ann Smith"').rows(faces).tolist() == [True, True, True]


@pytest.mark.parametrize(
    ("text", "message", "hint", "position"),
    [
        ("varience > 1", "There is no column varience.", "Did you mean variance?", 0),
        ("a and SPLITT = x", "There is no column SPLITT.", "Did you mean split?", 6),
        ("0.3 < variance", "There is no column 0.3.", "Write the column first", 0),
        ("qqqqq = 1", "There is no column qqqqq.", "Columns: identity, path, variance", 0),
        ("variance > abc", "variance holds numbers; abc is none.", "p90", 11),
        ("variance > 0,3", "0,3 is none.", "Write 0.3", 11),
        ("variance = nan", "nan is none.", "variance is missing", 11),
        ("variance > p101", "p101 is no percentile.", "p0 to p100", 11),
        ("variance ~ a", "looks inside names", "Use =", 9),
        ("split > a", "split holds names, which > cannot compare.", "~", 6),
        ("path < a", "path holds names", "~", 5),
        ("variance >", "After > a number or a name is missing.", "variance > 0.3", 10),
        ("variance > and a", "After > a number", "", 11),
        ("> 3", "Before > a column is missing.", "", 0),
        ("a and", "The filter ends too early.", "", 5),
        ("or a", "or joins two parts, and one is missing.", 'quote it: "or"', 0),
        ("(a", "The parenthesis that opens here is not closed.", "Add )", 0),
        ("a)", "This parenthesis closes nothing.", "", 1),
        ("()", "Nothing stands before this parenthesis.", "", 1),
        ('"abc', "The quote that opens here is not closed.", 'Add " at', 0),
        ("`abc > 1", "The quote that opens here is not closed.", "Add ` at", 0),
        ("identity = Ann Smith", "It is not clear what Smith belongs to.", '"Ann Smith"', 15),
        ('"a b" > 1', "A quoted text cannot be compared.", "`a b`", 0),
        ("`variance`", "Column variance is compared with nothing.", "> 0.3", 0),
        ("has()", "has needs the name of one column.", "has(landmarks)", 4),
        ("has(a b)", "has needs the name of one column.", "", 4),
        ("(" * 80 + "a" + ")" * 80, "The filter is nested too deeply.", "", 50),
    ],
)
def test_errors_say_what_where_and_what_to_do(text: str, message: str, hint: str, position: int) -> None:
    with pytest.raises(FilterError) as caught:
        parse(text).rows(gallery())
    error = caught.value
    assert message in error.message and hint in error.hint and error.position == position
    assert error.text == text
    again = pickle.loads(pickle.dumps(error))
    assert (again.message, again.position, again.text) == (error.message, position, text)


def test_nan_passes_no_comparison() -> None:
    faces = FaceSet.build(
        "g", Path("/g"), paths=list("ab"), identities=[None, "a"], columns={"v": np.array([np.nan, 1.0])}
    )
    for op in COMPARE:
        assert not parse(f"v {op} 1").rows(faces)[0] and not parse(f"v {op} p50").rows(faces)[0]
        assert not parse(f"v {op} −1").rows(faces)[0]
    for op in ("=", "!=", "~"):
        assert not parse(f'identity {op} "zz"').rows(faces)[0]
    assert parse("not v > 1").rows(faces)[0]
    empty = faces.with_columns({"v": np.full(2, np.nan)})
    assert not parse("v >= p50").rows(empty).any()


def test_column_names_ignore_case_and_underscores() -> None:
    faces = gallery()
    expected = parse("`eye distance` > 0.2").rows(faces)
    assert expected.any() and not expected.all()
    for text in ("Eye_Distance > 0.2", "`EYE DISTANCE` > .2", "eye_distance>2e-1"):
        assert (parse(text).rows(faces) == expected).all()


def test_other_spellings_of_operators() -> None:
    faces = gallery()
    for one, other in [("≥", ">="), ("≤", "<="), ("≠", "!="), ("==", "="), ("=>", ">="), ("=<", "<="), ("<>", "!=")]:
        assert (parse(f"age {one} 2").rows(faces) == parse(f"age {other} 2").rows(faces)).all()


def test_matches_do_not_reach_over_two_paths() -> None:
    faces = FaceSet.build("g", Path("/g"), paths=["ab", "cd", "bc"], identities=["1", "2", "3"])
    assert parse("bc").rows(faces).tolist() == [False, False, True]
    assert parse("dbc").rows(faces).tolist() == [False] * 3


def test_undecodable_paths_can_be_searched() -> None:
    faces = FaceSet.build("g", Path("/g"), paths=[b"caf\xe9/1.jpg", "Café/2.jpg"], identities=["a", "b"])
    assert parse("CAF").rows(faces).tolist() == [True, True]
    assert parse("café").rows(faces).tolist() == [False, True]


@pytest.mark.parametrize(
    ("text", "first", "some"),
    [
        ("", "identity", {"path", "variance", "`eye distance`", "not", "has(landmarks)"}),
        ("var", "variance", set()),
        ("eye", "`eye distance`", set()),
        ("`eye d", "`eye distance`", set()),
        ("variance ", ">", {"<=", "is missing"}),
        ("split ", "~", {"=", "!=", "is missing"}),
        ("split = ", "test", {"train"}),
        ("split = tr", "train", set()),
        ('identity = "ann', '"ann smith"', {"Ann_Smith"}),
        ("variance > ", "p99", {"p90", "p50"}),
        ("variance > p9", "p99", {"p95", "p90"}),
        ("variance > 3 ", "and", {"or"}),
        ("variance > 3 and sp", "split", set()),
        ("(a or va", "variance", set()),
        ("bo", '"Bo Li"', set()),
        ("identity = smith", "Ann_Smith", {'"ann smith"'}),
        ("li", '"Bo Li"', set()),
        ("identity is ", "missing", {"not missing"}),
        ("identity is not m", "missing", set()),
        ("has(", "landmarks)", {"variance)", "`eye distance`)"}),
        ("has(va", "variance)", set()),
        ("not (sp", "split", set()),
    ],
)
def test_completions(text: str, first: str, some: set[str]) -> None:
    faces = gallery()
    found = completions(text, len(text), faces)
    assert found[0] == first or first in found[:2]
    assert some <= set(found)
    start = word_start(text, len(text))
    for word in found:
        if word not in ("and", "or", "not", "~", *COMPARE) and "is " not in word and "has" not in word:
            try:
                parse(text[:start] + word).rows(faces)
            except FilterError as error:
                assert error.position >= start or "(" in text, (text, word, error)  # noqa: PT017


def test_marks_and_subsets_are_completed_too() -> None:
    faces = gallery()
    said = flagged(tagged(tagged(Annotations(), faces.ids[:2], "very blurry"), faces.ids[1:3], "hat"), faces.ids[:1], 1)
    said = rated(said, faces.ids[:3], 4)
    wide = faces.with_columns(mark_columns(faces, said, put(Subsets(), "hard ones", faces.ids[:2])))

    def offered(text: str) -> list[str]:
        return completions(text, len(text), wide)

    assert offered("tag = ") == ["hat", '"very blurry"'] and offered("tag = blu") == ['"very blurry"']
    assert offered("subset = one") == ['"hard ones"'] and offered("su") == ["subset"]
    assert offered("flag = ") == ["flagged", "rejected"] and offered("rating >= ")[:2] == ["4", "p99"]
    assert offered("edited = ") == ["yes"] and offered("orig") == ["`original identity`"]


def test_many_names_complete_quickly() -> None:
    labels = Labels(np.arange(1000, dtype=np.int32), tuple(f"person {i:04d}" for i in range(1000)))
    faces = FaceSet("g", Path("/g"), gallery(0).paths, labels, ids=np.arange(1000))
    assert len(completions("identity = ", 11, faces)) == 50


def test_many_chosen_names_cost_no_more_than_one(monkeypatch: pytest.MonkeyPatch) -> None:
    faces = gallery()
    gathered: list[int] = []
    real = filters._by_code
    monkeypatch.setattr(filters, "_by_code", lambda labels, names: gathered.append(1) or real(labels, names))
    rows = parse(filters.choosing("age >= 0", "identity", ["Bo Li", "Ann_Smith", "straße"])).rows(faces)
    assert len(gathered) == 1
    assert rows.tolist() == [faces.identity.name(row) in ("Bo Li", "Ann_Smith", "straße") for row in range(len(faces))]
    gathered.clear()
    rows = parse('identity != "Bo Li" and age >= 0 and split = train and identity != straße').rows(faces)
    assert len(gathered) == 2
    expected = [
        faces.identity.name(row) not in ("", "Bo Li", "straße") and faces.columns["split"].name(row) == "train"
        for row in range(len(faces))
    ]
    assert rows.tolist() == expected and any(expected)
