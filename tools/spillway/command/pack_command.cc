#include "tools/spillway/command/pack_command.h"

#include <chrono>

#include "base/counted.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "base/units.h"
#include "executor/memory/static_packing.h"
#include "fmt/format.h"
#include "tools/spillway/output/buffer_csv.h"
#include "tools/spillway/output/progress.h"

namespace spillway {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

absl::StatusOr<BufferTable> ReadBuffers(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadFile(path);
  if (!text.ok()) return Annotate(text.status(), "--csv");
  absl::StatusOr<BufferTable> table = ParseBuffers(*text, path);
  if (!table.ok()) return Annotate(table.status(), "--csv");
  return table;
}

// Whether no placement at all can meet the capacity.
bool IsHopeless(const PackFlags& flags, int64_t lower_bound_bytes) {
  return flags.capacity <= lower_bound_bytes - flags.alignment;
}

struct Result {
  Packing packing = {};
  double seconds = 0;
};

Result Pack(const BufferTable& table, const PackFlags& flags) {
  const Clock::time_point start = Clock::now();
  const auto stop = [&] {
    const double seconds = SecondsSince(start);
    ShowProgress(
        fmt::format("packing: {:.0f} of {} s", seconds, flags.time_limit));
    return seconds >= flags.time_limit;
  };
  constexpr int64_t kUnlimited = int64_t{1} << 60;
  const bool is_hopeless =
      IsHopeless(flags, LiveBytesLowerBound(table.items, flags.alignment));
  Result result;
  result.packing = PackBuffers(
      table.items,
      {.alignment = flags.alignment,
       .target_bytes = flags.capacity,
       .search_effort = is_hopeless ? kDefaultSearchEffort : kUnlimited,
       .stop = stop});
  result.seconds = SecondsSince(start);
  ClearProgress();
  return result;
}

bool Fits(const PackFlags& flags, const Result& result) {
  return result.packing.height_bytes <= flags.capacity;
}

absl::Status CapacityError(const PackFlags& flags, const Result& result) {
  const Packing& packing = result.packing;
  const std::string_view remedy =
      IsHopeless(flags, packing.lower_bound_bytes)
          ? "no placement can be so low"
      : result.seconds < flags.time_limit
          ? "there is nothing left to try"
          : "a longer --time_limit may find a lower one";
  return ResourceExhausted(fmt::format(
      "the capacity is {}, but the lowest placement found needs {}, {} more; "
      "{}",
      Counted(flags.capacity, "byte"), packing.height_bytes,
      packing.height_bytes - flags.capacity, remedy));
}

std::string FormatResult(const BufferTable& table, const PackFlags& flags,
                         const Result& result) {
  return fmt::format(
      "buffers      {}\n"
      "capacity     {}, {}\n"
      "height       {}\n"
      "lower bound  {}\n"
      "time         {:.3f} s\n",
      table.items.size(), Counted(flags.capacity, "byte"),
      Fits(flags, result) ? "met" : "not met",
      Counted(result.packing.height_bytes, "byte"),
      Counted(result.packing.lower_bound_bytes, "byte"), result.seconds);
}

Json ToJson(const BufferTable& table, const PackFlags& flags,
            const Result& result) {
  return {{"buffers", table.items.size()},
          {"capacity", flags.capacity},
          {"alignment", flags.alignment},
          {"fits", Fits(flags, result)},
          {"height", result.packing.height_bytes},
          {"lower_bound", result.packing.lower_bound_bytes},
          {"seconds", result.seconds}};
}

}  // namespace

void AddPackFlags(FlagSet& set, PackFlags& flags) {
  set.BeginGroup("Task");
  set.File("--csv", flags.csv,
           "buffers to place: id,lower,upper,size and optionally gaps")
      ->required();
  set.Size("--capacity", flags.capacity,
           "bytes to fit them into; stops at the first placement that does")
      ->required();
  set.Int("--alignment", flags.alignment,
          {.help = "offsets are multiples of this (1)",
           .min = 1,
           .max = int64_t{1} << 30});
  set.Real("--time_limit", flags.time_limit,
           {.help = "seconds after which it gives up (60)"});
  set.BeginGroup("Files");
  set.File("--out", flags.out,
           "write id,lower,upper,size,offset to this file; unchanged if the "
           "capacity is not met (exit status 3)");
  AddResultFlags(set, flags.result);
}

absl::Status RunPack(const PackFlags& flags) {
  Outputs outputs(flags.result, {{"--out", flags.out}});
  SPILLWAY_RETURN_IF_ERROR(outputs.Check());
  SPILLWAY_ASSIGN_OR_RETURN(const BufferTable table, ReadBuffers(flags.csv));
  const Result result = Pack(table, flags);
  outputs.Print(FormatResult(table, flags, result));
  outputs.WriteJson(ToJson(table, flags, result));
  if (!Fits(flags, result)) return outputs.Finish(CapacityError(flags, result));
  outputs.Write("--out",
                [&] { return FormatPlacement(table, result.packing.offsets); });
  return outputs.Finish();
}

}  // namespace spillway
