"""May this release go out? A bundle against a policy.

rule       what the policy asks of some results; the first that fits a result judges it
finding    a result that is not as its rule asks, or that cannot be judged
outcome    of a rule: met, failed or unjudged
allowance  a known divergence that is let pass until a date
"""
