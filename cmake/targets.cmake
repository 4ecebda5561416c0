# The only place that knows warnings, standards and the naming of targets.

# spillway_library(graph SOURCES graph.cc ... DEPENDS spillway::base): one a
# folder; installed and exported as spillway::graph, unless NOT_INSTALLED.
function(spillway_library name)
  cmake_parse_arguments(ARG "NOT_INSTALLED" "" "SOURCES;DEPENDS;PRIVATE_DEPENDS" ${ARGN})
  add_library(spillway_${name} STATIC ${ARG_SOURCES})
  add_library(spillway::${name} ALIAS spillway_${name})
  set_target_properties(spillway_${name} PROPERTIES EXPORT_NAME ${name})
  target_include_directories(spillway_${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(spillway_${name}
    PUBLIC ${ARG_DEPENDS} PRIVATE ${ARG_PRIVATE_DEPENDS})
  spillway_compile_options(spillway_${name})
  spillway_precompile(spillway_${name} ${ARG_SOURCES})
  if(ARG_NOT_INSTALLED)
    return()
  endif()
  install(TARGETS spillway_${name} EXPORT spillway)
  set_property(GLOBAL APPEND PROPERTY spillway_libraries spillway_${name})
endfunction()

# spillway_program(spillway SOURCES main.cc DEPENDS ...): lands in bin/.
function(spillway_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS})
  set_target_properties(${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
  spillway_compile_options(${name})
  spillway_precompile(${name} ${ARG_SOURCES})
endfunction()

# With sanitizers, what nearly every file includes is compiled once a target:
# small files then take 60 % of the time. Other builds see to it that each file
# includes what it uses.
function(spillway_precompile target)
  list(LENGTH ARGN num_sources)
  if(NOT SPILLWAY_SANITIZE OR num_sources LESS 10)
    return()
  endif()
  target_precompile_headers(${target} PRIVATE
    <algorithm> <cstdint> <functional> <map> <memory> <optional> <span> <string>
    <string_view> <utility> <vector> <absl/status/statusor.h> <fmt/format.h>)
  set_target_properties(${target} PROPERTIES PCH_WARN_INVALID OFF)
endfunction()

# The tests that run under TSan (label "tsan"), and those that are quick enough
# for ASan (all without the label "slow").
add_custom_target(tsan_tests)
add_custom_target(quick_tests)

# Most of a test's compile time goes into GoogleTest's headers and into code that
# runs once: headers are compiled once for all, the rest is hardly optimised.
# (At -O1, GCC 12 takes the growing of a std::string for an overflow.)
function(spillway_test_options target)
  spillway_compile_options(${target})
  target_compile_options(${target} PRIVATE
    "$<$<CONFIG:Release>:-O1;-Wno-array-bounds;-Wno-stringop-overflow>" $<$<CONFIG:Debug>:-O0>)
  set_target_properties(${target} PROPERTIES PCH_WARN_INVALID OFF)
endfunction()

# The target whose precompiled headers all tests use.
function(spillway_test_headers)
  add_executable(spillway_test_headers EXCLUDE_FROM_ALL
    ${PROJECT_SOURCE_DIR}/tests/test_headers.cc)
  target_link_libraries(spillway_test_headers
    PRIVATE spillway::base GTest::gmock_main)
  spillway_test_options(spillway_test_headers)
  target_precompile_headers(spillway_test_headers
    PRIVATE <gmock/gmock.h> <gtest/gtest.h>)
endfunction()

# spillway_test(lms/plan_swap_ins DEPENDS spillway::lms) builds
# tests/lms/plan_swap_ins_test.cc and names the CTest lms/plan_swap_ins.
# SOURCES adds files; LABELS sets CTest labels ("tsan": run under TSan too;
# "slow": left out under ASan).
function(spillway_test path)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;DEPENDS;LABELS" ${ARGN})
  string(REPLACE "/" "_" target ${path}_test)
  add_executable(${target} ${PROJECT_SOURCE_DIR}/tests/${path}_test.cc ${ARG_SOURCES})
  target_link_libraries(${target} PRIVATE ${ARG_DEPENDS} GTest::gmock_main)
  spillway_test_options(${target})
  target_precompile_headers(${target} REUSE_FROM spillway_test_headers)
  add_test(NAME ${path} COMMAND ${target})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 600)
  endif()
  set_tests_properties(${path} PROPERTIES
    TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}")
  if("tsan" IN_LIST ARG_LABELS)
    add_dependencies(tsan_tests ${target})
  endif()
  if(NOT "slow" IN_LIST ARG_LABELS)
    add_dependencies(quick_tests ${target})
  endif()
endfunction()

# spillway_test_library(test_graphs SOURCES ... DEPENDS ...): what several tests
# are made of, compiled once.
function(spillway_test_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_library(${name} STATIC EXCLUDE_FROM_ALL ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC ${ARG_DEPENDS} GTest::gmock)
  spillway_test_options(${name})
  target_precompile_headers(${name} REUSE_FROM spillway_test_headers)
endfunction()

function(spillway_compile_options target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_compile_options(${target} PRIVATE
    $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Werror>)
endfunction()
