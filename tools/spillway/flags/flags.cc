#include "tools/spillway/flags/flags.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>
#include <system_error>
#include <utility>

#include "absl/status/statusor.h"
#include "base/units.h"
#include "fmt/format.h"
#include "tools/spillway/manual/program_manual.h"

namespace spillway {
namespace {

// Parses all of `text` as a number; nullopt if that fails.
template <typename Number>
std::optional<Number> ParseNumber(std::string_view text) {
  Number number = {};
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, number);
  if (result.ec != std::errc() || result.ptr != end) return std::nullopt;
  return number;
}

int64_t ParseInt(const std::string& name, const std::string& text,
                 const IntFlag& flag) {
  const std::optional<int64_t> number = ParseNumber<int64_t>(text);
  if (number && flag.min <= *number && *number <= flag.max) return *number;
  const std::string range =
      flag.max == std::numeric_limits<int64_t>::max()
          ? fmt::format("of at least {}", flag.min)
          : fmt::format("from {} to {}", flag.min, flag.max);
  RefuseFlag(name, fmt::format("\"{}\" is not an integer {}", text, range));
}

double ParseReal(const std::string& name, const std::string& text,
                 const RealFlag& flag) {
  const std::optional<double> number = ParseNumber<double>(text);
  if (number && flag.min <= *number && *number <= flag.max) return *number;
  const std::string range =
      flag.max == std::numeric_limits<double>::max()
          ? fmt::format("of at least {}", flag.min)
          : fmt::format("from {} to {}", flag.min, flag.max);
  RefuseFlag(name, fmt::format("\"{}\" is not a number {}", text, range));
}

int64_t ParseSize(const std::string& name, const std::string& text) {
  const absl::StatusOr<int64_t> bytes = ParseBytes(text);
  if (!bytes.ok()) RefuseFlag(name, std::string(bytes.status().message()));
  return *bytes;
}

bool ParseBool(const std::string& name, const std::string& text) {
  const std::string lower = CLI::detail::to_lower(text);
  if (lower == "true" || lower.empty()) return true;
  if (lower == "false") return false;
  RefuseFlag(name, fmt::format("\"{}\" is neither true nor false", text));
}

std::string ParseText(const std::string& name, const std::string& text) {
  if (text.empty()) RefuseFlag(name, "must not be empty");
  return text;
}

std::string ParseChoice(const std::string& name, const std::string& text,
                        const std::vector<std::string>& choices) {
  if (std::ranges::find(choices, text) != choices.end()) return text;
  RefuseFlag(name, fmt::format("\"{}\" is not one of {}", text, Join(choices)));
}

std::vector<std::string> ParseList(const std::string& name,
                                   const std::string& text) {
  std::vector<std::string> items = CLI::detail::split(text, ',');
  if (std::ranges::find(items, "") != items.end()) {
    RefuseFlag(name, fmt::format("\"{}\" has an empty item", text));
  }
  return items;
}

// Ends each word: no argument of a program has this character.
constexpr char kEndOfWord = '\0';

std::vector<std::string> ParseRest(const std::string& /*name*/,
                                   const std::string& text) {
  if (text.back() != kEndOfWord) {
    Refuse(fmt::format("unexpected argument \"{}\"; -- goes before it", text));
  }
  std::vector<std::string> words;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = text.find(kEndOfWord, begin);
    words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

}  // namespace

CLI::Option* FlagSet::Text(const std::string& name, std::string& value,
                           const std::string& help) {
  return Add(name, value, ParseText)->type_name("TEXT")->description(help);
}

CLI::Option* FlagSet::File(const std::string& name, std::string& value,
                           const std::string& help) {
  return Text(name, value, help)->type_name("FILE");
}

CLI::Option* FlagSet::Folder(const std::string& name, std::string& value,
                             const std::string& help) {
  return Text(name, value, help)->type_name("FOLDER");
}

CLI::Option* FlagSet::List(const std::string& name,
                           std::vector<std::string>& values,
                           const std::string& help) {
  return Add(name, values, ParseList)->type_name("A,B,...")->description(help);
}

CLI::Option* FlagSet::Repeated(const std::string& name,
                               std::vector<std::string>& values,
                               const std::string& help) {
  const auto store = [&values](const std::vector<std::string>& given) {
    values = given;
  };
  return command_.add_option_function<std::vector<std::string>>(name, store)
      ->group(heading_)
      ->allow_extra_args(false)
      ->type_name("TEXT")
      ->description(help);
}

CLI::Option* FlagSet::Choice(const std::string& name, std::string& value,
                             const ChoiceFlag& flag) {
  const auto parse = [choices = flag.choices](const std::string& name,
                                              const std::string& text) {
    return ParseChoice(name, text, choices);
  };
  return Add(name, value, parse)
      ->type_name(CLI::detail::join(flag.choices, "|"))
      ->description(flag.help);
}

CLI::Option* FlagSet::Int(const std::string& name, int& value,
                          const IntFlag& flag) {
  IntFlag narrow = flag;
  narrow.max = std::min<int64_t>(flag.max, std::numeric_limits<int>::max());
  const auto parse = [narrow](const std::string& name,
                              const std::string& text) {
    return static_cast<int>(ParseInt(name, text, narrow));
  };
  return Add(name, value, parse)->type_name("N")->description(flag.help);
}

CLI::Option* FlagSet::Int(const std::string& name, int64_t& value,
                          const IntFlag& flag) {
  const auto parse = [flag](const std::string& name, const std::string& text) {
    return ParseInt(name, text, flag);
  };
  return Add(name, value, parse)->type_name("N")->description(flag.help);
}

CLI::Option* FlagSet::Real(const std::string& name, double& value,
                           const RealFlag& flag) {
  const auto parse = [flag](const std::string& name, const std::string& text) {
    return ParseReal(name, text, flag);
  };
  return Add(name, value, parse)->type_name("X")->description(flag.help);
}

CLI::Option* FlagSet::Real(const std::string& name,
                           std::optional<double>& value, const RealFlag& flag) {
  const auto parse = [flag](const std::string& name, const std::string& text) {
    return ParseReal(name, text, flag);
  };
  return Add(name, value, parse)->type_name("X")->description(flag.help);
}

CLI::Option* FlagSet::Size(const std::string& name, int64_t& value,
                           const std::string& help) {
  return Add(name, value, ParseSize)->type_name("SIZE")->description(help);
}

CLI::Option* FlagSet::Size(const std::string& name,
                           std::optional<int64_t>& value,
                           const std::string& help) {
  return Add(name, value, ParseSize)->type_name("SIZE")->description(help);
}

CLI::Option* FlagSet::Bool(const std::string& name, bool& value,
                           const std::string& help) {
  return Add(name, value, ParseBool)
      ->type_name("true|false")
      ->description(help)
      ->expected(0, 1);
}

CLI::Option* FlagSet::Rest(const std::string& name,
                           std::vector<std::string>& words,
                           const ChoiceFlag& flag) {
  CLI::Option* option = Add(name, words, ParseRest);
  return option->type_name(CLI::detail::join(flag.choices, "|"))
      ->description(flag.help)
      ->group(kRestGroup);
}

void FlagSet::Exclude(CLI::Option* flag, const std::string& other) {
  flag->excludes(command_.get_option(other));
}

void FlagSet::AtEnd(std::function<void()> check) {
  checks_.push_back(std::move(check));
  command_.final_callback([this] {
    for (const std::function<void()>& each : checks_) each();
  });
}

std::string JoinRest(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += word + kEndOfWord;
  return text;
}

void RefuseFlag(const std::string& name, const std::string& reason) {
  throw CLI::ValidationError(name, reason);
}

void Refuse(const std::string& message) { throw CLI::ValidationError(message); }

std::string Join(const std::vector<std::string>& words) {
  return CLI::detail::join(words, ", ");
}

}  // namespace spillway
