"""The contents of a .deid file: columns, hierarchies, requirements and the selection of records, as ARX names them.

A project of ARX is a ZIP archive: `project.xml` describes the format of its text files, `input/definition.xml` the columns, and
`input/config.xml` the requirements; `input/hierarchies` has a file for each hierarchy, and `data/input.csv` the records. The
selection of records, the way in which the objective combines attributes, and the size of the population are only in
`input/config.dat`, which Java wrote.
"""

from __future__ import annotations

import csv
import io
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from unveil.errors import DataNotFoundError, ProjectError, is_unicode, reason_of, shown
from unveil.partitions import Hierarchy, not_there
from unveil.project.arx.java_stream import JavaObject, JavaStreamError, reachable, read_objects

__all__ = ["ArxArchive", "ArxColumn", "read_archive"]

_DATA = "data/input.csv"
_LARGEST = 1 << 28
"""A description of more bytes than this cannot be genuine."""


@dataclass(frozen=True, slots=True)
class ArxColumn:
    """A column as ARX describes it."""

    name: str
    role: str
    kind: str
    lowest: int | None = None
    highest: int | None = None
    microaggregated: str | None = None
    response: bool = False
    order: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class ArxArchive:
    """The contents of a project of ARX.

    Attributes
    ----------
    path, version, name
        The file, the version of ARX that wrote it, and the name of the project.
    separator
        The separator between the fields of its text files.
    columns, hierarchies
        The columns in their order, and the hierarchies by column.
    criteria, metric, suppression, weights
        The requirements and the quality model in ARX's words, the share that may be suppressed, and the attributes' weights.
    joined, factor
        How the quality model combines attributes, in ARX's words, and its factor between generalisation and suppression; None:
        not stated.
    game, significance
        The publisher's benefit and loss, and the gain and cost of an attack; the significance of k-map by an estimator.
    population
        The number of people of whom the data is a sample; None: not stated.
    selected
        The positions of the selected records; None: all of them.
    unread
        The reason why the part written by Java could not be read; None: it was read.
    """

    path: Path
    version: str
    name: str
    separator: str
    columns: tuple[ArxColumn, ...]
    hierarchies: dict[str, Hierarchy]
    criteria: tuple[str, ...]
    metric: str
    suppression: float
    weights: dict[str, float] = field(default_factory=dict)
    joined: str | None = None
    factor: float | None = None
    game: tuple[float, float, float, float] | None = None
    significance: float | None = None
    population: int | None = None
    selected: frozenset[int] | None = None
    unread: str | None = None

    def records(self, *, selected: bool = True) -> Iterator[list[str]]:
        """Yield the header and the records, either the selected ones or all."""
        with _reading(self.path), zipfile.ZipFile(self.path) as archive, archive.open(_DATA) as raw:
            rows = csv.reader(io.TextIOWrapper(raw, "utf-8-sig", newline=""), delimiter=self.separator)
            header = next(rows, [])
            yield header
            for place, row in enumerate(rows):
                if row and len(row) != len(header):
                    raise ProjectError(
                        f"{self.path}: record {place + 1:,} has {len(row)} fields, and the header {len(header)}; "
                        "save it in ARX once more."
                    )
                if not selected or self.selected is None or place in self.selected:
                    yield row


