"""What does my file give away? A first look: which columns single people out, and a report to read in a browser."""

import unveil
from unveil import report

DATA = "adult"  # the path of your file
KEY = ["age", "sex", "race", "native-country"]  # what a neighbour or an employer may know about someone
SENSITIVE = "occupation"  # what nobody should learn

picture = unveil.assess(DATA, key=KEY, sensitive=SENSITIVE)
report.write(picture, "assessment.html")

print(f"{len(KEY)} columns single out records at a rate of {picture.rate:.2f} (0: nobody, 1: everybody).")
for column in picture.attributes:
    print(f"  {column.name} on its own: {column.dr:.2f}")
for advice in picture.advice[:3]:
    print(f"- {advice.what}")
