// A small right sampler, and four faults: FAULT=crossing, ties, once or reset.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "run_vectors.hpp"

namespace small_sampler {

using run_vectors::Instance;
using run_vectors::Json;
using run_vectors::Outcome;
using run_vectors::Test;
using Numbers = std::vector<double>;

inline bool fault(const std::string& name) {
  const char* fault = std::getenv("FAULT");
  return fault && fault == name;
}

inline Numbers probabilities(const Numbers& logits) {
  const double max = *std::max_element(logits.begin(), logits.end());
  Numbers shares;
  for (double x : logits) shares.push_back(std::exp(x - max));
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (double& share : shares) share /= sum;
  return shares;
}

inline std::size_t drawn(const Numbers& shares, double u) {
  double mass = 0;
  std::size_t last = 0;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    mass += shares[i];
    if (u < mass) return i;
    if (shares[i] > 0) last = i;
  }
  return last;
}

inline Numbers penalized(const Test& test, Numbers logits) {
  const double last = std::max(test.parameter("penalty_last_n", 64), 0.0);
  const auto size = std::min(test.tokens.size(), static_cast<std::size_t>(last));
  const double repeat = test.parameter("penalty_repeat", 1);
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const auto count = std::count(test.tokens.end() - size, test.tokens.end(), test.ids[i]);
    if (count == 0) continue;
    double& x = logits[i];
    x = x <= 0 ? x * repeat : x / repeat;
    x -= count * test.parameter("penalty_freq", 0);
    x -= (fault("once") ? count : 1) * test.parameter("penalty_present", 0);
  }
  return logits;
}

// Returns how many of the largest logits stay; nothing for another sampler.
inline std::optional<std::size_t> survivors(const std::string& name, const Test& test,
                                            const Numbers& logits,
                                            const std::vector<std::size_t>& order) {
  const std::size_t all = order.size();
  const auto least = static_cast<std::size_t>(std::max(test.parameter("min_keep", 0), 1.0));
  const auto at_least = [&](double cut) -> std::size_t {
    return std::count_if(logits.begin(), logits.end(), [cut](double x) { return x >= cut; });
  };
  if (name == "temp") return 1;
  if (name == "top_k") {
    const double wanted = test.parameter("k", 40);
    const std::size_t k = wanted > 0 ? std::min(all, static_cast<std::size_t>(wanted)) : all;
    return fault("ties") ? at_least(logits[order[k - 1]]) : k;
  }
  if (name == "top_p") {
    const double p = test.parameter("p", 0.95);
    if (p >= 1) return all;
    const Numbers shares = probabilities(logits);
    double mass = 0;
    for (std::size_t n = 0; n < all; ++n) {
      mass += shares[order[n]];
      if (mass >= p) return std::max(fault("crossing") ? n : n + 1, least);
    }
    return all;
  }
  if (name == "min_p") {
    const double p = test.parameter("p", 0.05);
    if (p <= 0) return all;
    if (p > 1) return least;
    return std::max(at_least(logits[order[0]] + std::log(p)), least);
  }
  return std::nullopt;
}

inline Outcome outcome(const std::vector<int>& ids, const Numbers& logits, int token = -1) {
  Outcome out;
  out.ids = ids;
  for (double x : logits) out.logits.push_back(static_cast<float>(x));
  out.token = token;
  return out;
}

// NaN is behind all others.
inline bool is_before(double x, double y) { return x > y || (!std::isnan(x) && std::isnan(y)); }

inline std::optional<Outcome> sample(const std::string& name, const Test& test) {
  const Numbers logits(test.logits.begin(), test.logits.end());
  std::vector<std::size_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return is_before(logits[a], logits[b]); });
  const double temp = test.parameter("temp", 0.8);
  if (name == "greedy") return outcome(test.ids, logits, test.ids[order[0]]);
  if (name == "dist") {
    return outcome(test.ids, logits, test.ids[drawn(probabilities(logits), test.uniform)]);
  }
  if (name == "temp" && temp > 0) {
    Numbers left;
    for (double x : logits) left.push_back(x / temp);
    return outcome(test.ids, left);
  }
  if (name == "penalties") return outcome(test.ids, penalized(test, logits));
  const auto n = survivors(name, test, logits, order);
  if (!n) return std::nullopt;
  order.resize(std::min(*n, order.size()));
  std::vector<int> ids;
  Numbers left;
  for (std::size_t i : order) {
    ids.push_back(test.ids[i]);
    left.push_back(logits[i]);
  }
  return outcome(ids, left);
}

struct WithHistory : Instance {
  std::string name;
  std::vector<int> tokens;

  explicit WithHistory(std::string of) : name(std::move(of)) {}

  Outcome apply(const Test& test) override {
    Test with_tokens = test;
    with_tokens.tokens = tokens;
    return *sample(name, with_tokens);
  }
  void accept(int token) override { tokens.push_back(token); }
  void reset() override {
    if (!fault("reset")) tokens.clear();
  }
  std::unique_ptr<Instance> clone() const override { return std::make_unique<WithHistory>(*this); }
};

// Returns a sampler with a state, or nothing. A generator would take the seed.
inline std::unique_ptr<Instance> make(const std::string& name, const Json&,
                                      std::optional<std::uint32_t>) {
  if (name != "penalties" && name != "dist") return nullptr;
  return std::make_unique<WithHistory>(name);
}

}  // namespace small_sampler