def read_archive(path: Path) -> ArxArchive:
    """Read a .deid file, without its records.

    Raises
    ------
    DataNotFoundError
        If it does not exist.
    ProjectError
        If it is not a project of ARX, or is damaged.
    """
    if "\0" in str(path) or not is_unicode(path):
        raise ProjectError(f"{shown(path)}: the file cannot be read: no file can have this name.")
    with _reading(path), zipfile.ZipFile(path) as archive:
        return _archive(path, archive)


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Report problems with a file as errors of this project."""
    try:
        yield
    except FileNotFoundError:
        raise DataNotFoundError(not_there(path)) from None
    except KeyError:
        raise ProjectError(f"{path}: this is not a project of ARX with data and settings; save it in ARX once more.") from None
    except (zipfile.BadZipFile, zlib.error, ET.ParseError, UnicodeError, csv.Error, EOFError, NotImplementedError, RuntimeError):
        raise ProjectError(f"{path}: this is not a project of ARX, or the file is damaged.") from None
    except OSError as problem:
        raise ProjectError(f"{shown(path)}: the file cannot be read: {reason_of(problem)}.") from None


def _archive(path: Path, archive: zipfile.ZipFile) -> ArxArchive:
    settings, config = _tree(path, archive, "project.xml"), _tree(path, archive, "input/config.xml")
    definition = _tree(path, archive, "input/definition.xml")
    archive.getinfo(_DATA)
    separator = (settings.findtext("separator") or ";")[:1]
    columns = tuple(_column(one) for one in definition)
    own = _own_settings(archive)
    return ArxArchive(
        path,
        _tree(path, archive, "metadata.xml").findtext("version") or "unknown",
        (settings.findtext("name") or "").strip(),
        separator,
        columns,
        {one.findtext("name", ""): _hierarchy(archive, one, separator) for one in definition if one.findtext("ref")},
        tuple((one.text or "").strip() for one in config.iterfind("criteria/criterion")),
        (config.findtext("metric") or "").strip(),
        _number(config.findtext("relativeMaxOutliers"), 0.0),
        {
            one.findtext("attribute", ""): _number(one.findtext("weight"), 0.0)
            for one in config.iterfind("attributeWeights/attributeWeight")
        },
        **own,
    )


def _tree(path: Path, archive: zipfile.ZipFile, name: str) -> ET.Element:
    content = _content(archive, name)
    if b"<!DOCTYPE" in content or b"<!ENTITY" in content:  # ARX writes none, and they can make a small file a huge one
        raise ProjectError(f"{path}: {name} declares entities, which no project of ARX does.")
    return ET.fromstring(content)  # noqa: S314 - without entities


def _content(archive: zipfile.ZipFile, name: str) -> bytes:
    if archive.getinfo(name).file_size > _LARGEST:
        raise ProjectError(f"{archive.filename}: {name} is too large to be settings of a project.")
    return archive.read(name)


def _column(one: ET.Element) -> ArxColumn:
    return ArxColumn(
        one.findtext("name", ""),
        one.findtext("type", ""),
        one.findtext("datatype", ""),
        _level(one.findtext("min")),
        _level(one.findtext("max")),
        one.findtext("microaggregationFunction"),
        any(child.tag.casefold().startswith("response") and child.text == "true" for child in one),
        tuple((one.findtext("format") or "").split("\n"))
        if one.findtext("datatype") == "Ordinal" and one.findtext("format")
        else (),
    )


def _level(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdecimal() else None


def _number(text: str | None, default: float) -> float:
    try:
        return float(text) if text is not None else default
    except ValueError:
        return default


def _hierarchy(archive: zipfile.ZipFile, one: ET.Element, separator: str) -> Hierarchy:
    text = _content(archive, f"input/{one.findtext('ref')}").decode("utf-8-sig")
    rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator) if row]
    return Hierarchy(one.findtext("name", ""), rows)


def _own_settings(archive: zipfile.ZipFile) -> dict[str, Any]:
    """Return the settings that only the file written by Java has: the combination of attributes, population and selection."""
    try:
        objects = [one for value in read_objects(_content(archive, "input/config.dat")) for one in reachable(value)]
    except (KeyError, JavaStreamError) as problem:
        return {"unread": "it is not there" if isinstance(problem, KeyError) else str(problem)}
    settings = next((one for one in objects if one.name.endswith("ModelConfiguration")), None)
    subset = settings.fields.get("researchSubset") if settings is not None else None
    metrics = [one.fields for one in objects if ".metric." in one.name]
    joined = [fields["function"] for fields in metrics if isinstance(fields.get("function"), str)]
    factors = [_boxed(fields.get("gsFactor")) for fields in metrics if not isinstance(fields.get("defaultMetric"), JavaObject)]
    people = [_boxed(one.fields.get("populationSize")) for one in objects if one.name.endswith("ARXPopulationModel")]
    games = [_game(one) for one in objects if one.name.endswith("ARXCostBenefitConfiguration")]
    levels = [_boxed(one.fields.get("significanceLevel")) for one in objects if one.name.endswith("criteria.KMap")]
    return {
        "joined": next(iter(joined), None),
        "factor": next((one for one in factors if one is not None), None),
        "game": next((one for one in games if one is not None), None),
        "significance": next((one for one in levels if one is not None and one >= 0.0), None),
        "population": next((int(number) for number in people if number), None),
        "selected": _selected(subset) if isinstance(subset, JavaObject) else None,
    }


def _boxed(value: Any) -> float | None:
    number = value.fields.get("value") if isinstance(value, JavaObject) else value
    return number if isinstance(number, int | float) and not isinstance(number, bool) else None


def _game(costs: JavaObject) -> tuple[float, float, float, float] | None:
    benefit, loss, gain, cost = (
        _boxed(costs.fields.get(name)) for name in ("publisherBenefit", "publisherLoss", "adversaryGain", "adversaryCost")
    )
    return None if benefit is None or loss is None or gain is None or cost is None else (benefit, loss, gain, cost)


def _selected(subset: JavaObject) -> frozenset[int] | None:
    """Return the positions whose bits are set; None if all are."""
    words, length = subset.fields.get("array"), subset.fields.get("length")
    if not isinstance(words, list) or not isinstance(length, int) or subset.fields.get("size") == length:
        return None
    return frozenset(place for place in range(length) if place >> 6 < len(words) and words[place >> 6] >> (place & 63) & 1)
