"""The choice of a protection: lattice search, Mondrian, local recoding and suppression, guided by the Discrimination Rate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unveil.doors import lazily

if TYPE_CHECKING:
    from unveil.search.hierarchies import HierarchyReport, build_hierarchy, check_hierarchy, propose_hierarchy
    from unveil.search.lattice.applied import recoded
    from unveil.search.lattice.frontier import Frontier, Question, frontier
    from unveil.search.lattice.generalisation import Choice, Generalisation, Lattice, generalisation_of, notes_on, stated_settings
    from unveil.search.lattice.objectives import JOINED_OBJECTIVES, OBJECTIVES, Candidate
    from unveil.search.lattice.question import (
        further_columns,
        question_of,
        thresholds_not_met,
        thresholds_of,
        uncovered_levels,
        undefined_figures,
    )
    from unveil.search.lattice.undominated import FrontPoint
    from unveil.search.nesting import nested_places
    from unveil.search.request import (
        Request,
        Wanted,
        given_hierarchies,
        hierarchies_of,
        keys_of,
        records_of,
        request_of,
        require_apart,
        require_person_apart,
        require_persons,
        wanted_of,
    )
    from unveil.search.splitting.labelling import Recoding
    from unveil.search.splitting.local_recoding import recode_locally
    from unveil.search.splitting.mondrian import groups_by_mondrian, mondrian
    from unveil.search.splitting.subtrees import generalize_subtrees
    from unveil.search.suppression.local import suppress_locally
else:
    __getattr__ = lazily(
        __name__,
        {
            "hierarchies": ("HierarchyReport", "build_hierarchy", "check_hierarchy", "propose_hierarchy"),
            "lattice.applied": ("recoded",),
            "lattice.frontier": ("Frontier", "Question", "frontier"),
            "lattice.generalisation": ("Choice", "Generalisation", "Lattice", "generalisation_of", "notes_on", "stated_settings"),
            "lattice.objectives": ("Candidate", "JOINED_OBJECTIVES", "OBJECTIVES"),
            "lattice.question": (
                "further_columns",
                "question_of",
                "thresholds_not_met",
                "thresholds_of",
                "uncovered_levels",
                "undefined_figures",
            ),
            "lattice.undominated": ("FrontPoint",),
            "nesting": ("nested_places",),
            "request": (
                "Request",
                "Wanted",
                "given_hierarchies",
                "hierarchies_of",
                "keys_of",
                "records_of",
                "request_of",
                "require_apart",
                "require_person_apart",
                "require_persons",
                "wanted_of",
            ),
            "splitting.labelling": ("Recoding",),
            "splitting.local_recoding": ("recode_locally",),
            "splitting.mondrian": ("groups_by_mondrian", "mondrian"),
            "splitting.subtrees": ("generalize_subtrees",),
            "suppression.local": ("suppress_locally",),
        },
    )
