// llama.cpp v0.5.0: a limit of repetitions beyond 2,000 is none.
//
//     c++ -std=c++17 finding_22_limit.cpp -o repro -I PREFIX/include -L PREFIX/lib -lllama -Wl,-rpath,PREFIX/lib
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
    llama_token b = 0;
    for (char text[8]; llama_token_to_piece(vocab, b, text, 8, 0, false) != 1 || text[0] != 'b';) b++;
    const char * texts[] = {"root ::= \"b\"{1,2000}", "root ::= \"b\"{1,2001}"};
    const int limits[] = {2000, 2001};
    bool differ = false;
    for (int i = 0; i < 2; i++) {
        llama_sampler * grammar = llama_sampler_init_grammar(vocab, texts[i], "root");
        int taken = 0;
        while (taken < 3000 && leaves(grammar, b)) llama_sampler_accept(grammar, b), taken++;
        std::printf("%s: how many b it takes, 3,000 are tried\n  expected %d\n  got      %d\n", texts[i],
                    limits[i], taken);
        differ |= taken != limits[i];
    }
    std::printf("root ::= \"b\"{2001} is %s\n",
                llama_sampler_init_grammar(vocab, "root ::= \"b\"{2001}", "root") ? "read" : "refused");
    return differ;
}
