// llama.cpp v0.5.0: common_sampler_reset does not reset the grammar.
//
//     c++ -std=c++17 finding_08_reset.cpp -o repro -I PREFIX/include -I SOURCE/common -L PREFIX/lib -lllama-common -lllama -lggml-base -Wl,--disable-new-dtags,-rpath,PREFIX/lib
//     ./repro MODEL.gguf
//
// PREFIX is where llama.cpp is installed, SOURCE its source, MODEL.gguf any model.
// Prints expected and got, exit status 1 where they differ.

#include <sampling.h>

#include <cstdio>

static std::string text_of(const llama_vocab * vocab, llama_token token) {
    char text[64];
    return {text, (size_t) llama_token_to_piece(vocab, token, text, sizeof text, 0, true)};
}

int main(int, char ** arguments) {
    llama_log_set([](ggml_log_level, const char *, void *) {}, nullptr);
    llama_model * model = llama_model_load_from_file(arguments[1], llama_model_default_params());
    llama_context_params small = llama_context_default_params();
    small.n_ctx = 64;
    llama_context * context = llama_init_from_model(model, small);
    const llama_vocab * vocab = llama_model_get_vocab(model);
    llama_token hello[8];
    const int n = llama_tokenize(vocab, "Hello", 5, hello, 8, true, true);
    llama_decode(context, llama_batch_get_one(hello, n));

    common_params_sampling params;
    params.temp = 0;
    params.grammar = {COMMON_GRAMMAR_TYPE_USER, "root ::= \"a\" \"b\""};
    common_sampler * sampler = common_sampler_init(model, params);
    const llama_token first = common_sampler_sample(sampler, context, -1);
    common_sampler_accept(sampler, first, true);
    common_sampler_reset(sampler);
    const llama_token again = common_sampler_sample(sampler, context, -1);
    std::puts("root ::= \"a\" \"b\", a token sampled and accepted, a reset, sampled again at the same place");
    std::printf("  expected %s\n", text_of(vocab, first).c_str());
    std::printf("  got      %s\n", text_of(vocab, again).c_str());
    return first != again;
}
