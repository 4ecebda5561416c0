#include "tuner/buckets/bucketed_session.h"

#include <algorithm>
#include <utility>

#include "base/status_macros.h"
#include "base/units.h"
#include "fmt/format.h"
#include "lms/options.h"
#include "spdlog/spdlog.h"
#include "tuner/choose_step.h"
#include "tuner/prepare_step.h"

namespace spillway {
namespace {

std::string Bytes(int64_t bytes) {
  return fmt::format("{} ({} bytes)", FormatBytes(bytes), bytes);
}

absl::Status CheckSpec(const ShapeBucketSpec& spec,
                       const StepOptions& options) {
  SPILLWAY_RETURN_IF_ERROR(CheckStepOptions(options));
  if (spec.program_of == nullptr) {
    return InvalidArgument("program_of: is null; it builds the programs");
  }
  if (options.plan != nullptr) {
    return InvalidArgument("plan: is for one program; leave it out");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<const HostTensor*> BucketStep::tensor(size_t fetch) const {
  if (fetch < fetches.size()) return result.tensor(fetches[fetch]);
  return InvalidArgument(fmt::format("there is no fetch {}; the program has {}",
                                     fetch, fetches.size()));
}

absl::StatusOr<float> BucketStep::scalar(size_t fetch) const {
  SPILLWAY_RETURN_IF_ERROR(tensor(fetch).status());
  return result.scalar(fetches[fetch]);
}

BucketedSession::BucketedSession(ShapeBucketSpec spec,
                                 const StepOptions& options)
    : spec_(std::move(spec)), options_(options) {}

absl::StatusOr<std::unique_ptr<BucketedSession>> BucketedSession::Create(
    ShapeBucketSpec spec, const StepOptions& options) {
  SPILLWAY_RETURN_IF_ERROR(CheckSpec(spec, options));
  std::unique_ptr<BucketedSession> session(
      new BucketedSession(std::move(spec), options));
  SPILLWAY_RETURN_IF_ERROR(session->OpenFirst());
  return session;
}

absl::Status BucketedSession::OpenFirst() {
  {
    SPILLWAY_ASSIGN_OR_RETURN(const std::unique_ptr<Device> device,
                              OpenWholeDevice(options_));
    kind_ = device->kind();
  }
  if (NeedsTuning(options_.lms)) {
    SPILLWAY_ASSIGN_OR_RETURN(options_.device_memory, DeviceBudget(options_));
  }
  std::vector<TunedBucket> buckets(1);
  SPILLWAY_ASSIGN_OR_RETURN(buckets[0].bucket,
                            BuildBucket(spec_, spec_.default_key));
  SPILLWAY_RETURN_IF_ERROR(CheckBatchInputs(spec_, buckets[0].bucket));
  std::set<BucketKey> known = {spec_.default_key};
  for (const BucketKey& key : spec_.keys) {
    if (!known.insert(key).second) continue;
    SPILLWAY_ASSIGN_OR_RETURN(Bucket bucket, BuildBucket(spec_, key));
    SPILLWAY_RETURN_IF_ERROR(
        CheckMatches(spec_, options_, bucket, buckets[0].bucket));
    buckets.push_back({.bucket = std::move(bucket)});
  }
  SPILLWAY_RETURN_IF_ERROR(Tune(buckets, 0));
  SPILLWAY_ASSIGN_OR_RETURN(PlannedPrograms planned, Plan(buckets));
  buckets_ = std::move(buckets);
  return Resume(std::move(planned));
}

absl::StatusOr<int> BucketedSession::Open(const BucketKey& key) {
  SPILLWAY_RETURN_IF_ERROR(session().status());
  if (!Find(key)) SPILLWAY_RETURN_IF_ERROR(Add(key));
  return *Find(key);
}

absl::StatusOr<BucketStep> BucketedSession::Step(const BucketKey& key,
                                                 const NamedFeeds& feeds,
                                                 Timeline* timeline) {
  SPILLWAY_ASSIGN_OR_RETURN(const int program, Open(key));
  const Bucket& bucket = buckets_[static_cast<size_t>(program)].bucket;
  Feeds by_value;
  for (const auto& [name, feed] : feeds) {
    SPILLWAY_ASSIGN_OR_RETURN(const ValueId input, FindInput(bucket, name));
    by_value[input] = feed;
  }
  absl::StatusOr<StepResult> result =
      session_->Step(program, by_value, timeline);
  if (!result.ok()) return Annotate(result.status(), BucketName(key));
  return BucketStep{.result = *std::move(result),
                    .fetches = bucket.program.fetches};
}

std::vector<BucketKey> BucketedSession::keys() const {
  std::vector<BucketKey> keys;
  for (const TunedBucket& tuned : buckets_) keys.push_back(tuned.bucket.key);
  return keys;
}

absl::StatusOr<Session*> BucketedSession::session() {
  if (session_ == nullptr) {
    SPILLWAY_ASSIGN_OR_RETURN(PlannedPrograms planned, Plan(buckets_));
    SPILLWAY_RETURN_IF_ERROR(Resume(std::move(planned)));
  }
  return session_.get();
}

std::optional<int> BucketedSession::Find(const BucketKey& key) const {
  for (size_t i = 0; i < buckets_.size(); ++i) {
    if (buckets_[i].bucket.key == key) return static_cast<int>(i);
  }
  return std::nullopt;
}

// Everything that can be refused, is refused before the old session is closed.
absl::Status BucketedSession::Add(const BucketKey& key) {
  std::vector<TunedBucket> buckets = buckets_;
  TunedBucket& added = buckets.emplace_back();
  SPILLWAY_ASSIGN_OR_RETURN(added.bucket, BuildBucket(spec_, key));
  SPILLWAY_RETURN_IF_ERROR(
      CheckMatches(spec_, options_, added.bucket, buckets_[0].bucket));
  SPILLWAY_RETURN_IF_ERROR(Tune(buckets, buckets.size() - 1));
  absl::StatusOr<PlannedPrograms> planned = Plan(buckets);
  if (absl::IsResourceExhausted(planned.status())) {
    // The others were tuned without the constants of this one.
    SPILLWAY_RETURN_IF_ERROR(Tune(buckets, 0));
    planned = Plan(buckets);
  }
  SPILLWAY_RETURN_IF_ERROR(Annotate(planned.status(), BucketName(key)));
  SPILLWAY_RETURN_IF_ERROR(AnnounceGrowth(key, *planned));
  return Annotate(Replace(std::move(buckets), *std::move(planned)),
                  BucketName(key));
}

// Tunes buckets[first] and those that follow, beside the residents of all.
absl::Status BucketedSession::Tune(std::vector<TunedBucket>& buckets,
                                   size_t first) {
  std::vector<const Program*> programs;
  for (const TunedBucket& tuned : buckets) {
    programs.push_back(&tuned.bucket.program);
  }
  SPILLWAY_ASSIGN_OR_RETURN(const std::vector<int64_t> reserved,
                            BytesOfOtherResidents(programs, *options_.ops));
  for (size_t i = first; i < buckets.size(); ++i) {
    const Program& program = buckets[i].bucket.program;
    absl::StatusOr<ChosenStep> chosen =
        ChooseStep({.graph = &program.graph,
                    .fetches = program.fetches,
                    .options = options_,
                    .reserved_bytes = reserved[i]});
    if (!chosen.ok()) {
      return Annotate(chosen.status(), BucketName(buckets[i].bucket.key));
    }
    buckets[i].tuned = ProgramOf(*std::move(chosen));
    options_.warns_of_profile = false;
  }
  return absl::OkStatus();
}

absl::StatusOr<PlannedPrograms> BucketedSession::Plan(
    const std::vector<TunedBucket>& buckets) const {
  std::vector<Program> programs;
  for (const TunedBucket& tuned : buckets) programs.push_back(tuned.tuned);
  return PlanPrograms(std::move(programs), kind_, SessionOptionsOf(options_));
}

absl::Status BucketedSession::AnnounceGrowth(const BucketKey& key,
                                             const PlannedPrograms& planned) {
  const int64_t present = session_->memory().predicted_device_bytes;
  const int64_t device_bytes = planned.device_bytes;
  const int64_t new_constants = planned.programs[0].plan.resident_bytes -
                                session_->plan(0)->resident_bytes;
  if (device_bytes - new_constants <= present) return absl::OkStatus();
  if (spec_.strict) {
    return ResourceExhausted(fmt::format(
        "{} needs {} of device memory, but the arena has {}; add the key to "
        "ShapeBucketSpec::keys, so that it is planned ahead, or unset strict",
        BucketName(key), Bytes(device_bytes), Bytes(present)));
  }
  if (announced_.insert(key).second) {
    spdlog::warn(
        "the arena grows from {} to {} for {}; add the key to "
        "ShapeBucketSpec::keys, so that it is planned ahead",
        Bytes(present), Bytes(device_bytes), BucketName(key));
  }
  return absl::OkStatus();
}

// Closes the session and opens one of `buckets`; if that fails, the old one.
absl::Status BucketedSession::Replace(std::vector<TunedBucket> buckets,
                                      PlannedPrograms planned) {
  SessionState state = {.step_numbers = session_->step_numbers()};
  SPILLWAY_ASSIGN_OR_RETURN(state.variables, session_->ReadAllVariables());
  state_ = std::move(state);
  session_.reset();  // releases the old arena
  std::swap(buckets_, buckets);
  const absl::Status opened = Resume(std::move(planned));
  if (opened.ok()) return opened;
  buckets_ = std::move(buckets);
  session().status().IgnoreError();  // the next call tries again
  return opened;
}

// Opens the session of buckets_ with the values of `state_`, if there are any.
absl::Status BucketedSession::Resume(PlannedPrograms planned) {
  SPILLWAY_ASSIGN_OR_RETURN(std::unique_ptr<Device> device,
                            OpenDevice(options_));
  SPILLWAY_ASSIGN_OR_RETURN(std::unique_ptr<Session> session,
                            CreateSession(std::move(planned), std::move(device),
                                          SessionOptionsOf(options_)));
  if (state_) {
    SPILLWAY_RETURN_IF_ERROR(session->WriteAllVariables(state_->variables));
    std::vector<int64_t> numbers = state_->step_numbers;
    numbers.resize(buckets_.size(), 0);
    SPILLWAY_RETURN_IF_ERROR(session->SetStepNumbers(numbers));
  }
  session_ = std::move(session);
  state_.reset();
  return absl::OkStatus();
}

}  // namespace spillway
