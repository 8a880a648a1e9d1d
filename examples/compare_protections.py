"""Groups or noise? Protect numbers in two ways, and see what each costs and how many records are still found."""

import unveil
from unveil import mechanisms

DATA = unveil.datasets.load("adult").head(2_000)  # your data frame
NUMBERS = ["age", "hours-per-week"]

protections = {
    "groups of 5": mechanisms.microaggregate(DATA, NUMBERS, k=5, keep_order=True),
    "noise": mechanisms.add_noise(DATA, NUMBERS, amount=0.2, keep_order=True),
}
for name, protected in protections.items():
    loss = unveil.loss(DATA, protected.data, same_order=True, continuous=NUMBERS, categorical=[])
    linkage = unveil.attacks.distance_linkage(DATA[NUMBERS], protected.data[NUMBERS], truth=range(len(DATA)))
    error = loss.to_dict()["continuous"]["data"]["mse"]
    print(f"{name}: mean squared error {error:.3f}; {linkage.value:.1%} of the records are found again")
