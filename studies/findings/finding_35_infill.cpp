// llama.cpp v0.5.0: infill ends the process on a token of more than 512 bytes.
//
//     c++ -std=c++17 finding_35_infill.cpp -o repro -I PREFIX/include -L PREFIX/lib -lllama -lggml-base -Wl,-rpath,PREFIX/lib
//     ./repro
//
// PREFIX is where llama.cpp is installed. Prints expected and got, exit status 1 where they differ.

#include <gguf.h>
#include <llama.h>

#include <cmath>
#include <cstdio>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

// The signal that ends infill on a vocabulary whose longest token has so many bytes.
static int signal_of(size_t longest) {
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        freopen("/dev/null", "w", stderr), freopen("/dev/null", "w", stdout);
        const std::string text(longest, 'q');
        const char * tokens[] = {"<unk>", "<s>", "</s>", "a", text.c_str()};
        const int32_t types[] = {2, 3, 3, 1, 1};  // unknown, two of control, two normal ones
        const float scores[5] = {};
        gguf_context * file = gguf_init_empty();
        gguf_set_val_str(file, "general.architecture", "llama");
        gguf_set_val_str(file, "tokenizer.ggml.model", "llama");
        gguf_set_arr_str(file, "tokenizer.ggml.tokens", tokens, 5);
        gguf_set_arr_data(file, "tokenizer.ggml.token_type", GGUF_TYPE_INT32, types, 5);
        gguf_set_arr_data(file, "tokenizer.ggml.scores", GGUF_TYPE_FLOAT32, scores, 5);
        gguf_write_to_file(file, "vocab-of-5.gguf", true);
        llama_model_params words = llama_model_default_params();
        words.vocab_only = true;
        llama_model * model = llama_model_load_from_file("vocab-of-5.gguf", words);
        if (!model) _exit(9);
        std::vector<llama_token_data> row = {{0, 0, 0}, {3, 0, 0}, {4, 0, 0}};
        llama_token_data_array left = {row.data(), row.size(), -1, false};
        llama_sampler_apply(llama_sampler_init_infill(llama_model_get_vocab(model)), &left);
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFSIGNALED(status) ? WTERMSIG(status) : -WEXITSTATUS(status);
}

int main() {
    llama_log_set([](ggml_log_level, const char *, void *) {}, nullptr);
    for (size_t longest : {512, 513}) {
        std::printf("infill, a token of %zu bytes among the candidates: the signal that ends the process\n"
                    "  expected 0\n  got      %d (6 is an abort)\n", longest, signal_of(longest));
    }
    return signal_of(513) != 0;
}
