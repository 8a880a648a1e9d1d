"""Bad input: one plain line that names the option, exit code 2, and no option that silently has no effect."""

from __future__ import annotations

import pytest

from unveil.cli import run


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("measure paper-2 --key Age* --k few", "--k takes a whole number (try: unveil measure --help)"),
        ("measure paper-2 --key Age* --k 0", "--k takes a number of at least 1 (try: unveil measure --help)"),
        ("dr paper-2 --key Age* --confidence high", "--confidence takes a number (try: unveil dr --help)"),
        ("app --port 70000", "--port takes a number of at most 65535 (try: unveil app --help)"),
        ("anonymize paper-2 --out release", "the file name 'release' does not end in a release's form; it must be one of: .csv"),
        (
            "table paper-2 --by Disease --rule threshold=3 --zeros keep",
            "--zeros 'keep' is unknown; it is one of: publish, suppress, structural.",
        ),
        ("dr paper-2 --key Age* --interval --max-distinct 9", "--max-distinct does not go with --interval"),
        ("compare thesis-4.2 a=thesis-4.3 --key Age --value Age", "--value goes with --by."),
        ("compare thesis-4.2 a=thesis-4.3 --key Age --same-order --task Aeg", "column 'Aeg' not found; columns are: ZIP, "),
        ("check paper-2 --policy cell-size-5 --key Age* --same-order", "--same-order goes with --original."),
        ("check paper-2 --policy cell-size-5 --key Age* --order Zip=1,2", "--order names column 'Zip'; it takes none here."),
        ("front paper-4 --key Age --sensitive Disease --order Aeg=1,2", "--order names column 'Aeg'; it takes one of: ZIP, "),
        ("table paper-2 --by Disease --figures n", "--figures goes with --audit."),
        ("table paper-2 --by Disease --id Disease", "--id goes with --protect cell-key."),
        ("table paper-2 --by Disease --form wide", "--form 'wide' is unknown; it is one of: long, crosstab."),
        ("table paper-2 --by Disease --rule threshold=3 --protect suppress --solver best", "--solver 'best' is unknown"),
        ("anonymize paper-2 --key Age* --k 2 --delay 10", "--delay goes with --stream."),
        ("hierarchy check some.csv --separator ;", "--separator goes with --data."),
        ("hierarchy show some.csv --text zip", "--text goes with --data."),
        ("hierarchy check .", ".: the file cannot be read: is a directory."),
    ],
)
def test_bad_input_ends_in_one_plain_line(words: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(words.split()) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(f"unveil: {message}")
    assert said.err.count("\n") == 1
