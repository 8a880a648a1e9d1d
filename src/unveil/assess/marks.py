"""Which columns are sensitive? By their names in English, French, German and Spanish, and by their values.

The special categories are those of Article 9 of the GDPR (racial or ethnic origin, political opinions, religious or
philosophical beliefs, trade union membership, genetic data, biometric data, health, sex life or sexual orientation), and
criminal convictions and offences those of Article 10. Money, the end of employment and results of tests are outside these
lists, yet people expect them to be kept confidential. A mark is a proposal with its evidence: the user decides what is
sensitive.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, TypeAlias

from unveil.formats import counted
from unveil.naming import LITTLE_WORDS, words_of

__all__ = ["SensitiveMark", "sensitive_mark"]

Law: TypeAlias = Literal["GDPR article 9", "GDPR article 10", "outside the GDPR's lists"]


@dataclass(frozen=True, slots=True)
class _Subject:
    """A subject of columns: words of their names, words of their values, and whether others can see it in a person."""

    about: str
    law: Law
    names: str
    values: str = ""
    visible: bool = False
    form: str = ""


_SUBJECTS = (
    _Subject(
        "ethnic origin",
        "GDPR article 9",
        "race, racial, ethnic, ethnicity, hispanic, latino, skin color, skin colour, tribe, caste, ancestry, "
        "origine ethnique, ethnie, origine raciale, herkunft, ethnische herkunft, migrationshintergrund, hautfarbe, raza, "
        "etnia, origen etnico, razza, indigenous, indigena",
        "white, black, asian, hispanic, latino, latina, caucasian, african american, native american, pacific islander, "
        "amer indian eskimo, asian pac islander, mixed race, two or more races, roma, arab, blanc, noir, asiatique, "
        "weiss, schwarz, asiatisch, blanco, negro, mestizo, indigena, asiatico, gitano",
        visible=True,
    ),
    _Subject(
        "political opinions",
        "GDPR article 9",
        "politic, political, politics, political party, vote, voted, ballot, parti politique, opinion politique, "
        "politique, partei, politisch, wahl, gewahlte partei, partido, partido politico, politica, voto, intencion voto, "
        "left right",
        "democrat, republican, labour, conservative, liberal democrat, green party, socialist, communist, cdu, csu, spd, "
        "fdp, afd, grune, die linke, psoe, podemos, vox, ciudadanos, rassemblement national, parti socialiste, "
        "les republicains, far left, far right, left wing, right wing",
    ),
    _Subject(
        "religion or belief",
        "GDPR article 9",
        "religion, religious, belief, faith, church, denomination, confession, croyance, culte, glaube, konfession, "
        "kirche, religionszugehorigkeit, kirchensteuer, creencia, iglesia, culto, worship, parish",
        "catholic, roman catholic, protestant, muslim, islam, jewish, judaism, hindu, buddhist, sikh, orthodox, atheist, "
        "agnostic, christian, mormon, catholique, musulman, juif, juive, athee, chretien, katholisch, evangelisch, "
        "muslimisch, judisch, konfessionslos, catolico, judio, ateo, cristiano, evangelico",
    ),
    _Subject(
        "union membership",
        "GDPR article 9",
        "union, trade union, union member, labor union, labour union, syndicat, syndique, adhesion syndicale, "
        "gewerkschaft, gewerkschaftsmitglied, sindicato, sindical, afiliacion sindical, works council, betriebsrat",
    ),
    _Subject(
        "genetic data",
        "GDPR article 9",
        "genetic, genome, genotype, dna, rna, allele, snp, mutation, brca, genetique, adn, genetisch, erbgut, genetico, "
        "genoma, genotipo, genotyp",
        form=r"rs\d{3,}|[ACGT]{8,}|[ACGT]/[ACGT]",
    ),
    _Subject(
        "biometric data",
        "GDPR article 9",
        "biometric, fingerprint, iris scan, retina, faceprint, face embedding, voiceprint, biometrie, empreinte digitale, "
        "fingerabdruck, huella dactilar, biometrico, gait",
    ),
    _Subject(
        "health",
        "GDPR article 9",
        "health, disease, diagnosis, diagnoses, diagnose, diagnostic, diagnostico, icd, illness, sickness, sick, "
        "condition, treatment, therapy, medication, medicine, drug, dose, symptom, hiv, disability, disabled, handicap, "
        "pregnancy, pregnant, surgery, mental, depression, anxiety, allergy, blood, blood pressure, glucose, cholesterol, "
        "bmi, smoker, smoking, alcohol, cancer, tumor, tumour, diabetes, hypertension, vaccination, vaccine, "
        "hospitalization, admission, comorbidity, maladie, sante, etat sante, traitement, medicament, grossesse, "
        "invalidite, arret maladie, krankheit, gesundheit, behandlung, medikament, schwangerschaft, behinderung, "
        "krankenstand, blutgruppe, enfermedad, salud, tratamiento, medicamento, embarazo, discapacidad, baja medica, "
        "malattia, salute, doenca, saude, ziekte, gezondheid",
        "asthma, diabetes, cancer, flu, influenza, hypertension, depression, hiv, aids, hepatitis, arthritis, pneumonia, "
        "bronchitis, migraine, epilepsy, anxiety, stroke, obesity, anaemia, anemia, copd, covid, heart disease, fracture, "
        "asthme, diabete, grippe, krebs, bluthochdruck, lungenentzundung, asma, gripe, hipertension, depresion, neumonia, "
        "healthy, gastritis, ulcer, dyspepsia",
        form=r"[A-TV-Z]\d\d(?:\.[0-9A-Z]{1,4})?|(?:A|B|AB|O|0)[+-]",
    ),
    _Subject(
        "sex life or sexual orientation",
        "GDPR article 9",
        "sexual, sexuality, sexual orientation, sexual partner, gender identity, transgender, lgbt, orientation sexuelle, "
        "vie sexuelle, sexuelle orientierung, sexualleben, orientacion sexual, vida sexual, contraception, verhutung",
        "heterosexual, homosexual, bisexual, gay, lesbian, straight, asexual, pansexual, queer, heterosexuel, homosexuel, "
        "bisexuel, heterosexuell, homosexuell, bisexuell, schwul, lesbisch, lesbiana",
    ),
    _Subject(
        "criminal convictions",
        "GDPR article 10",
        "crime, criminal, offence, offense, conviction, convicted, arrest, arrested, sentence, prison, jail, felony, "
        "misdemeanor, parole, probation, charge, police record, casier judiciaire, condamnation, infraction, delit, "
        "peine, vorstrafe, straftat, verurteilung, haft, strafe, fuhrungszeugnis, delito, condena, antecedente penal, "
        "carcel, prision, recidivism",
        "theft, burglary, robbery, assault, murder, fraud, felony, misdemeanor, convicted, acquitted, homicide, vol, "
        "agression, diebstahl, betrug, korperverletzung, robo, asalto, homicidio, fraude",
    ),
    _Subject(
        "money",
        "outside the GDPR's lists",
        "income, salary, wage, pay, payment, pay rate, earning, bonus, debt, loan, credit, balance, wealth, asset, tax, "
        "rent, pension, benefit, allowance, insolvency, bankruptcy, mortgage, revenu, salaire, paie, dette, pret, impot, "
        "loyer, retraite, patrimoine, einkommen, gehalt, lohn, schulden, kredit, vermogen, steuer, miete, rente, ingreso, "
        "salario, sueldo, deuda, prestamo, impuesto, alquiler, patrimonio, reddito, stipendio, renda, inkomen",
    ),
    _Subject(
        "end of employment",
        "outside the GDPR's lists",
        "termination, terminated, termd, term reason, dismissal, dismissed, fired, layoff, resignation, reason leaving, "
        "warning, disciplinary, licenciement, demission, fin contrat, motif depart, kundigung, gekundigt, entlassung, "
        "austrittsgrund, abmahnung, despido, despedido, cese, baja laboral, motivo baja, attrition",
        "terminated for cause, voluntarily terminated, involuntary, dismissed, resigned, laid off, licencie, demissionne, "
        "gekundigt, entlassen, despedido, dimitido",
    ),
    _Subject(
        "results and appraisals",
        "outside the GDPR's lists",
        "grade, exam, exam score, test score, test result, result, performance, performance score, perf score, appraisal, "
        "evaluation, rating, review score, satisfaction, engagement, note examen, resultat, notation, noten, "
        "prufungsergebnis, ergebnis, beurteilung, leistung, bewertung, nota, calificacion, resultado, evaluacion, "
        "rendimiento, iq",
        "passed, failed, exceeds, fully meets, needs improvement, pip, unsatisfactory, outstanding, bestanden, "
        "nicht bestanden, admis, ajourne, aprobado, suspenso",
    ),
)
_FEWEST = 2
_SHARE = 0.5
_MOST_VALUES = 200
_OTHER = re.compile(r"\b(?:union station|tax id|credit card|drug store|drugstore|state|blood bank)\b")
"""Names in which a word has another meaning."""


@dataclass(frozen=True, slots=True)
class SensitiveMark:
    """The evidence that a column may be sensitive.

    Attributes
    ----------
    about
        The subject, such as health.
    law
        The law that lists the subject, if any.
    evidence
        The evidence, in words that repeat no value.
    sure
        Whether name or values leave little doubt, and others cannot see it in a person; it is then proposed as sensitive.
    """

    about: str
    law: Law
    evidence: str
    sure: bool

    def in_words(self) -> str:
        """Return the mark in one sentence."""
        where = f"{self.law}: {self.about}" if self.law.startswith("GDPR") else f"{self.about}, {self.law}"
        return f"Sensitive ({where}): {self.evidence}."

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as they are written to JSON."""
        return {"about": self.about, "law": self.law, "evidence": self.evidence, "sure": self.sure}


