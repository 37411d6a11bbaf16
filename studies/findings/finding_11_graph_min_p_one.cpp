// llama.cpp v0.5.0: in the graph, min_p 1 selects the last token of the vocabulary.
//
//     c++ -std=c++17 finding_11_graph_min_p_one.cpp -o repro -I PREFIX/include -L PREFIX/lib -lllama -Wl,-rpath,PREFIX/lib
//     ./repro MODEL.gguf
//
// PREFIX is where llama.cpp is installed, MODEL.gguf any model. Prints expected and got, exit status 1 where they differ.

#include <llama.h>

#include <cstdio>
#include <string>
#include <vector>

using Chain = std::vector<llama_sampler *>;

// 4 tokens behind "Hello", the chain applied in the model's graph or on the CPU.
static std::string drawn(llama_model * model, bool graph, const Chain & samplers) {
    llama_sampler * chain = llama_sampler_chain_init(llama_sampler_chain_default_params());
    for (llama_sampler * sampler : samplers) llama_sampler_chain_add(chain, sampler);
    llama_sampler_seq_config config = {0, chain};
    llama_context_params params = llama_context_default_params();
    params.n_ctx = 64;
    if (graph) params.samplers = &config, params.n_samplers = 1;
    llama_context * context = llama_init_from_model(model, params);
    std::vector<llama_token> text(8);
    text.resize(llama_tokenize(llama_model_get_vocab(model), "Hello", 5, text.data(), 8, true, true));
    std::string tokens;
    for (int step = 0; step < 4; step++) {
        llama_decode(context, llama_batch_get_one(text.data(), text.size()));
        text = {llama_sampler_sample(chain, context, -1)};
        tokens += " " + std::to_string(text[0]);
    }
    return tokens;
}

static bool differs(const char * what, llama_model * model, Chain (*make)()) {
    const std::string expected = drawn(model, false, make()), got = drawn(model, true, make());
    std::printf("%s: 4 tokens, on the CPU and in the graph\n  expected%s\n  got     %s\n",
                what, expected.c_str(), got.c_str());
    return expected != got;
}

int main(int, char ** arguments) {
    llama_log_set([](ggml_log_level, const char *, void *) {}, nullptr);
    llama_model * model = llama_model_load_from_file(arguments[1], llama_model_default_params());
    bool differ = false;
    differ |= differs("min_p 1, dist", model, [] { return Chain{llama_sampler_init_min_p(1, 1), llama_sampler_init_dist(1)}; });
    return differ;
}
