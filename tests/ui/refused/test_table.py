"""The table of refused requests keeps its selection and its place while it grows."""

from __future__ import annotations

from PySide6.QtCore import QPersistentModelIndex
from PySide6.QtWidgets import QApplication

from app.core.model import Refusal
from app.ui.refused.page import METHOD, REASON, SOURCE, TARGET, RefusedModel, columns
from app.ui.theme.theme import Theme


def refusal(number: int) -> Refusal:
    return Refusal(at=number, source_address="127.0.0.1", source_port=1, status=404, reason=f"reason {number}")


class TestRefusedModel:
    def test_new_rows_come_on_top_and_a_selection_stays_with_its_row(self, qapp: QApplication) -> None:
        model = RefusedModel(columns(Theme(), lambda refusal: None))
        rows = [refusal(3), refusal(2), refusal(1)]
        model.show_newest(rows)
        kept = QPersistentModelIndex(model.index(1, REASON))
        rows = [refusal(5), refusal(4), *rows]
        model.show_newest(rows)
        assert [model.record(row).at for row in range(model.rowCount())] == [5, 4, 3, 2, 1]
        assert kept.data() == "reason 2"
        assert kept.row() == 3

    def test_old_rows_fall_off_and_a_cleared_list_empties(self, qapp: QApplication) -> None:
        model = RefusedModel(columns(Theme(), lambda refusal: None))
        rows = [refusal(number) for number in range(1000, 0, -1)]
        model.show_newest(rows)
        rows = [refusal(1001), *rows[:-1]]
        model.show_newest(rows)
        assert model.rowCount() == 1000
        assert model.record(0).at == 1001
        assert model.record(999).at == 2
        model.show_newest([])
        assert model.rowCount() == 0

    def test_all_new_rows_replace_all_old_ones(self, qapp: QApplication) -> None:
        model = RefusedModel(columns(Theme(), lambda refusal: None))
        model.show_newest([refusal(2), refusal(1)])
        model.show_newest([refusal(9)])
        assert [model.record(row).at for row in range(model.rowCount())] == [9]

    def test_cells_are_one_plain_line(self, qapp: QApplication) -> None:
        model = RefusedModel(columns(Theme(), lambda refusal: None))
        broken = Refusal(at=1, source_address="::1", source_port=5, status=400, reason="<b>bad</b>\nline")
        model.show_newest([broken])
        assert model.columnCount() == SOURCE + 1
        assert model.index(0, REASON).data() == "<b>bad</b> line"
        assert model.index(0, METHOD).data() == model.index(0, TARGET).data() == "—"
