"""Compare several bundles with each other (`compare`), or one after the other (`history`).

column      a backend of a bundle; its base is the column that it is compared with
comparison  what two columns say of the same case, prompt, test or figure; it judges nothing
figure      a measured quantity with a unit, one value a round: a time, a rate, a skip ratio
fact        of a machine or a backend, which may explain a difference
"""
