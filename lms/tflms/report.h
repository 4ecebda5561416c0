// Log lines of TFLMS's auto-tuning; word for word those of the original where
// it logs the same.
#ifndef SPILLWAY_LMS_TFLMS_REPORT_H_
#define SPILLWAY_LMS_TFLMS_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "lms/options.h"
#include "lms/swap_plan.h"
#include "lms/tflms/search.h"
#include "lms/tflms/simulator.h"

namespace spillway {

// The memory available to the search.
std::vector<LogLine> DescribeTflmsSearch(const TflmsSimulator& simulator,
                                         int64_t batch_size);

LogLine DescribeFoundSet(const TflmsTrial& trial);

// The end of the search; `options` are those of the request.
std::vector<LogLine> DescribeTflmsChoice(const LmsOptions& options,
                                         const TflmsResult& result,
                                         const TflmsSimulator& simulator);

// RESOURCE_EXHAUSTED; `least` is the trial that needs the least device memory.
absl::Status NothingPassed(const TflmsTrial& least,
                           const TflmsSimulator& simulator);

// The log, each line with its prefix "[LMS][<level>] ".
std::vector<std::string> TflmsLogLines(const TflmsResult& result);

}  // namespace spillway

#endif  // SPILLWAY_LMS_TFLMS_REPORT_H_
