"""Models that answer a token with a row of a table, for engines that take no logits.

One module for each format, with

    write(folder, rows)

which writes a model of rows float32[n, n_vocab] into an existing folder. It answers a text that
ends in token i with rows[i], or with the last row if i is beyond the table. Earlier tokens do not
count. Each module documents the values that its format cannot hold to the bit, and refuses them
with InputError. The packages that `write` loads are in the engine's environment.

    ctranslate2    one row; exact but for the sign of a zero
    gguf           exact but for -0.0, and for infinities and NaN next to other rows
    onnx           exact: a Gather copies bits, NaN's payload and denormals too
"""
