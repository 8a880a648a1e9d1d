"""Assessment, comparison and the policy gate, which combine the measures, attacks and mechanisms of the other rooms.

The room can also be called as a function: `unveil.assess(data)` is `unveil.assess.assessment.assess`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from unveil.doors import call_as, lazily

call_as(__name__, "assessment", "assess")

if TYPE_CHECKING:
    from unveil.assess.arx_import import import_arx
    from unveil.assess.assessment import Assessment, assess
    from unveil.assess.catalogue import records
    from unveil.assess.comparison import Comparison, compare
    from unveil.assess.composition import Composition, compose
    from unveil.assess.evidence import Evidence, Evidenced, read_files
    from unveil.assess.init import Start, start_project
    from unveil.assess.policy.check import check, policy_of
    from unveil.assess.policy.junit import junit
    from unveil.assess.policy.pages import sheet, title
    from unveil.assess.policy.verdict import Verdict
    from unveil.assess.policy.waivers import Waiver, read_waivers
    from unveil.assess.proposals import ColumnProposal
    from unveil.assess.rates import Measure, attribute_rate
    from unveil.assess.release_figures import LOSSES, PRIVACY
    from unveil.assess.tradeoff import TradeOff, trade_off
else:
    __getattr__ = lazily(
        __name__,
        {
            "arx_import": ("import_arx",),
            "assessment": ("Assessment", "assess"),
            "catalogue": ("records",),
            "comparison": ("Comparison", "compare"),
            "composition": ("Composition", "compose"),
            "evidence": ("Evidence", "Evidenced", "read_files"),
            "init": ("Start", "start_project"),
            "policy.check": ("check", "policy_of"),
            "policy.junit": ("junit",),
            "policy.pages": ("sheet", "title"),
            "policy.verdict": ("Verdict",),
            "policy.waivers": ("Waiver", "read_waivers"),
            "proposals": ("ColumnProposal",),
            "rates": ("Measure", "attribute_rate"),
            "release_figures": ("LOSSES", "PRIVACY"),
            "tradeoff": ("TradeOff", "trade_off"),
        },
    )
