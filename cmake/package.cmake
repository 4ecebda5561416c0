# Headers, libraries and the package config, so that find_package(spillway)
# works against an installed tree. Headers land in include/spillway/<folder>/;
# those that end in _cpu.h, and those of ops/gpu, are private to their kernels
# and stay here.
include(CMakePackageConfigHelpers)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/spillway)

# spillway::spillway: all libraries at once.
get_property(libraries GLOBAL PROPERTY spillway_libraries)
add_library(spillway_all INTERFACE)
target_link_libraries(spillway_all INTERFACE ${libraries})
set_target_properties(spillway_all PROPERTIES EXPORT_NAME spillway)
install(TARGETS spillway_all EXPORT spillway)
install(EXPORT spillway FILE spillwayTargets.cmake NAMESPACE spillway::
        DESTINATION ${package_folder})

install(TARGETS spillway RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY base graph lms executor ops models training
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/spillway
        FILES_MATCHING PATTERN "*.h" PATTERN "*_cpu.h" EXCLUDE
        PATTERN "gpu" EXCLUDE)
install(FILES cmake/spillway.h
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/spillway)
install(FILES LICENSE NOTICE DESTINATION ${CMAKE_INSTALL_DOCDIR})

configure_package_config_file(cmake/spillwayConfig.cmake.in spillwayConfig.cmake
  INSTALL_DESTINATION ${package_folder} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(spillwayConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/spillwayConfig.cmake
  ${PROJECT_BINARY_DIR}/spillwayConfigVersion.cmake
  ${PROJECT_SOURCE_DIR}/cmake/FindOneDNN.cmake
  DESTINATION ${package_folder})
