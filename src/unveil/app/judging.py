"""The attack on a release and its verdict, in a job: the gains of an intruder, in short accounts, and the policy's verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unveil.errors import UnveilError
from unveil.formats import counted, noun, people
from unveil.project import Project
from unveil.sources import ReadOptions, open_source
from unveil.study import Study

if TYPE_CHECKING:
    from unveil.assess import Verdict, Waiver
    from unveil.attacks import Attack

__all__ = ["Judged", "Story", "judge", "stories_of"]

_HUNDRED = 100


@dataclass(frozen=True, slots=True)
class Story:
    """The actions of one intruder, and the success rate.

    Attributes
    ----------
    title
        The description of the intruder, in a few words.
    figure
        The success rate: out of a hundred, or as a number of records.
    sentence
        The story.
    risk
        The same from 0 to 1, for a bar.
    """

    title: str
    figure: str
    sentence: str
    risk: float


@dataclass(frozen=True, slots=True)
class Judged:
    """The results of the attacks on a release, and of checking it against the policy of a project."""

    project: Project
    verdict: Verdict
    attack: Attack | None
    problem: str = ""


def judge(data: str, options: ReadOptions, project: Project, release: str, link: str, waivers: Sequence[Waiver]) -> Judged:
    """Attack a release and check it against the project's policy, in a job.

    Parameters
    ----------
    data, options, project
        The arguments for opening the original.
    release, link
        The release, and the private correspondence; empty if it is not known which records correspond.
    waivers
        The signed exceptions.
    """
    from unveil.assess import check
    from unveil.attacks.attack import attack

    study = Study(open_source(data, options), project=project, partial=True)
    paired: dict[str, Any] = {"link": link} if link else {}
    verdict = check(release, project.policy, project=project, original=study, waivers=list(waivers), **paired)
    try:
        attacked = attack(study, Study(release, project=project, partial=True), **paired)
    except UnveilError as problem:
        return Judged(project, verdict, None, str(problem))
    return Judged(project, verdict, attacked)


def stories_of(attacked: Attack) -> list[Story]:
    """Return the gains of the attacks, as short stories."""
    answer = attacked.to_dict()
    known = ", ".join(attacked.made.key)
    stories = [*_linked(answer["linkage"], known), *_alone(answer, known), *_certain(answer, known)]
    return stories + _synthetic(answer)


def _linked(ways: Mapping[str, Any], known: str) -> list[Story]:
    """Return a story of how many people the most successful linkage finds."""
    rates = {name: way for name, way in ways.items() if isinstance(way, Mapping) and way.get("linked") is not None}
    if not rates:
        return []
    name, best = max(rates.items(), key=lambda one: one[1]["linked"])
    bounds, chance = best.get("interval"), best.get("baseline")
    many = noun("persons" if "persons" in best else "records")
    sentence = f"An intruder who knows {known} can find {_of_hundred(best['linked'])} {many} ({name.replace('_', ' ')})."
    if bounds:
        sentence += f" The interval is {_HUNDRED * bounds['low']:.1f} to {_HUNDRED * bounds['high']:.1f}."
    if chance is not None:
        sentence += f" Guessing would find {_HUNDRED * chance:.2g}."
    return [Story("Looks for a person", _of_hundred(best["linked"]), sentence, float(best["linked"]))]


def _alone(answer: Mapping[str, Any], known: str) -> list[Story]:
    """Return a story of how many people are unique in the release."""
    box = answer["identity"]["black_box"]
    if box.get("value") is None:
        return []
    share = float(box["value"])
    sentence = f"The values of {known} reveal {share:.1%} of who is who: 0% singles out nobody, 100% everybody."
    return [Story("Sorts the release", f"{share:.1%}", sentence, share)]


def _certain(answer: Mapping[str, Any], known: str) -> list[Story]:
    """Return stories of how many records, or persons, have a sensitive value that is certain."""
    stories, records = [], max(int(answer["records"]), 1)
    for name, entry in answer["homogeneity"]["by_sensitive"].items():
        certain = entry.get("certain")
        if certain is None:
            continue
        whose = f" of {people(certain['persons'], 'persons')}" if "persons" in certain else ""
        of = f"{counted(certain['records'], 'record')}{whose}" if certain["records"] else "no record"
        sentence = f"Someone who knows {known} can be certain of the {name} of {of}."
        if (gaps := entry["without_value"])["records"] and not gaps["missing_is_sensitive"]:
            sentence += f" {counted(gaps['records'], 'record')} more visibly have no value."
        stories.append(
            Story(f"Wants to learn {name}", f"{certain['records']:,} of {records:,}", sentence, certain["records"] / records)
        )
    return stories


def _synthetic(answer: Mapping[str, Any]) -> list[Story]:
    """Return the stories of attacks that need no correspondence."""
    titles = {"singling_out": "Singles somebody out", "linkability": "Links two halves", "inference": "Guesses a sensitive value"}
    return [
        Story(title, _of_hundred(answer[word]["risk"]), f"{title}: {_of_hundred(answer[word]['risk'])} beyond chance.",
              float(answer[word]["risk"]))
        for word, title in titles.items()
        if isinstance(answer.get(word), Mapping) and answer[word].get("risk") is not None
    ]  # fmt: skip


def _of_hundred(share: float) -> str:
    """Return a share as a number out of a hundred."""
    number = _HUNDRED * share
    return f"{number:.0f} of 100" if number >= 1 or number == 0 else "fewer than 1 of 100"


def written(judged: Judged, folder: Path) -> tuple[Path, Path]:
    """Write the verdict page for the decision maker and the full report for an auditor, and return their paths."""
    from unveil.assess import sheet
    from unveil.report import write, write_view

    return write_view(sheet(judged.verdict), folder / "verdict.html"), write(judged.verdict, folder / "auditor.html")
