// llama.cpp v0.5.0: a sampler without a name, which llama.h allows, ends the process that asks.
//
//     c++ -std=c++17 finding_41_no_name.cpp -o repro -I PREFIX/include -L PREFIX/lib -lllama -Wl,-rpath,PREFIX/lib
//     ./repro
//
// PREFIX is where llama.cpp is installed. Prints expected and got, exit status 1 where they differ.

#include <llama.h>

#include <cstdio>
#include <sys/wait.h>
#include <unistd.h>

int main() {
    llama_sampler_i members = {};  // "name: can be NULL"
    members.apply = [](llama_sampler *, llama_token_data_array *) {};
    llama_sampler * sampler = llama_sampler_init(&members, nullptr);
    const pid_t child = fork();
    if (child == 0) {
        std::printf("%s\n", llama_sampler_name(sampler));
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    std::puts("llama_sampler_name of a sampler whose name is NULL, as llama.h allows");
    std::printf("  expected a text, or NULL\n");
    std::printf("  got      signal %d (11 is SIGSEGV)\n", WIFSIGNALED(status) ? WTERMSIG(status) : 0);
    return status != 0;
}