def sensitive_mark(name: str, values: Sequence[Any]) -> SensitiveMark | None:
    """Return the evidence that a column may be sensitive, from its name or its values; None if there is none.

    Parameters
    ----------
    name
        The column's name.
    values
        Its distinct values.

    Examples
    --------
    >>> sensitive_mark("religion", []).law, sensitive_mark("x1", ["catholic", "muslim", "other"]).about
    ('GDPR article 9', 'religion or belief')
    >>> sensitive_mark("age", [1, 2]) is None
    True
    """
    subjects = [subject for subject in _SUBJECTS if _is_named(name, subject)]
    shown = _shown(values)
    by_value = [(subject, share) for subject in _SUBJECTS if (share := _share(subject, shown)) >= _SHARE]
    if subjects:
        subject = next((one for one in subjects if any(one is other for other, _ in by_value)), subjects[0])
        evidence = f"the column's name says {subject.about}"
        if any(subject is other for other, _ in by_value):
            evidence += ", and so do its values"
        return SensitiveMark(subject.about, subject.law, evidence, not subject.visible)
    if by_value:
        subject, share = max(by_value, key=lambda one: one[1])
        evidence = f"{round(share * len(shown)):,} of {counted(len(shown), 'value')} are words or codes of {subject.about}"
        return SensitiveMark(subject.about, subject.law, evidence, not subject.visible and share > _SHARE)
    return None


def _is_named(name: str, subject: _Subject) -> bool:
    words = " ".join(word for word in words_of(name) if word not in LITTLE_WORDS)
    return bool(_pattern(subject.names).search(words)) and not _OTHER.search(words)


def _shown(values: Sequence[Any]) -> list[str]:
    """Return the values as words without accents; an empty list if the column has many values or holds numbers."""
    if len(values) > _MOST_VALUES:
        return []
    return [text for value in values if isinstance(value, str) and (text := value.strip())]


def _share(subject: _Subject, texts: Sequence[str]) -> float:
    """Return the share of the texts that are words, or codes, of a subject."""
    if len(texts) < _FEWEST:
        return 0.0
    form = re.compile(subject.form) if subject.form else None
    words = _words(subject.values)
    hits = sum(bool((form and form.fullmatch(text)) or " ".join(words_of(text)) in words) for text in texts)
    return hits / len(texts) if hits >= _FEWEST else 0.0


@cache
def _pattern(listing: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(sorted(listing.split(', '), key=len, reverse=True))})(?:s|es|n|en)?\b")


@cache
def _words(listing: str) -> frozenset[str]:
    return frozenset(listing.split(", ")) if listing else frozenset()
