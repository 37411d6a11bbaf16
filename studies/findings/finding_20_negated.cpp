// llama.cpp v0.5.0: [^...] refuses characters that it does not name.
//
//     c++ -std=c++17 finding_20_negated.cpp -o repro -I PREFIX/include -L PREFIX/lib -lllama -Wl,-rpath,PREFIX/lib
//     ./repro MODEL.gguf
//
// PREFIX is where llama.cpp is installed, MODEL.gguf any model. Prints expected and got, exit status 1 where they differ.

#include <llama.h>

#include <cstdio>
#include <string>

// Whether the grammar leaves the token.
static bool leaves(llama_sampler * grammar, llama_token token) {
    llama_token_data one = {token, 0, 0};
    llama_token_data_array left = {&one, 1, -1, false};
    llama_sampler_apply(grammar, &left);
    return one.logit == 0;
}

int main(int, char ** arguments) {
    llama_log_set([](ggml_log_level, const char *, void *) {}, nullptr);
    llama_model_params words = llama_model_default_params();
    words.vocab_only = true;
    const llama_vocab * vocab = llama_model_get_vocab(llama_model_load_from_file(arguments[1], words));
    llama_token lead = -1, tail = -1;  // the bytes of è, C3 and A8, as tokens of their own
    for (llama_token token = 0; token < llama_vocab_n_tokens(vocab); token++) {
        char text[64];
        const int n = llama_token_to_piece(vocab, token, text, sizeof text, 0, false);
        if (n == 1 && text[0] == '\xC3') lead = token;
        if (n == 1 && text[0] == '\xA8') tail = token;
    }
    llama_sampler * grammar = llama_sampler_init_grammar(vocab, "root ::= [^é]+", "root");
    const bool left = leaves(grammar, lead);
    std::printf("root ::= [^é]+, è as the byte tokens %d and %d: is the first of them left\n", lead, tail);
    std::printf("  expected 1\n  got      %d\n", left);
    return !left;
}
