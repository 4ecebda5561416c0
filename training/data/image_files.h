// Lists the images of a folder whose subfolders are classes.
//
//   FOLDER/train/CLASS/*.jpg   or   FOLDER/CLASS/*.jpg
//   FOLDER/val/CLASS/*.jpg
//
// A folder with `train`, `val` or `test` has the first layout. Its test split
// is `val`, or without that `test`; other entries beside these folders are
// ignored. In the second layout, the test split is every image whose name, as
// CLASS/FILE, has a hash that is a multiple of test_one_in; so an image stays
// in its split when others are added or removed.
#ifndef SPILLWAY_TRAINING_DATA_IMAGE_FILES_H_
#define SPILLWAY_TRAINING_DATA_IMAGE_FILES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "training/data/image_dataset.h"

namespace spillway {

struct ListImagesOptions {
  int64_t test_one_in = 10;  // of the second layout; at least 2
  // Whether to leave out files and folders that are no images (by their ending:
  // .jpg, .jpeg, .png in any case) with a warning, instead of refusing them.
  bool skip_other_files = false;
};

struct ImageFile {
  std::string name = {};  // "CLASS/FILE", below ImageFiles::folder
  int32_t label = 0;      // index in ImageFiles::class_names
};

struct ImageFiles {
  std::string folder = {};  // of the split
  // Sorted by bytes. In the first layout, those of `train` for both splits.
  std::vector<std::string> class_names = {};
  std::vector<ImageFile> files = {};  // sorted by label, then by name
};

// Reads folders, but no image. Names that begin with a dot are left out.
// Deterministic: the order in which the system lists a folder does not matter.
// Errors: NOT_FOUND for a missing folder or split; INVALID_ARGUMENT naming
// folder and file for an entry that is no image (a broken link, for example), a
// class without images or that `train` lacks, and a split without images;
// PERMISSION_DENIED.
absl::StatusOr<ImageFiles> ListImageFiles(
    const std::string& folder, Split split,
    const ListImagesOptions& options = {});

}  // namespace spillway

#endif  // SPILLWAY_TRAINING_DATA_IMAGE_FILES_H_
