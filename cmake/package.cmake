# The results of `cmake --install`, in two components. `program`: the program
# with its manual page, completion scripts and device profiles. For development:
# headers, libraries, the package config for find_package(spillway), docs and
# examples. An install() without a component is for development
# (CMakeLists.txt).
include(CMakePackageConfigHelpers)
include(program_files)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/spillway)

# spillway::spillway: all libraries together, and the umbrella header. In the
# build tree that header is generated, so that tests and examples include
# "spillway/spillway.h" there too.
get_property(libraries GLOBAL PROPERTY spillway_libraries)
file(WRITE ${PROJECT_BINARY_DIR}/include/spillway/spillway.h
     "#include \"cmake/spillway.h\"  // IWYU pragma: export\n")
add_library(spillway_all INTERFACE)
add_library(spillway::spillway ALIAS spillway_all)
target_include_directories(spillway_all INTERFACE
  $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>)
target_link_libraries(spillway_all INTERFACE ${libraries})
set_target_properties(spillway_all PROPERTIES EXPORT_NAME spillway)
install(TARGETS spillway_all EXPORT spillway)
install(EXPORT spillway FILE spillwayTargets.cmake NAMESPACE spillway::
        DESTINATION ${package_folder})

# spillway::cuda: exported separately, since it needs the CUDA toolkit, which
# the package requires only with find_package(spillway COMPONENTS cuda).
if(SPILLWAY_WITH_CUDA)
  install(TARGETS spillway_cuda EXPORT spillway_cuda)
  install(EXPORT spillway_cuda FILE spillwayCudaTargets.cmake
          NAMESPACE spillway:: DESTINATION ${package_folder})
endif()

# A separate process, since an install script has no policies set.
install(CODE "
  execute_process(
    COMMAND \"${CMAKE_COMMAND}\" \"-DSOURCE=${PROJECT_SOURCE_DIR}\"
            \"-DDESTINATION=${PROJECT_BINARY_DIR}/public_headers/spillway\"
            -P \"${PROJECT_SOURCE_DIR}/cmake/write_public_headers.cmake\"
    COMMAND_ERROR_IS_FATAL ANY)")
install(DIRECTORY ${PROJECT_BINARY_DIR}/public_headers/spillway
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

install(TARGETS spillway RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
install(DIRECTORY simulator/profiles
        DESTINATION ${CMAKE_INSTALL_DATADIR}/spillway COMPONENT program)
install(FILES LICENSE NOTICE README.md CHANGELOG.md cmake/debian/copyright
        DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program)
# Next to README.md, whose links lead to them (Debian Policy 12.3 lets one
# package have documents in the folder of another).
install(FILES CONTRIBUTING.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs examples DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES cmake/debian/copyright
        DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/libspillway-dev)

configure_package_config_file(cmake/spillwayConfig.cmake.in spillwayConfig.cmake
  INSTALL_DESTINATION ${package_folder} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(spillwayConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/spillwayConfig.cmake
  ${PROJECT_BINARY_DIR}/spillwayConfigVersion.cmake
  ${PROJECT_SOURCE_DIR}/cmake/FindOneDNN.cmake
  DESTINATION ${package_folder})

# The parts of a build that an installation needs: no tests, no benchmarks.
add_custom_target(installed_files)
add_dependencies(installed_files spillway program_files ${libraries})
if(SPILLWAY_WITH_CUDA)
  add_dependencies(installed_files spillway_cuda)
endif()

include(debian_packages)
