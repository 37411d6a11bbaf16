// llama.cpp b11549: at temperature 0 common_sampler leaves the probabilities before temperature.
//
//     c++ -std=c++17 finding_34_greedy_end.cpp -o repro -I PREFIX/include -I SOURCE/common -L PREFIX/lib -lllama-common -lllama -lggml-base -Wl,--disable-new-dtags,-rpath,PREFIX/lib
//     ./repro MODEL.gguf
//
// PREFIX is where llama.cpp is installed, SOURCE its source, MODEL.gguf any model.
// Prints expected and got, exit status 1 where they differ.

#include <sampling.h>

#include <cstdio>

int main(int, char ** arguments) {
    llama_log_set([](ggml_log_level, const char *, void *) {}, nullptr);
    llama_model * model = llama_model_load_from_file(arguments[1], llama_model_default_params());
    llama_context_params small = llama_context_default_params();
    small.n_ctx = 64;
    llama_context * context = llama_init_from_model(model, small);
    llama_token text[] = {1, 2, 3};
    llama_decode(context, llama_batch_get_one(text, 3));

    common_params_sampling params;
    params.temp = 0;  // the last of the samplers
    common_sampler * sampler = common_sampler_init(model, params);
    common_sampler_sample(sampler, context, -1);
    const float p = common_sampler_get_candidates(sampler, true)->data[0].p;
    std::puts("temperature 0, the default samplers: p of the token that is taken");
    std::printf("  expected 1, as of v0.5.0\n  got      %g\n", p);
    return p != 1;
}
