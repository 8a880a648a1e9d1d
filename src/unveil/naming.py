"""Hints in the names of columns, in English, French, German, Spanish, Italian, Portuguese and Dutch.

A name is first split into words (`firstName`, `first_name` and `First-Name` are "first name"; accents are dropped), and a hint
must match whole words: "name" is in "first_name", not in "filename". A plural s is ignored.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from itertools import product

__all__ = ["HINTS", "LITTLE_WORDS", "hints_of", "is_place", "words_of"]

_BOUNDARY = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])")
_SEPARATORS = re.compile(r"[\W_]+")

_PERSON = (
    "patient, patientin, patienten, customer, client, cliente, member, user, usuario, utente, utilisateur, employee, "
    "employe, empleado, funcionario, dipendente, mitarbeiter, medewerker, person, personne, persona, pessoa, persoon, "
    "student, etudiant, eleve, alumno, aluno, studente, leerling, subject, participant, respondent, insured, assure, "
    "asegurado, segurado, assicurato, versicherter, verzekerde, policyholder, citizen, resident, paciente, paziente, "
    "kunde, kunden, klant, mitglied, lid, adherent, salarie, benutzer, gebruiker, contact, taxpayer, voter, donor, "
    "applicant, holder, beneficiary, author, auteur, autor, manager, doctor, physician, medecin, medico, arzt, huisarts, "
    "nurse, teacher, lehrer, owner, spouse, father, mother, husband, wife, child, parent, guardian, witness, tenant, "
    "passenger, driver, guest"
)

HINTS: dict[str, str] = {
    "email": (
        "email, e mail, mail, mailadresse, emailadresse, emailaddress, courriel, correo electronico, correo, "
        "correio eletronico, posta elettronica, emailadres"
    ),
    "phone": (
        "phone, telephone, mobile, cellphone, cell, fax, msisdn, phonenumber, mobilephone, homephone, workphone, telefon, "
        "telefonnummer, handy, handynummer, mobilnummer, rufnummer, mobiltelefon, telefono, movil, celular, telefone, "
        "telemovel, telefoon, telefoonnummer, mobielnummer, gsm, tel, portable, whatsapp, cellulare"
    ),
    "url": "url, uri, website, homepage, webpage, web page, link, profile url, site web, sitio web, weblink",
    "ip-address": "ip, ip address, ipaddress, ipv, ip addr, adresse ip, ip adresse, direccion ip, indirizzo ip, endereco ip",
    "mac-address": "mac, mac address, macaddress, mac addr, bssid, hardware address, ethernet address",
    "device-number": "imei, meid, imsi, iccid, device id, deviceid, udid, idfa, gaid, advertising id, android id",
    "iban": "iban, bank account, bankaccount, account iban, kontonummer, rekeningnummer, compte bancaire, rib, conta bancaria",
    "card-number": (
        "card number, card no, card num, cardnumber, credit card, creditcard, debit card, pan, ccnum, cc number, cc num, "
        "carte bancaire, numero carte, kreditkarte, kreditkartennummer, kartennummer, tarjeta, carta credito, cartao, "
        "creditcardnummer, kaartnummer"
    ),
    "national-number": (
        "ssn, social security, socialsecurity, sin, nino, national insurance, nhs, nhs number, national id, nationalid, "
        "national number, national identifier, identity number, identity card, id card, idcard, personal number, "
        "personal code, tax id, taxid, tax number, tin, itin, nir, numero secu, securite sociale, registre national, "
        "niss, insz, rijksregisternummer, rijksregister, steuer id, steuerid, idnr, steueridentifikationsnummer, "
        "sozialversicherungsnummer, rentenversicherungsnummer, svnr, ahv, avs, ahvnummer, personalausweis, ausweisnummer, "
        "dni, nie, nif, seguridad social, codice fiscale, codicefiscale, cpf, bsn, burgerservicenummer, sofinummer, "
        "personnummer, fodselsnummer, hetu, henkilotunnus, cpr, kennitala, pesel, rodne cislo, cnp, egn, amka, oib, "
        "isikukood, asmens kodas, aadhaar, aadhar, pan, curp, rut, rrn, nric, cedula, cuil, documento identidad, "
        "cartao cidadao, tckn, resident id, citizen id, pps, ppsn, tfn"
    ),
    "birth-date": (
        "dob, birth, birthdate, birthday, birth date, date of birth, dateofbirth, born, naissance, date naissance, ddn, "
        "geburt, geburtsdatum, geburtstag, geb, gebdat, gebdatum, nacimiento, fecha nacimiento, nascita, data nascita, "
        "nascimento, data nascimento, geboorte, geboortedatum"
    ),
    "person-name": (
        "first name, firstname, last name, lastname, middle name, middlename, surname, forename, given name, givenname, "
        "family name, familyname, full name, fullname, maiden name, maidenname, person name, nickname, prenom, "
        "nom famille, nom de famille, nom naissance, nom jeune fille, patronyme, vorname, nachname, familienname, "
        "geburtsname, rufname, kundenname, patientenname, zuname, apellido, nombre completo, nombre pila, primer nombre, "
        "segundo nombre, cognome, nome completo, nominativo, sobrenome, apelido, primeiro nome, ultimo nome, voornaam, "
        "achternaam, familienaam, volledige naam, roepnaam, klantnaam"
    ),
    "some-name": "name, nom, nombre, nome, naam",
    "account-name": (
        "username, user name, login, login name, loginname, userid, screen name, screenname, handle, twitter, instagram, "
        "facebook, skype, identifiant, benutzername, usuario, nombre usuario, nome utente, nome usuario, gebruikersnaam"
    ),
    "postal-address": (
        "address, street, streetaddress, street address, addr, address line, adresse, rue, strasse, hausnummer, "
        "anschrift, wohnort, wohnadresse, direccion, calle, domicilio, indirizzo, via, endereco, rua, morada, logradouro, "
        "adres, straat, straatnaam, huisnummer, woonadres, domicile, residence"
    ),
    "coordinates": (
        "lat, latitude, lon, lng, long, longitude, gps, coord, coordinate, coords, geo, geolocation, geopoint, "
        "breitengrad, langengrad, laengengrad, latitud, longitud, coordenadas, latitudine, longitudine, breedtegraad, "
        "lengtegraad"
    ),
    "free-text": (
        "comment, note, remark, description, feedback, message, review, text, narrative, observation, free text, "
        "freetext, commentaire, remarque, bemerkung, anmerkung, kommentar, notiz, beschreibung, freitext, comentario, "
        "nota, observacion, observaciones, descripcion, osservazione, osservazioni, commento, descrizione, observacao, "
        "observacoes, descricao, opmerking, notitie, toelichting, omschrijving, anamnesis, anamnese, letter, transcript"
    ),
    "id": (
        "id, identifier, uuid, guid, pk, ref, reference, number, no, nr, num, nummer, numero, kennung, matricule, code, "
        "codigo, codice, key, token, hash, serial, serialnumber, identifiant, identificador, identificativo, pseudonym, "
        "sha, md"
    ),
    "person-id": (
        "customerid, patientid, userid, memberid, employeeid, personid, studentid, clientid, subjectid, participantid, "
        "mrn, medical record, record number, kundennummer, patientennummer, personalnummer, mitgliedsnummer, "
        "matrikelnummer, versichertennummer, versicherungsnummer, klantnummer, patientnummer, personeelsnummer, "
        "lidnummer, passport, passeport, reisepass, pasaporte, passaporto, paspoort, paspoortnummer, driver license, "
        "driver licence, driving license, driving licence, drivers license, fuhrerschein, fuehrerschein, permis conduire, "
        "rijbewijs, license plate, licence plate, number plate, kennzeichen, immatriculation, kenteken, targa, vin, "
        "account number, account no, policy number, membership number, ssn hash, email hash, cookie, cookie id"
    ),
    "code": (
        "id, identifier, code, codigo, codice, kennung, kennziffer, matricule, ref, reference, uuid, guid, pk, fips, "
        "insee, siren, siret, nace, naics, isco, sic, icd, atc, iso"
    ),
    "person": _PERSON,
    "postcode": (
        "zip, zipcode, zip code, postcode, post code, postal code, postal, postalcode, plz, postleitzahl, code postal, "
        "codigo postal, cap, cep"
    ),
    "quantity": (
        "amount, price, income, salary, wage, weight, total, cost, revenue, sum, balance, count, quantity, qty, value, "
        "rate, score, percent, percentage, ratio, size, length, height, distance, duration, age, year, population, "
        "turnover, capital, gain, loss, hour, time, timestamp, epoch, montant, prix, revenu, salaire, poids, betrag, "
        "preis, einkommen, gehalt, gewicht, anzahl, summe, importe, precio, ingreso, salario, peso, prezzo, reddito, "
        "stipendio, preco, renda, bedrag, prijs, inkomen, aantal, gewichten"
    ),
    "about": (
        "type, kind, status, flag, count, has, is, length, category, group, class, valid, verified, version, typ, tipo, "
        "opt, optin, consent, format, level, change, changed, missing, art"
    ),
    "thing": (
        "product, company, file, column, table, country, city, town, region, state, province, county, district, street, "
        "school, university, hospital, drug, medicine, brand, shop, store, event, project, course, job, department, dept, "
        "team, organisation, organization, org, business, firm, employer, host, domain, class, field, variable, model, "
        "item, species, plant, disease, test, category, group, type, vendor, supplier, manufacturer, station, road, "
        "scheme, account, app, device, campaign, code, display, title, titel, titre, titulo, titolo, song, film, book, "
        "hotel, restaurant, bank, branch, currency, language, color, colour, system, server, service, sheet, produit, "
        "societe, entreprise, fichier, pays, ville, commune, departement, ecole, produkt, firma, land, stadt, ort, datei, "
        "artikel, schule, verein, producto, empresa, archivo, pais, ciudad, municipio, prodotto, azienda, comune, paese, "
        "citta, provincia, produto, arquivo, cidade, estado, bedrijf, bedrijfsnaam, gemeente, plaats, stad, bestand, "
        "landnaam, zone, area, site, unit, metric, layer"
    ),
    "place": (
        "town, city, village, municipality, county, district, borough, ward, parish, region, state, province, country, "
        "nation, continent, area, canton, territory, place, ville, commune, departement, pays, arrondissement, stadt, "
        "ort, gemeinde, kreis, landkreis, bezirk, bundesland, land, ciudad, pueblo, municipio, provincia, comunidad, "
        "comarca, estado, pais, nuts"
    ),
    "organisation-number": (
        "siren, siret, isbn, issn, ean, gtin, upc, barcode, vat, ust id, tva, iva, btw, abn, acn, cnpj, cif, ein, duns, "
        "lei, isin, orgnr, company number, company id, registration number, product, article, sku, artikelnummer"
    ),
}
"""Words and phrases by the meaning at which they hint, without accents; the last entries state what a column is not."""


def words_of(name: str) -> tuple[str, ...]:
    """Split a column's name into lower-case words without accents.

    Examples
    --------
    >>> words_of("dateOfBirth"), words_of("IP-Address2"), words_of("Straße")
    (('date', 'of', 'birth'), ('ip', 'address', '2'), ('strasse',))
    """
    plain = "".join(sign for sign in unicodedata.normalize("NFKD", name) if not unicodedata.combining(sign))
    return tuple(_SEPARATORS.sub(" ", _BOUNDARY.sub(" ", plain)).casefold().split())


def hints_of(name: str) -> frozenset[str]:
    """Return the keys of `HINTS` at which a column's name hints.

    Examples
    --------
    >>> sorted(hints_of("email"))
    ['email']
    >>> sorted(hints_of("education-num") & {"person-name", "national-number"}), sorted(hints_of("filename"))
    ([], [])
    """
    words = [word for word in words_of(name) if word not in LITTLE_WORDS]
    known = _hints()
    longest = max(map(len, known))
    runs = (words[at : at + size] for at in range(len(words)) for size in range(1, min(longest, len(words) - at) + 1))
    return frozenset(hint for run in runs for phrase in product(*map(_singular, run)) for hint in known.get(phrase, ()))


def is_place(name: str) -> bool:
    """Whether the name of a column suggests a place."""
    hints = hints_of(name)
    return "place" in hints and "person-name" not in hints and "birth-date" not in hints


LITTLE_WORDS = frozenset("of de du des la le les del della di da do dos das der die das van the el los".split())  # noqa: SIM905


@cache
def _hints() -> dict[tuple[str, ...], tuple[str, ...]]:
    """Return the hints of each phrase; a phrase is a tuple of its words."""
    hints: dict[tuple[str, ...], tuple[str, ...]] = {}
    for hint, listing in HINTS.items():
        for text in listing.split(", "):
            phrase = tuple(word for word in text.split() if word not in LITTLE_WORDS)
            hints[phrase] = (*hints.get(phrase, ()), hint)
    return hints


def _singular(word: str) -> tuple[str, ...]:
    """Return the possible forms of a word: the word itself, and the word without a final s."""
    return (word, word[:-1]) if word.endswith("s") else (word,)
