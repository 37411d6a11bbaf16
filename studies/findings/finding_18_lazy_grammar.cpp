// llama.cpp v0.5.0: a lazy grammar ends the process after 50,000 bytes without its trigger.
//
//     c++ -std=c++17 finding_18_lazy_grammar.cpp -o repro -I PREFIX/include -L PREFIX/lib -lllama -Wl,-rpath,PREFIX/lib
//     ./repro MODEL.gguf
//
// PREFIX is where llama.cpp is installed, MODEL.gguf any model. Prints expected and got, exit status 1 where they differ.

#include <llama.h>

#include <cstdio>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

int main(int, char ** arguments) {
    llama_log_set([](ggml_log_level, const char *, void *) {}, nullptr);
    llama_model_params words = llama_model_default_params();
    words.vocab_only = true;
    const llama_vocab * vocab = llama_model_get_vocab(llama_model_load_from_file(arguments[1], words));
    std::string longest;  // of the tokens without z
    llama_token fill = 0;
    for (llama_token token = 0; token < llama_vocab_n_tokens(vocab); token++) {
        char text[256];
        const int n = llama_token_to_piece(vocab, token, text, sizeof text, 0, false);
        const std::string piece(text, n < 0 ? 0 : n);
        if (piece.size() > longest.size() && piece.find('z') == piece.npos) longest = piece, fill = token;
    }
    const char * anchored = "^[\\s\\S]*?(zzz)[\\s\\S]*$";  // as common_sampler makes of "zzz"
    const pid_t child = fork();
    if (child == 0) {
        llama_sampler * grammar = llama_sampler_init_grammar_lazy_patterns(
            vocab, "root ::= \"b\"", "root", &anchored, 1, nullptr, 0);
        for (size_t bytes = 0; bytes < 60000; bytes += longest.size())
            llama_sampler_accept(grammar, fill);
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    std::puts("60,000 bytes in front of a trigger that does not come: the signal that ends the process");
    std::puts("  expected 0");
    std::printf("  got      %d (11 is SIGSEGV)\n", WIFSIGNALED(status) ? WTERMSIG(status) : 0);
    return status != 0;
}
