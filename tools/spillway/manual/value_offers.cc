#include "tools/spillway/manual/value_offers.h"

#include <algorithm>

#include "CLI/CLI.hpp"
#include "graph/passes/standard_passes.h"
#include "models/zoo.h"
#include "simulator/shipped_profiles.h"
#include "tuner/policies/policies.h"

namespace spillway {
namespace {

bool IsCapital(char c) { return 'A' <= c && c <= 'Z'; }

bool IsChoice(const std::string& word) {
  return !word.empty() && std::ranges::none_of(word, IsCapital);
}

void AddOffers(const std::string& word, ValueOffers& offers) {
  if (IsChoice(word)) {
    offers.words.push_back(word);
  } else if (word == "FILE" || word == "TEXT" || word == "A,B,...") {
    offers.files = true;
  } else if (word == "FOLDER") {
    offers.folders = true;
  } else if (word == "MODEL") {
    for (const ModelSpec& model : Zoo()) offers.words.emplace_back(model.name);
  } else if (word == "PROFILE") {
    for (const std::string& name : ShippedProfileNames()) {
      offers.words.push_back(name);
    }
  } else if (word == "POLICY") {
    const std::vector<std::string>& names = PolicyNames();
    offers.words.insert(offers.words.end(), names.begin(), names.end());
  } else if (word == "PASS,...") {
    for (const Pass& pass : StandardPasses()) {
      offers.words.emplace_back(pass.name);
    }
  }
}

}  // namespace

ValueOffers OffersOf(const std::string& value) {
  ValueOffers offers;
  for (const std::string& word : CLI::detail::split(value, '|')) {
    AddOffers(word, offers);
  }
  return offers;
}

}  // namespace spillway
