// llama.cpp v0.5.0: a token that the grammar refuses costs a draw, so one seed gives two texts.
//
//     c++ -std=c++17 finding_09_refused.cpp -o repro -I PREFIX/include -I SOURCE/common -L PREFIX/lib -lllama-common -lllama -lggml-base -Wl,--disable-new-dtags,-rpath,PREFIX/lib
//     ./repro MODEL.gguf
//
// PREFIX is where llama.cpp is installed, SOURCE its source, MODEL.gguf any model.
// Prints expected and got, exit status 1 where they differ.

#include <sampling.h>

#include <cstdio>

// Twelve tokens with seed 3 behind "Hello", under a grammar of digits.
static std::string drawn(llama_model * model, bool grammar_first) {
    llama_context_params small = llama_context_default_params();
    small.n_ctx = 64;
    llama_context * context = llama_init_from_model(model, small);
    const llama_vocab * vocab = llama_model_get_vocab(model);
    std::vector<llama_token> text(8);
    text.resize(llama_tokenize(vocab, "Hello", 5, text.data(), 8, true, true));

    common_params_sampling params;
    params.seed = 3;
    params.samplers = {};  // the draw alone
    params.grammar = {COMMON_GRAMMAR_TYPE_USER, "root ::= [0-9]+"};
    common_sampler * sampler = common_sampler_init(model, params);
    std::string drawn;
    for (int step = 0; step < 12; step++) {
        llama_decode(context, llama_batch_get_one(text.data(), text.size()));
        text = {common_sampler_sample(sampler, context, -1, grammar_first)};
        common_sampler_accept(sampler, text[0], true);
        drawn += " " + std::to_string(text[0]);
    }
    return drawn;
}

int main(int, char ** arguments) {
    llama_log_set([](ggml_log_level, const char *, void *) {}, nullptr);
    llama_model * model = llama_model_load_from_file(arguments[1], llama_model_default_params());
    const std::string first = drawn(model, true), last = drawn(model, false);
    std::puts("seed 3 under a grammar: 12 tokens, the grammar in front of the draw, or asked after it");
    std::printf("  expected%s\n  got     %s\n", first.c_str(), last.c_str());
    return first != last;
}
