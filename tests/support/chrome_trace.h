// Reads a Chrome trace as Perfetto does: an independent reader of the format,
// which shares no code with the writer.
//
// It replaces Perfetto's trace processor. The Python package "perfetto" of PyPI
// does not contain that program: it fetches it from another server when it is
// first used (trace_processor/platform.py of version 0.59.1), and Debian does
// not have it either. The rules below are those of its importer of JSON: events
// are taken in order of time, and in file order if times are equal; an arrow
// belongs to the slice on top of its thread at that moment; flows are
// distinguished by id, category and name.
#ifndef SPILLWAY_TESTS_SUPPORT_CHROME_TRACE_H_
#define SPILLWAY_TESTS_SUPPORT_CHROME_TRACE_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"

namespace spillway::testing {

struct TraceSlice {
  int64_t process = 0;
  std::string thread = {};  // its name
  std::string name = {};
  std::string category = {};
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  nlohmann::ordered_json args = {};
};

// From one slice to the next of the same flow.
struct TraceArrow {
  std::string flow = {};  // its name
  TraceSlice from = {};
  TraceSlice to = {};
};

struct ReadTrace {
  std::map<int64_t, std::string> processes = {};  // names by id
  std::vector<TraceSlice> slices = {};            // in order of time
  std::vector<TraceArrow> arrows = {};
  // One line for each violated rule: a missing field; a process or thread 0,
  // which Perfetto takes for the kernel's, or one without a name; two slices of
  // a thread that overlap; an arrow outside of every slice; a flow that does
  // not begin, does not end, or continues after its end.
  std::vector<std::string> faults = {};
};

ReadTrace ReadChromeTrace(const std::string& text);

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_SUPPORT_CHROME_TRACE_H_
