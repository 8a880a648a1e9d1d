"""Stop tonight's export if it breaks the policy: the exit code is 0 when it may leave, 1 when it may not."""

import sys

import unveil

EXPORT = "adult"  # the path of tonight's file
KEY = ["sex", "race", "education"]
POLICY = {"k_anonymity": 3, "sample_uniqueness": 0}

verdict = unveil.check(EXPORT, POLICY, key=KEY)
for outcome in verdict.shortfalls:
    print(f"{outcome.rule.name}: {outcome.value}, required {outcome.rule.requirement}; {outcome.detail}")
sys.exit(0 if verdict.passes else 1)
