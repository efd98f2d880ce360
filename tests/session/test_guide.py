"""The guide: every panel has its page, every link and every term leads somewhere, and pages name what there is."""

from __future__ import annotations

import ast
import re
import shlex
from pathlib import Path

import pytest

from facelens import resources
from facelens.commands import parser
from facelens.errors import FaceLensError
from facelens.session import guide, keys
from facelens.session.actions import ACTIONS, BY_ID

ROOT = Path(__file__).resolve().parents[2]
VIEWS = ROOT / "facelens" / "views"
PANELS = re.findall(r'Page\("(\w+)"', (VIEWS / "panels" / "__init__.py").read_text("utf-8"))
GESTURES = ("click", "wheel", "arrows", "drag")
PAPERS = {  # pages that stand on one of the five papers
    "uncertainty": "Asymmetric Image Retrieval with Cross Model Compatible Ensembles",
    "confidence": "Towards Universal Representation Learning for Deep Face Recognition",
    "learners": "Divide and Conquer the Embedding Space for Metric Learning",
    "match": "DeepFace-EMD: Re-ranking Using Patch-wise Earth Mover's Distance",
    "upgrade": "Learning Compatible Embeddings",
}


def sources() -> dict[str, str]:
    return {file.stem: file.read_text("utf-8") for file in resources.guide().glob("*.md")}


def test_every_panel_has_a_page_and_no_page_is_left_over() -> None:
    assert PANELS and set(PANELS) <= set(guide.PAGES)
    assert set(sources()) == set(guide.PAGES)


@pytest.mark.parametrize("word", guide.PAGES)
def test_a_page_parses(word: str) -> None:
    page = guide.page(word)
    assert page.word == word and page.title and page.summary
    anchors = [section.anchor for section in page.sections]
    assert len(set(anchors)) == len(anchors), "two headings of one page are alike"
    assert "<!--" not in page.source and page.source.count("```") % 2 == 0
    for section in page.sections:
        assert section.text, f"{word}#{section.anchor} is empty"


@pytest.mark.parametrize("word", PANELS)
def test_the_page_of_a_panel_says_what_it_must(word: str) -> None:
    page, source = guide.page(word), sources()[word]
    if word not in ("gallery",):
        assert page.section("what-it-does-not-say") is not None
    lines = [line for line in source.splitlines() if line.startswith("facelens ")]
    assert lines, "no command line is named"
    assert any(section.on for section in page.sections), "nothing on the screen leads here"


@pytest.mark.parametrize("word", PAPERS)
def test_a_page_names_its_paper(word: str) -> None:
    section = guide.page(word).section(guide.REFERENCE)
    assert section is not None and PAPERS[word] in section.summary


def test_every_link_leads_to_a_section() -> None:
    for word, source in sources().items():
        for link in guide.links(source):
            found = guide.place(link, word)
            assert found is not None, f"{word}: {link} leads out of the guide"
            assert guide.page(found[0]).section(found[1]) is not None, f"{word}: {link}"


def test_a_link_out_of_the_guide_leads_nowhere() -> None:
    for link in ("https://example.org/match.md", "file:///etc/passwd", "nothing.md", "../match.md", ""):
        assert guide.place(link) is None


# -- commands and keys


def test_commands_in_pages_are_in_the_table() -> None:
    for word, source in sources().items():
        for found in re.finditer(r"\{(?:key )?([a-z]+\.[a-z_]+)\}", source):
            assert found[1] in BY_ID, f"{word}: {found[0]}"


def test_keys_in_pages_are_those_of_the_table() -> None:
    known = {keys.alike(key) for action in ACTIONS for key in action.keys} | {keys.alike(key) for key in keys.FIXED}
    for word in sources():
        told = guide.told(guide.page(word).source)
        for key in re.findall(r"\b(?:(?:Ctrl|Alt|Shift)\+)+[^\s,.;)|]+|\bF\d+\b", told):
            gesture = key.rpartition("+")[2] in GESTURES
            assert gesture or keys.alike(key) in known, f"{word}: {key} is no key of a command"


def test_a_page_names_the_key_the_user_has() -> None:
    assert "Analyse > Evaluate** (Ctrl+R)" in guide.told("{evaluate.run}")
    assert guide.plain("{evaluate.run}, {key evaluate.run}") == "Analyse > Evaluate (Ctrl+R), Ctrl+R"
    keys.use({"evaluate.run": ("F9",), "guide.open": ()})
    try:
        assert guide.plain("{evaluate.run} {key guide.open}") == "Analyse > Evaluate (F9) (no key)"
    finally:
        keys.use({})


@pytest.mark.parametrize("word", guide.PAGES)
def test_lines_of_the_terminal_can_be_typed(word: str) -> None:
    for line in sources()[word].splitlines():
        if line.startswith("facelens ") and "--help" not in line:
            parser().parse_args(shlex.split(line)[1:])  # ends the test where it does not know a word


# -- terms


def classes() -> dict[str, set[str]]:
    """Classes of the views with what they keep under a name."""
    found: dict[str, set[str]] = {}
    for file in VIEWS.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef):
                stored = {
                    one.attr
                    for one in ast.walk(node)
                    if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Store)
                }
                made = {one.name for one in node.body if isinstance(one, ast.FunctionDef)}
                found.setdefault(node.name, set()).update(stored | made)
    return found


def test_terms_are_about_widgets_that_there_are() -> None:
    known = classes()
    for name in guide.terms():
        owner, _, attribute = name.partition(":")[0].partition(".")
        assert owner in known, name
        assert not attribute or attribute in known[owner], name


