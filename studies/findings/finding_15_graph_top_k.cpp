// llama.cpp v0.5.0: in the graph, a top_k larger than the list ends the process.
//
//     c++ -std=c++17 finding_15_graph_top_k.cpp -o repro -I PREFIX/include -L PREFIX/lib -lllama -Wl,-rpath,PREFIX/lib
//     ./repro MODEL.gguf
//
// PREFIX is where llama.cpp is installed, MODEL.gguf any model. Prints expected and got, exit status 1 where they differ.

#include <llama.h>

#include <cstdio>
#include <cstdlib>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

using Chain = std::vector<llama_sampler *>;

// The signal that ends a process which draws a token behind 1, 2, 3, with the chain in the graph or not.
static int signal_of(llama_model * model, bool graph, const Chain & samplers) {
    std::fflush(stdout);  // or an abort prints it again
    const pid_t child = fork();
    if (child == 0) {
        std::freopen("/dev/null", "w", stderr);
        llama_sampler * chain = llama_sampler_chain_init(llama_sampler_chain_default_params());
        for (llama_sampler * sampler : samplers) llama_sampler_chain_add(chain, sampler);
        llama_sampler_seq_config config = {0, chain};
        llama_context_params params = llama_context_default_params();
        params.n_ctx = 64;
        if (graph) params.samplers = &config, params.n_samplers = 1;
        llama_context * context = llama_init_from_model(model, params);
        llama_token text[] = {1, 2, 3};
        llama_decode(context, llama_batch_get_one(text, 3));
        llama_sampler_sample(chain, context, -1);
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static bool ends(const char * what, llama_model * model, const Chain & samplers) {
    const int expected = signal_of(model, false, samplers), got = signal_of(model, true, samplers);
    std::printf("%s: the signal that ends the process (6 is an abort), on the CPU and in the graph\n"
                "  expected %d\n  got      %d\n", what, expected, got);
    return expected != got;
}

int main(int, char ** arguments) {
    setenv("GGML_NO_BACKTRACE", "1", 1);
    llama_log_set([](ggml_log_level, const char *, void *) {}, nullptr);
    llama_model * model = llama_model_load_from_file(arguments[1], llama_model_default_params());
    const int n = llama_vocab_n_tokens(llama_model_get_vocab(model));
    bool differ = ends("top_k of the vocabulary + 1", model,
                       {llama_sampler_init_top_k(n + 1), llama_sampler_init_dist(1)});
    differ |= ends("top_k 10, top_k 40", model,
                   {llama_sampler_init_top_k(10), llama_sampler_init_top_k(40), llama_sampler_init_dist(1)});
    differ |= ends("temp 0, top_k 40", model,
                   {llama_sampler_init_temp(0), llama_sampler_init_top_k(40), llama_sampler_init_dist(1)});
    return differ;
}
