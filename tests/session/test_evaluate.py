"""The command: facelens evaluate."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from facelens.__main__ import main
from facelens.analyses.plan import EMPTY, NMI_MEANS, OPEN_RULES, PARTS, R_MODES, RULES
from tests.session.evaluated import World


def test_the_command(world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outs = {kind: tmp_path / f"out.{kind}" for kind in ("json", "csv", "latex", "policy")}
    files = [word for kind, path in outs.items() for word in (f"--{kind}", str(path))]
    words = ["evaluate", str(world.old), "--compare", str(world.new), "--far", "1e-1", "2e-2", "--resamples", "20"]
    assert main([*words, *files, "--policy-far", "0.1", "--rule", "nist", "--nmi", "geometric"]) == 0
    said = capsys.readouterr().out
    assert "rule nist" in said and "NMI (geometric)" in said and "Model B: new & better" in said and "B minus A" in said
    assert all(path.stat().st_size for path in outs.values())
    assert json.loads(outs["json"].read_text())["plan"]["fars"] == [0.1, 0.02]
    assert (
        main(["evaluate", str(world.old), "--query", str(world.new), "--only", "verification", "--resamples", "0"]) == 0
    )
    said = capsys.readouterr().out
    assert (
        "new & better in the gallery of old net_1" in said and "Retrieval" not in said and "without intervals" in said
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "Nothing to evaluate"),
        (["x" * 8], "There is no store"),
        (["OLD", "--query", "NEW", "--compare", "NEW"], "cannot be given together"),
        (["OLD", "--model", "net.pt"], "in place of STORE"),
        (["--model", "net.pt"], "in place of STORE"),
        (["--gallery", "g", "--query", "NEW", "--model", "net.pt", "net.pt"], "in place of STORE"),
        (["OLD", "--query-gallery", "g"], "without --query"),
    ],
)
def test_wrong_words(world: World, capsys: pytest.CaptureFixture[str], words: list[str], said: str) -> None:
    places = {"OLD": str(world.old), "NEW": str(world.new)}
    assert main(["evaluate", *(places.get(word, word) for word in words)]) == 1
    assert said in capsys.readouterr().err


def test_the_command_knows_the_words_of_the_analyses(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["evaluate", "--help"])
    said = capsys.readouterr().out.replace("\n", "").replace(" ", "")
    for known in (RULES, OPEN_RULES, R_MODES, NMI_MEANS, EMPTY, PARTS):
        assert "{" + ",".join(known) + "}" in said
    with pytest.raises(SystemExit):
        main(["evaluate", "x", "--far", "7"])
