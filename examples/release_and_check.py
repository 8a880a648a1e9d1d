"""Publish a file: generalise it until a policy is met, attack the result as an intruder would, and keep the evidence."""

import unveil
from unveil import report
from unveil.models import KAnonymity, TCloseness

DATA = "adult"  # the path of your file
KEY = ["age", "sex", "race"]
SENSITIVE = "occupation"

release = unveil.anonymize(DATA, KEY, [KAnonymity(10), TCloseness(SENSITIVE, 0.3)], suppression=0.05)
release.write("release.csv")
release.write_link("private-link.csv")  # says which record is which: keep it to yourself
print(f"Generalised to levels {dict(release.transformation)}; {release.suppressed} records are suppressed.")

attack = unveil.attack(DATA, "release.csv", key=KEY, sensitive=SENSITIVE, link="private-link.csv", link_records=False)
print(f"Risk of the identity attack: {attack.to_dict()['global']['risk']['identity']:.2f}")

verdict = unveil.check("release.csv", {"k_anonymity": 10, "prosecutor_average": 0.05}, key=KEY, sensitive=SENSITIVE)
report.write(verdict, "verdict.json")
print(f"The policy is {verdict.status}.")
