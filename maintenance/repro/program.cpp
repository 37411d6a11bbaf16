// @title@
// @about@
// c++ repro.cpp -o repro -L FOLDER -lllama -Wl,-rpath,FOLDER && ./repro   (FOLDER has libllama)
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>
struct Token { int32_t id; float logit, p; };
struct Tokens { Token * data; size_t size; int64_t selected; bool sorted; };
struct Bias { int32_t token; float bias; }; struct llama_sampler;
extern "C" { void llama_sampler_apply(llama_sampler *, Tokens *);
void llama_sampler_accept(llama_sampler *, int32_t);
@declared@
}
@data@
bool is(float a, float b) { return (a != a && b != b) || !std::memcmp(&a, &b, sizeof a); }
bool is(Token a, Token b) { return a.id == b.id && is(a.logit, b.logit) && is(a.p, b.p); }
int show(Token a) { return std::printf("%7d %-13.9g %-13.9g", a.id, a.logit, a.p); }
int main() {
    const std::vector<llama_sampler *> chain = {
@chain@};
    const std::vector<int32_t> history = {@history@}, accepted = {@accepted@};
    for (int32_t token : history) for (auto * s : chain) llama_sampler_accept(s, token);
    Tokens left = {};
    std::vector<Token> row;
    for (size_t step = 0; step < rows.size(); step++) {
        row.clear();
        for (float x : rows[step]) row.push_back({(int32_t) row.size(), x, 0});
        left = {row.data(), row.size(), -1, false};
        const size_t stages = step < accepted.size() ? chain.size() : @stages@;
        for (size_t i = 0; i < stages; i++) llama_sampler_apply(chain[i], &left);
        if (step < accepted.size()) for (auto * s : chain) llama_sampler_accept(s, accepted[step]);
    }
    const int selected = left.selected < 0 ? -1 : left.data[left.selected].id;
    bool same = left.size == expected.size() && selected == @selected@ && left.sorted == @sorted@;
    std::puts("behind @stage@, expected and got: id, logit, p");
    for (size_t i = 0; i < left.size || i < expected.size(); i++) {
        i < expected.size() ? show(expected[i]) : std::printf("%35s", "");
        i < left.size ? show(left.data[i]) : 0, std::puts("");
        same = same && is(expected[i], left.data[i]);
    }
    std::printf("selected: expected @selected@, got %d; sorted: expected @sorted@, got %d\n%s\n",
                selected, left.sorted, same ? "the same" : "different");
    return same ? 0 : 1;
}
