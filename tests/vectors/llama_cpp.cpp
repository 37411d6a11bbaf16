// llama.cpp for the vector runner, through its C API. dry needs a vocabulary, and is skipped.

#include <exception>
#include <iostream>

#include "llama.h"
#include "run_vectors.hpp"

using run_vectors::Json;
using run_vectors::Outcome;
using run_vectors::Test;

namespace {

const int LARGEST = 1 << 20;  // ids of the kit are below

llama_sampler* made(const std::string& name, const Json& of, std::uint32_t seed) {
  const auto x = [&](const char* key) { return static_cast<float>(of[key].as_number()); };
  const auto n = [&](const char* key) {
    return of.has(key) ? static_cast<std::int64_t>(of[key].as_number()) : 0;
  };
  if (name == "greedy") return llama_sampler_init_greedy();
  if (name == "dist") return llama_sampler_init_dist(seed);
  if (name == "top_k") return llama_sampler_init_top_k(static_cast<int>(n("k")));
  if (name == "top_p") return llama_sampler_init_top_p(x("p"), n("min_keep"));
  if (name == "min_p") return llama_sampler_init_min_p(x("p"), n("min_keep"));
  if (name == "typical_p") return llama_sampler_init_typical(x("p"), n("min_keep"));
  if (name == "temp") return llama_sampler_init_temp(x("temp"));
  if (name == "temp_ext") return llama_sampler_init_temp_ext(x("temp"), x("delta"), x("exponent"));
  if (name == "xtc") return llama_sampler_init_xtc(x("p"), x("t"), n("min_keep"), seed);
  if (name == "top_n_sigma") return llama_sampler_init_top_n_sigma(x("n"));
  if (name == "mirostat") {
    return llama_sampler_init_mirostat(n("n_vocab"), seed, x("tau"), x("eta"), n("m"));
  }
  if (name == "mirostat_v2") return llama_sampler_init_mirostat_v2(seed, x("tau"), x("eta"));
  if (name == "adaptive_p") return llama_sampler_init_adaptive_p(x("target"), x("decay"), seed);
  if (name == "penalties") {
    return llama_sampler_init_penalties(LARGEST, n("penalty_last_n"), x("penalty_repeat"),
                                        x("penalty_freq"), x("penalty_present"));
  }
  if (name != "logit_bias") return nullptr;
  std::vector<llama_logit_bias> biases;
  for (const Json& pair : of["logit_bias"].items) {
    biases.push_back({static_cast<llama_token>(pair.items[0].as_number()),
                      static_cast<float>(pair.items[1].as_number())});
  }
  return llama_sampler_init_logit_bias(LARGEST, biases.size(), biases.data());
}

struct LlamaCpp : run_vectors::Instance {
  llama_sampler* sampler;

  explicit LlamaCpp(llama_sampler* sampler) : sampler(sampler) {}
  ~LlamaCpp() override { llama_sampler_free(sampler); }

  Outcome apply(const Test& test) override {
    std::vector<llama_token_data> data;
    for (std::size_t i = 0; i < test.ids.size(); ++i) {
      data.push_back({test.ids[i], test.logits[i], test.p[i]});
    }
    llama_token_data_array array = {data.data(), data.size(), -1, test.sorted};
    llama_sampler_apply(sampler, &array);
    Outcome left;
    left.p.emplace();
    for (std::size_t i = 0; i < array.size; ++i) {
      left.ids.push_back(array.data[i].id);
      left.logits.push_back(array.data[i].logit);
      left.p->push_back(array.data[i].p);
    }
    left.sorted = array.sorted;
    if (array.selected >= 0) left.token = array.data[array.selected].id;
    return left;
  }
  void accept(int token) override { llama_sampler_accept(sampler, token); }
  void reset() override { llama_sampler_reset(sampler); }
  std::unique_ptr<run_vectors::Instance> clone() const override {
    return std::make_unique<LlamaCpp>(llama_sampler_clone(sampler));
  }
};

// It takes no number in the place of its generator's: draws are in the scripts, by their seed.
std::optional<Outcome> sample(const std::string& name, const Test& test) {
  if (name == "dist" || name == "xtc") return std::nullopt;
  llama_sampler* sampler = made(name, test.parameters, 0);
  if (!sampler) return std::nullopt;
  LlamaCpp instance(sampler);
  for (int token : test.tokens) instance.accept(token);
  return instance.apply(test);
}

std::unique_ptr<run_vectors::Instance> make(const std::string& name, const Json& parameters,
                                            std::optional<std::uint32_t> seed) {
  llama_sampler* sampler = made(name, parameters, seed.value_or(0));
  return sampler ? std::make_unique<LlamaCpp>(sampler) : nullptr;
}

}  // namespace

int main() try {
  bool wrong = false;
  for (const auto& report : run_vectors::problems(run_vectors::kit(), sample, make)) {
    std::cout << report.text() << "\n";
    wrong = wrong || !report.problems.empty();
  }
  return wrong;
} catch (const std::exception& error) {
  std::cerr << error.what() << "\n";
  return 2;
}
