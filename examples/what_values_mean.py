"""Does the release still tell who is ill? Values that mean the same to an intruder are counted as one."""

import polars as pl

import unveil
from unveil.partitions.builders import Intervals

patients = pl.DataFrame(
    {
        "age": [23, 27, 31, 36, 42, 45, 52, 58],
        "disease": ["flu", "cold", "flu", "cold", "hiv", "hepatitis", "hiv", "hepatitis"],
    }
)
meaning = unveil.Partition.of([["flu", "cold"], ["hiv", "hepatitis"]])

ages = unveil.build_hierarchy(patients, "age", Intervals((20, 40))).hierarchy
release = unveil.anonymize(patients, {"age": ages}, [unveil.models.KAnonymity(2)], keep_order=True)
coarse = release.data

plain = unveil.discrimination_rate(coarse, key="age", sensitive="disease")
semantic = unveil.discrimination_rate(coarse, key="age", sensitive="disease", partitions={"disease": meaning})
print(f"The age group tells the disease at a rate of {plain.value:.2f},")
print(f"but whether it is serious at a rate of {semantic.value:.2f}.")
