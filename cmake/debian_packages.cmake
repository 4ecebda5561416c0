# `cpack -G DEB`: two Debian packages, one for each component of package.cmake.
# Together they hold the files of `cmake --install --strip`, below /usr.
#
# dpkg-shlibdeps finds the libraries that the program needs. Those that the
# static libraries need are listed here: the packages that spillwayConfig.cmake
# looks for, in at least the version with which the libraries were compiled.

set(explanation "Spillway trains neural networks whose training step needs more memory than
the device has. It plans which tensors leave the device and when they return,
so that the step fits a budget. A network that is trained with swapping is
bitwise identical to the network trained without.")

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME spillway)
set(CPACK_PACKAGE_VENDOR "Spillway developers")
set(CPACK_PACKAGE_CONTACT "Spillway developers <spillway@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")  # each package has its own
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_COMPONENTS_ALL program development)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)  # spillway_0.1.0_amd64.deb
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)

set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME spillway)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SUGGESTS "libspillway-dev, dataset-fashion-mnist")
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION "training of neural networks beyond the memory of the device
${explanation}

This package has the program, its manual page, completion for bash, zsh and
fish, and device profiles.")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libspillway-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SUGGESTS "spillway, cmake, g++")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "training of neural networks beyond device memory (C++ library)
${explanation}

This package has the headers, the static libraries, the CMake package,
documents and examples.")

set(needed
  "libabsl-dev (>= ${absl_VERSION})"
  "libdnnl-dev (>= ${OneDNN_VERSION})"
  "libfmt-dev (>= ${fmt_VERSION})"
  "libjpeg62-turbo-dev"
  "libpng-dev"
  "libspdlog-dev (>= 1:${spdlog_VERSION})"
  "nlohmann-json3-dev (>= ${nlohmann_json_VERSION})"
  "zlib1g-dev")
if(SPILLWAY_WITH_GLOO)
  list(APPEND needed libgloo-dev)
endif()
if(SPILLWAY_WITH_MPI)
  list(APPEND needed libopenmpi-dev)
endif()
if(SPILLWAY_WITH_ONNX)
  list(APPEND needed libonnx-dev libprotobuf-dev)
endif()
list(JOIN needed ", " CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS)

include(CPack)
