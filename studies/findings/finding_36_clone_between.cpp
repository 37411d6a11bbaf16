// llama.cpp v0.5.0: adaptive_p, cloned between apply and accept, ends the process.
//
//     c++ -std=c++17 finding_36_clone_between.cpp -o repro -I PREFIX/include -L PREFIX/lib -lllama -Wl,-rpath,PREFIX/lib
//     ./repro
//
// PREFIX is where llama.cpp is installed. Prints expected and got, exit status 1 where they differ.

#include <llama.h>

#include <cmath>
#include <cstdio>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

int main() {
    std::vector<llama_token_data> row;
    for (int i = 0; i < 64; i++) row.push_back({i, std::sin(7.0f * i), 0});
    llama_token_data_array left = {row.data(), row.size(), -1, false};
    llama_sampler * sampler = llama_sampler_init_adaptive_p(0.3f, 0.9f, 7);
    llama_sampler_apply(sampler, &left);
    const llama_token drawn = left.data[left.selected].id;
    const pid_t child = fork();
    if (child == 0) {
        llama_sampler_accept(llama_sampler_clone(sampler), drawn);
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    llama_sampler_accept(sampler, drawn);
    std::puts("adaptive_p draws a token; its clone, made then, accepts it");
    std::printf("  expected exit status 0, as of the original\n");
    std::printf("  got      signal %d (11 is SIGSEGV)\n", WIFSIGNALED(status) ? WTERMSIG(status) : 0);
    return status != 0;
}
