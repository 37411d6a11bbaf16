"""Compare several bundles with each other (`compare`), or one after the other (`history`).

column      A backend of a bundle; its base is the column that it is compared with.
comparison  The results of two columns for the same case, prompt, test or figure. It judges nothing.
figure      A measured quantity with a unit, one value per round: a time, a rate, a skip ratio.
fact        A property of a machine or a backend, which may explain a difference.
"""
