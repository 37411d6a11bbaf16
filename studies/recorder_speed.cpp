// `recorder_speed MODEL TOKENS`: for each line of the input, generate so many tokens with llama-server's
// default chain. Print the seconds behind the prompt, and those that the processor worked for the
// thread and for the process.

#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "llama.h"

static double worked(int who) {
    rusage used;
    getrusage(who, &used);
    return used.ru_utime.tv_sec + used.ru_stime.tv_sec + (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

int main(int, char ** argv) {
    const int n = atoi(argv[2]);
    llama_log_set([](ggml_log_level, const char *, void *) {}, nullptr);
    ggml_backend_load_all();
    llama_model * model = llama_model_load_from_file(argv[1], llama_model_default_params());
    const llama_vocab * vocab = llama_model_get_vocab(model);
    llama_context_params params = llama_context_default_params();
    params.n_ctx = n + 64;
    params.n_threads = params.n_threads_batch = 1;
    llama_context * ctx = llama_init_from_model(model, params);
    const char * breakers[] = {"\n", ":", "\"", "*"};
    llama_sampler * chain = llama_sampler_chain_init(llama_sampler_chain_default_params());
    for (llama_sampler * sampler : {
             llama_sampler_init_penalties(llama_vocab_n_tokens(vocab), 64, 1.0f, 0.0f, 0.0f),
             llama_sampler_init_dry(vocab, 0.0f, 1.75f, 2, 64, breakers, 4),
             llama_sampler_init_top_n_sigma(-1.0f), llama_sampler_init_top_k(40),
             llama_sampler_init_typical(1.0f, 0), llama_sampler_init_top_p(0.95f, 0),
             llama_sampler_init_min_p(0.05f, 0), llama_sampler_init_xtc(0.0f, 0.1f, 0, 1),
             llama_sampler_init_temp_ext(0.8f, 0.0f, 1.0f), llama_sampler_init_dist(1)})
        llama_sampler_chain_add(chain, sampler);
    while (getchar() == '\n') {
        std::vector<llama_token> tokens = {1000, 2000, 3000, 600};
        llama_memory_clear(llama_get_memory(ctx), true);
        llama_decode(ctx, llama_batch_get_one(tokens.data(), 4));
        const double thread = worked(RUSAGE_THREAD), process = worked(RUSAGE_SELF);
        const auto begun = std::chrono::steady_clock::now();
        for (int i = 0; i < n; i++) {
            llama_token token = llama_sampler_sample(chain, ctx, -1);
            llama_decode(ctx, llama_batch_get_one(&token, 1));
        }
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
        printf("%.9f %.6f %.6f\n", took.count(), worked(RUSAGE_THREAD) - thread, worked(RUSAGE_SELF) - process);
        fflush(stdout);
    }
}
