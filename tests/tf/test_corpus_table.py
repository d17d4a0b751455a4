"""The table over the corpus: it runs as it is, and tells what opens, what is copied and what is refused."""

from __future__ import annotations

from tools.corpus_table import main


def test_a_row_says_what_opens_what_is_equal_and_what_is_refused(corpus, capsys):
    ids = ["dl4j_simple_cond", "tf_g2m_const_values", "samsung_customop", "tf_g2m_switch_n"]
    assert all(corpus.path(id).exists() for id in ids)
    assert main(ids) == 0
    rows = [[cell.strip() for cell in line.split("|")[1:-2]] for line in capsys.readouterr().out.splitlines()[2:6]]
    assert [row[0] for row in rows] == ids
    equal, silent, unknown, closed = (row[2:] for row in rows)
    assert equal[:6] == ["opened", "equal", "equal", "", "", "43 to 43 ops"]
    assert silent[:2] == ["opened", "as predicted, no numbers"]
    assert unknown[0] == "opened"
    assert "refused: the result would contain 1 op of a type that TensorFlow does not know" in unknown[1]
    assert "is not an op name that TensorFlow accepts" in closed[0]


def test_a_graph_that_takes_too_long_is_left_and_counted(corpus, capsys):
    assert main(["dl4j_simple_cond", "--within", "0"]) == 0
    row, _, last = capsys.readouterr().out.splitlines()[2:]
    assert row.count("not within its time") >= 10
    assert last == "0 failed, 1 not done within 0 s"
