"""Models that answer a token with a row of a table: any logits reach an engine that hides its own.

One module a format, each with

    write(folder, rows)

which makes a model in a folder that is there, of rows float32[n, n_vocab]: to a text that ends in
token i it answers rows[i], to one beyond the table the last row. No text before that token counts.
What a format cannot hold to the bit, its module says and refuses with InputError. Made, never
fetched: the packages that write a format are those of its engine's environment, loaded by `write`.

    ctranslate2    one row; exact but for the sign of a zero
    gguf           exact but for -0.0, and for infinities and NaN next to other rows
    onnx           exact: a Gather copies bits, NaN's payload and denormals too
"""
