// llama.cpp v0.5.0: the reasoning budget never ends while a model writes in byte tokens.
//
//     c++ -std=c++17 finding_07_byte_tokens.cpp -o repro -I PREFIX/include -I SOURCE/common -L PREFIX/lib -lllama-common -lllama -lggml-base -Wl,--disable-new-dtags,-rpath,PREFIX/lib
//     ./repro MODEL.gguf
//
// PREFIX is where llama.cpp is installed, SOURCE its source, MODEL.gguf any model with byte tokens.
// Prints expected and got, exit status 1 where they differ.

#include <reasoning-budget.h>

#include <cstdio>
#include <string>

int main(int, char ** arguments) {
    llama_log_set([](ggml_log_level, const char *, void *) {}, nullptr);
    llama_model * model = llama_model_load_from_file(arguments[1], llama_model_default_params());
    const llama_vocab * vocab = llama_model_get_vocab(model);
    llama_token lead = -1, tail = -1;  // the bytes of é, C3 and A9, as tokens of their own
    for (llama_token token = 0; token < llama_vocab_n_tokens(vocab); token++) {
        char text[64];
        const int n = llama_token_to_piece(vocab, token, text, sizeof text, 0, false);
        if (n == 1 && text[0] == '\xC3') lead = token;
        if (n == 1 && text[0] == '\xA9') tail = token;
    }
    std::printf("é is tokens %d %d; a budget of 2 tokens, é written 50 times in them\n", lead, tail);
    llama_sampler * budget =
        common_reasoning_budget_init(vocab, {{1}}, {{2}}, {2}, 2, REASONING_BUDGET_COUNTING);
    int written = 0;
    while (written < 100 && common_reasoning_budget_get_state(budget) != REASONING_BUDGET_FORCING)
        llama_sampler_accept(budget, written++ % 2 ? tail : lead);
    const char * went_on = written < 100 ? "" : " and no end";
    std::printf("  expected the end is forced after 2 tokens\n");
    std::printf("  got      %d tokens%s\n", written, went_on);
    return written != 2;
}
