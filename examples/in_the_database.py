"""Measure a table where it lives: the database counts, and no record leaves it. Needs the extra `duckdb`."""

import duckdb

import unveil

with duckdb.connect("people.duckdb") as connection:  # your data base; this one is made here
    connection.execute(
        "CREATE OR REPLACE TABLE people AS SELECT i % 7 AS region, 20 + i % 50 AS age, i % 3 AS disease FROM range(10000) AS t(i)"
    )

TABLE = "people.duckdb?table=people"
measured = unveil.measure(TABLE, key=["region", "age"], sensitive="disease")
print(f"k = {measured['k_anonymity'].value}")
print(unveil.discrimination_rate(TABLE, key=["region", "age"], sensitive="disease"))
