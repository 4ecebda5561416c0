// Typed flags on top of CLI11. Every value is parsed and checked here, so that
// each error is one line that names the flag and its valid values. A flag's
// type name is shown by --help and determines what completion offers
// (manual/value_offers.h). A name without dashes is a positional argument.
//
// Ownership: a FlagSet borrows the CLI11 command and every variable until the
// command line is parsed, and must live until then. Errors:
// CLI::ValidationError, thrown while CLI11 parses and caught by main.
#ifndef SPILLWAY_TOOLS_SPILLWAY_FLAGS_FLAGS_H_
#define SPILLWAY_TOOLS_SPILLWAY_FLAGS_FLAGS_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"

namespace spillway {

struct IntFlag {
  std::string help = {};
  int64_t min = 0;
  int64_t max = std::numeric_limits<int64_t>::max();
};

struct RealFlag {
  std::string help = {};
  double min = 0;
  double max = std::numeric_limits<double>::max();
};

struct ChoiceFlag {
  std::string help = {};
  std::vector<std::string> choices = {};
};

class FlagSet {
 public:
  explicit FlagSet(CLI::App& command) : command_(command) {}

  // Flags added after this call appear under this heading in --help.
  void BeginGroup(const std::string& heading) { heading_ = heading; }

  CLI::Option* Text(const std::string& name, std::string& value,
                    const std::string& help);
  // Paths: like Text, but completion offers files or folders.
  CLI::Option* File(const std::string& name, std::string& value,
                    const std::string& help);
  CLI::Option* Folder(const std::string& name, std::string& value,
                      const std::string& help);
  // Separated by commas.
  CLI::Option* List(const std::string& name, std::vector<std::string>& values,
                    const std::string& help);
  // Each time the flag is given, one more value.
  CLI::Option* Repeated(const std::string& name,
                        std::vector<std::string>& values,
                        const std::string& help);
  CLI::Option* Choice(const std::string& name, std::string& value,
                      const ChoiceFlag& flag);
  CLI::Option* Int(const std::string& name, int64_t& value,
                   const IntFlag& flag);
  CLI::Option* Int(const std::string& name, int& value, const IntFlag& flag);
  CLI::Option* Real(const std::string& name, double& value,
                    const RealFlag& flag);
  CLI::Option* Real(const std::string& name, std::optional<double>& value,
                    const RealFlag& flag);
  // Bytes: 512MiB, 16GiB, 1.5GB or a plain number.
  CLI::Option* Size(const std::string& name, int64_t& value,
                    const std::string& help);
  CLI::Option* Size(const std::string& name, std::optional<int64_t>& value,
                    const std::string& help);
  // `--name`, `--name true`, `--name=false`; any case.
  CLI::Option* Bool(const std::string& name, bool& value,
                    const std::string& help);

  // The words after "--": one of `choices`, then any words, even those of
  // another command's flags. Stays empty without "--". The command line has
  // them as JoinRest.
  CLI::Option* Rest(const std::string& name, std::vector<std::string>& words,
                    const ChoiceFlag& flag);

  // `flag` and the flag named `other` cannot both be given.
  void Exclude(CLI::Option* flag, const std::string& other);

  // Whether the command line has the flag; for checks at the end.
  bool IsGiven(const std::string& name) const {
    return command_.get_option(name)->count() > 0;
  }

  // Adds a check that needs the whole command line; `check` calls RefuseFlag.
  void AtEnd(std::function<void()> check);

  // A flag of any other kind: value = parse(name, text), where `parse` calls
  // RefuseFlag for invalid text.
  template <typename Value, typename Parse>
  CLI::Option* Add(const std::string& name, Value& value, Parse parse) {
    // The last of several names: that of "-n,--num_ranks" is --num_ranks.
    const std::string last = name.substr(name.rfind(',') + 1);
    const auto store = [last, &value, parse](const std::string& text) {
      value = parse(last, text);
    };
    return command_.add_option_function<std::string>(name, store)
        ->group(heading_);
  }

 private:
  CLI::App& command_;
  std::string heading_ = "Flags";
  std::vector<std::function<void()>> checks_;
};

// The words as the one argument that FlagSet::Rest takes.
std::string JoinRest(const std::vector<std::string>& words);

// Ends parsing with the message "`name`: `reason`".
[[noreturn]] void RefuseFlag(const std::string& name,
                             const std::string& reason);

// Ends parsing with this message.
[[noreturn]] void Refuse(const std::string& message);

// "a, b, c"
std::string Join(const std::vector<std::string>& words);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_FLAGS_FLAGS_H_
