// The device profile of this machine, measured.
#ifndef SPILLWAY_TOOLS_SPILLWAY_MEASURE_PROFILE_H_
#define SPILLWAY_TOOLS_SPILLWAY_MEASURE_PROFILE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "benchmarks/measure_kernels.h"
#include "simulator/device_profile.h"
#include "tools/spillway/device_flags.h"
#include "tools/spillway/graph_source.h"

namespace spillway {

// Link, memory, peak rates, the host. `repeats`: of each measurement, at most;
// 20 take about a second. Measured again where a number makes no sense, and in
// the end brought into its range with a warning (MakePlausible). Errors: as
// OpenDevice and what the device says.
absl::StatusOr<DeviceProfile> MeasureDevice(const DeviceFlags& flags,
                                            int64_t repeats);

// What only shows while kernels run.
struct MeasuredStep {
  MeasuredKernels kernels = {};  // that take their first algorithms
  // By signature and name, the first among them.
  decltype(DeviceProfile::algorithms) algorithms = {};
  double kernel_ns_per_copied_byte = 0;
};

// The kernels of a step, without swapping, on synthetic images; a graph file's
// Placeholders are fed zeros. Then again with the second algorithm of each that
// has several, and so on; those that do not fit the machine are left out, which
// is logged. Errors: RESOURCE_EXHAUSTED where the step does
// not fit the machine; what a session says.
absl::StatusOr<MeasuredStep> MeasureGraph(const SourceGraph& source,
                                          const DeviceFlags& flags,
                                          const KernelMeasurement& spec);

// MeasuredStep::kernel_ns_per_copied_byte of matrix products: where there is no
// graph.
absl::StatusOr<double> MeasureProductContention(const DeviceFlags& flags,
                                                int64_t repeats);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_MEASURE_PROFILE_H_