def test_no_widget_is_explained_twice() -> None:
    all_names = [name for page in guide.pages() for section in page.sections for name in section.on]
    assert len(all_names) == len(set(all_names)) == len(guide.terms())


@pytest.mark.parametrize("section", sorted({*guide.terms().values()}, key=lambda one: (one.page, one.anchor)))
def test_a_term_fits_on_a_card(section: guide.Section) -> None:
    assert guide.page(section.page).section(section.anchor) == section
    assert section.title and 20 < len(section.summary) < 400
    assert not set("*`{}[]") & set(section.summary.replace("[ and ]", "")), "a card shows plain words"
    assert all(len(line) <= 66 for line in section.formula.splitlines())


COVERED = {
    "VerificationPage.roc": "TAR(t)", "PointsTable": "FAR(t) <= x", "VerificationPage.det": "probit",
    "SummaryTable:EER": "(FAR + FRR) / 2", "IdentificationPage.cmc": "CMC(r)", "IdentificationPage.open": "FPIR(t)",
    "RetrievalPage.means:MAP@R": "1/R sum", "VarianceChart": "1 - |mean|^2", "RiskChart": "AURC",
    "GainRow": "relative error", "Quadrants": "nearer than anybody else", "PartFaces": "-log s_k",
    "Ballots": "log(v_i,k + v_j,k)", "PartCorrelation": "Pearson's r", "Specialists": "rank_k = 1",
    "LearnerTable": "Recall@k", "LearnerTable.table:correlation": "|r_ab|", "PlanExplorer:plan": "sum_ij F_ij D_ij",
    "PlanExplorer:flow": "argmax_j F_ij", "MatchControls.weights:uniform": "1 / P",
    "MatchControls.weights:apc": "mean of the other", "MatchControls.weights:sc distance": "sum_j D_ij",
    "MatchControls.weights:lmk": "landmarks in cell", "MatchControls.weights:cc": "embedding of the other",
    "RegionLedger": "share_i,r", "MatchControls.alpha": "alpha EMD + (1 - alpha) (1 - cosine)",
    "CrossMatrix": "TPIR", "GainChart": "|A(upper) - A(old)|", "SameClassView": "2 - 2 mean cosine",
    "FlipCards": "same FAR", "BackfillChart": "flip risk", "ProjectionPanel.map": "t-SNE",
    "ProjectionControls.other": "s Q R + t", "DirectionDiagram": "T21(f2)", "EvaluationControls.method": "w[c] w[d]",
}  # fmt: skip


@pytest.mark.parametrize("name", COVERED)
def test_what_the_papers_print_has_its_formula(name: str) -> None:
    section = guide.terms()[name]
    assert COVERED[name] in section.formula
    if section.page in PAPERS:
        assert section.reference


def test_what_is_ours_is_not_said_to_be_a_papers() -> None:
    for name in ("FlipCards", "BackfillChart", "Quadrants", "RegionLedger", "Disagreement", "WhyNot"):
        assert guide.terms()[name].reference.startswith("none"), name


def test_weights_and_solvers_of_the_plan_are_all_explained() -> None:
    from facelens.analyses.plan import PATCH_WEIGHTS
    from facelens.views.evaluation_controls import CONVENTIONS

    for kind in PATCH_WEIGHTS:
        assert f"MatchControls.weights:{kind}" in guide.terms()
    for one in CONVENTIONS:
        assert f"EvaluationControls.conventions:{one.field}" in guide.terms()


# -- parsing and searching


def test_a_section_gives_its_first_words_formula_and_reference() -> None:
    text = "# T\n\nAbout.\n\n## One\n<!-- on: A, B.c:d -->\n\nFirst `x` **y** [z](match.md).\nMore.\n\nSecond.\n\n"
    page = guide.parse("start", text + "```\nfacelens doctor F\n```\n\n```\na = b\n\nc\n```\n\nReference: Who, 1999.\n")
    one = page.sections[1]
    assert page.summary == "About." and one.on == ("A", "B.c:d") and one.anchor == "one"
    assert one.summary == "First x y z. More." and one.formula == "a = b\n\nc" and one.reference == "Who, 1999."


def test_a_heading_inside_a_code_block_is_none() -> None:
    page = guide.parse("start", "# T\n\nAbout.\n\n```\n# no heading\n## nor this\n```\n")
    assert len(page.sections) == 1


def test_a_page_without_title_is_refused() -> None:
    with pytest.raises(FaceLensError):
        guide.parse("x", "no title\n")


def test_a_page_that_is_not_there_is_an_error_with_a_hint(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(resources, "guide", lambda: tmp_path)
    guide.page.cache_clear()
    try:
        with pytest.raises(FaceLensError) as raised:
            guide.page("match")
        assert raised.value.hint
    finally:
        guide.page.cache_clear()


def test_search_finds_all_words_and_titles_first() -> None:
    hits = guide.search("flow picture")
    assert (hits[0].section.page, hits[0].section.anchor) == ("match", "flow-picture")
    for hit in guide.search("threshold impostor"):
        said = f"{guide.page(hit.section.page).title} {hit.section.title} {hit.section.text}".lower()
        assert "threshold" in said and "impostor" in said
    hits = guide.search("procrustes")
    assert hits and all("procrustes" in f"{hit.context} {hit.section.title}".lower() for hit in hits)
    assert guide.search("   ") == [] and guide.search("qqqzzz") == []


def test_search_reads_what_the_user_reads() -> None:
    assert any("Ctrl+R" in hit.context for hit in guide.search("ctrl+r"))
    assert not any("<!--" in hit.context or "|" in hit.context for hit in guide.search("pictures"))
