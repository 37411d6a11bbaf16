// llama.cpp v0.5.0: a grammar leaves a token that ends the process when it is accepted.
//
//     c++ -std=c++17 finding_17_grammar_token_rule.cpp -o repro -I PREFIX/include -L PREFIX/lib -lllama -Wl,-rpath,PREFIX/lib
//     ./repro MODEL.gguf
//
// PREFIX is where llama.cpp is installed, MODEL.gguf any model. Prints expected and got, exit status 1 where they differ.

#include <llama.h>

#include <cstdio>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

static std::string text_of(const llama_vocab * vocab, llama_token token) {
    char text[256];
    const int n = llama_token_to_piece(vocab, token, text, sizeof text, 0, true);
    return {text, (size_t) (n < 0 ? 0 : n)};
}

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
    llama_token longer = 0;  // a token that begins with h and has more than it
    while (text_of(vocab, longer).size() < 2 || text_of(vocab, longer)[0] != 'h') longer++;
    llama_sampler * grammar = llama_sampler_init_grammar(vocab, "root ::= \"h\" !<[1]>", "root");
    const bool left = leaves(grammar, longer);
    const pid_t child = fork();
    if (child == 0) {
        freopen("/dev/null", "w", stderr), freopen("/dev/null", "w", stdout);
        llama_sampler_accept(grammar, longer);
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    std::printf("root ::= \"h\" !<[1]>, token %d, \"%s\": is it left, and what ends its accept\n", longer,
                text_of(vocab, longer).c_str());
    std::puts("  expected banned; or left, and no signal");
    std::printf("  got      %s, signal %d (6 is an abort)\n", left ? "left" : "banned",
                WIFSIGNALED(status) ? WTERMSIG(status) : 0);
    return left && status != 0;
}
