// A KeyValueStore of files in a folder that all ranks see.
#ifndef SPILLWAY_COMM_RENDEZVOUS_FOLDER_STORE_H_
#define SPILLWAY_COMM_RENDEZVOUS_FOLDER_STORE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "comm/rendezvous/key_value_store.h"

namespace spillway {

// In the subfolder of `folder` that is named after the run, which is created.
// Whoever created `folder` deletes it after the run. A key is a file that is
// created exclusively, so a second process with the same rank, or a second run
// with the same id, finds the key set; a file that is not completely written
// counts as not there. Errors: INVALID_ARGUMENT for a folder that does not
// exist and for an empty or overlong run id; UNAVAILABLE from the system.
absl::StatusOr<std::unique_ptr<KeyValueStore>> OpenFolderStore(
    const std::string& folder, const std::string& run_id);

}  // namespace spillway

#endif  // SPILLWAY_COMM_RENDEZVOUS_FOLDER_STORE_H_
