// llama.cpp v0.5.0: a grammar takes control tokens for the text of their names.
//
//     c++ -std=c++17 finding_21_control.cpp -o repro -I PREFIX/include -L PREFIX/lib -lllama -Wl,-rpath,PREFIX/lib
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
    llama_sampler * grammar = llama_sampler_init_grammar(vocab, "root ::= [^\"]*", "root");
    int control = 0, left = 0;
    for (llama_token token = 0; token < llama_vocab_n_tokens(vocab); token++) {
        const bool prints_nothing = llama_vocab_is_control(vocab, token) && !llama_vocab_is_eog(vocab, token);
        control += prints_nothing;
        if (prints_nothing && leaves(grammar, token)) {
            std::printf("left: %s\n", llama_vocab_get_text(vocab, token));
            left++;
        }
    }
    std::printf("root ::= [^\"]*: how many of %d control tokens, which print nothing, are left\n", control);
    std::printf("  expected 0\n  got      %d\n", left);
    return left != 0;
}
