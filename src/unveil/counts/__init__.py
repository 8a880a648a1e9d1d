"""How often does each combination of values occur? The joint count table, from which every measure follows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unveil.doors import lazily

if TYPE_CHECKING:
    from unveil.counts.agreement import BestOriginals, RecordCells, bits_of, patterns_of
    from unveil.counts.amounts import Amounts, amounts_of, numbers_of, ranked
    from unveil.counts.expiry import ByNumber, ByTime, Expiry, Never, hold_to_limit
    from unveil.counts.grouping import Codes, group, group_sums, group_sums_each, places_among, rows_alone, summed, tally
    from unveil.counts.guessing import best_guess
    from unveil.counts.minimal_uniques import MOST_COLUMNS, MinimalUniques, find_minimal_uniques
    from unveil.counts.owners import Owners
    from unveil.counts.refine import Refinement, Refiner, largest_subsets, subsets_up_to
    from unveil.counts.table import (
        Classes,
        Column,
        Counts,
        Crossing,
        Pairs,
        Split,
        coded_each,
        count_each,
        count_table,
        split_each,
    )
    from unveil.counts.window import LARGEST_TABLE, MovingCounts
else:
    __getattr__ = lazily(
        __name__,
        {
            "agreement": ("BestOriginals", "RecordCells", "bits_of", "patterns_of"),
            "amounts": ("Amounts", "amounts_of", "numbers_of", "ranked"),
            "expiry": ("ByNumber", "ByTime", "Expiry", "Never", "hold_to_limit"),
            "grouping": ("Codes", "group", "group_sums", "group_sums_each", "places_among", "rows_alone", "summed", "tally"),
            "guessing": ("best_guess",),
            "minimal_uniques": ("MOST_COLUMNS", "MinimalUniques", "find_minimal_uniques"),
            "owners": ("Owners",),
            "refine": ("Refinement", "Refiner", "largest_subsets", "subsets_up_to"),
            "table": (
                "Classes",
                "Column",
                "Counts",
                "Crossing",
                "Pairs",
                "Split",
                "coded_each",
                "count_each",
                "count_table",
                "split_each",
            ),
            "window": ("LARGEST_TABLE", "MovingCounts"),
        },
    )
