"""May this release go out? A bundle against a policy.

rule       a requirement of the policy; the first that fits a result judges it
finding    a result that is not as its rule requires, or that cannot be judged
outcome    of a rule: met, failed or unjudged
allowance  a known divergence that passes until a date
"""
