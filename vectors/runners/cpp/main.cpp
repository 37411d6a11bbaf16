// Run test vectors without a test framework:
//
//   g++ -std=c++17 -O2 main.cpp -o run_vectors && VECTORS=kit ./run_vectors
//
// Put your sampler here instead of the small one.

#include <exception>
#include <iostream>

#include "run_vectors.hpp"
#include "small_sampler.hpp"

int main() try {
  bool wrong = false, none = true;
  for (const auto& report :
       run_vectors::problems(run_vectors::kit(), small_sampler::sample, small_sampler::make)) {
    std::cout << report.text() << "\n";
    wrong = wrong || !report.problems.empty();
    none = none && report.run == 0;
  }
  if (none) std::cout << "no tests were run\n";
  return wrong || none ? 1 : 0;
} catch (const std::exception& error) {
  std::cerr << error.what() << "\n";
  return 1;
}
