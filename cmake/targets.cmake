# The only file with warnings, standards and the naming of targets.

# spillway_unite(lms_unit): replaces the .cc files of a list by files that each
# include SPILLWAY_UNITY of them (lms_unit_0.cc and so on): headers, which take
# most of the compile time, are then read once per unit. Paths are relative, so
# that a compiler cache finds a unit in another checkout too. Generated files
# stay as they are.
function(spillway_unite list)
  if(NOT SPILLWAY_UNITY OR SPILLWAY_UNITY LESS 2)
    return()
  endif()
  set(parts)
  set(others)
  foreach(source ${${list}})
    cmake_path(IS_PREFIX PROJECT_BINARY_DIR "${source}" generated)
    if(source MATCHES "\\.cc$" AND NOT generated)
      list(APPEND parts ${source})
    else()
      list(APPEND others ${source})
    endif()
  endforeach()
  set(units)
  set(text)
  set(in_unit 0)
  if(parts)
    list(GET parts -1 last)
  endif()
  foreach(part ${parts})
    get_filename_component(path ${part} ABSOLUTE)
    file(RELATIVE_PATH path ${CMAKE_CURRENT_BINARY_DIR} ${path})
    string(APPEND text "#include \"${path}\"\n")
    math(EXPR in_unit "${in_unit} + 1")
    if(in_unit EQUAL SPILLWAY_UNITY OR part STREQUAL last)
      list(LENGTH units number)
      set(unit ${CMAKE_CURRENT_BINARY_DIR}/${list}_${number}.cc)
      file(CONFIGURE OUTPUT ${unit} CONTENT "${text}" @ONLY)
      list(APPEND units ${unit})
      set(text)
      set(in_unit 0)
    endif()
  endforeach()
  set(${list} ${units} ${others} PARENT_SCOPE)
endfunction()

# spillway_library(graph SOURCES graph.cc ... DEPENDS spillway::base): one per
# folder; installed and exported as spillway::graph, unless NOT_INSTALLED.
function(spillway_library name)
  cmake_parse_arguments(ARG "NOT_INSTALLED" "" "SOURCES;DEPENDS;PRIVATE_DEPENDS" ${ARGN})
  set(${name}_unit ${ARG_SOURCES})
  spillway_unite(${name}_unit)
  add_library(spillway_${name} STATIC ${${name}_unit})
  add_library(spillway::${name} ALIAS spillway_${name})
  set_target_properties(spillway_${name} PROPERTIES EXPORT_NAME ${name})
  target_include_directories(spillway_${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(spillway_${name}
    PUBLIC ${ARG_DEPENDS} PRIVATE ${ARG_PRIVATE_DEPENDS})
  spillway_compile_options(spillway_${name})
  if(ARG_NOT_INSTALLED)
    return()
  endif()
  install(TARGETS spillway_${name} EXPORT spillway)
  set_property(GLOBAL APPEND PROPERTY spillway_libraries spillway_${name})
endfunction()

# spillway_optimise(ops -O3): instead of the -O2 of the release build.
function(spillway_optimise name level)
  target_compile_options(spillway_${name} PRIVATE
    $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:${level}>)
endfunction()

# spillway_program(spillway SOURCES main.cc DEPENDS ...): is built in bin/.
function(spillway_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS})
  set_target_properties(${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
  spillway_compile_options(${name})
endfunction()

# Tests spend their time in the libraries, so they are hardly optimised. (At
# -O1, GCC 12 reports a growing std::string as an overflow.)
function(spillway_test_options target)
  spillway_compile_options(${target})
  target_compile_options(${target} PRIVATE
    "$<$<CONFIG:Release>:-O1;-Wno-array-bounds;-Wno-stringop-overflow>" $<$<CONFIG:Debug>:-O0>)
endfunction()

# spillway_is_tested(result tsan slow): whether this build has a test. With
# ThreadSanitizer, tests marked TSAN; with other sanitizers, tests not marked
# SLOW.
function(spillway_is_tested result tsan slow)
  set(tested TRUE)
  if(SPILLWAY_SANITIZE MATCHES "thread")
    set(tested ${tsan})
  elseif(SPILLWAY_SANITIZE AND slow)
    set(tested FALSE)
  endif()
  set(${result} ${tested} PARENT_SCOPE)
endfunction()

# Names a CTest; slow ones start first, so that the end does not wait for one.
function(spillway_add_ctest path slow)
  add_test(NAME ${path} COMMAND ${ARGN})
  set_tests_properties(${path} PROPERTIES TIMEOUT 900)
  if(slow)
    set_tests_properties(${path} PROPERTIES COST 1000)
  endif()
endfunction()

# All programs of tests, which need not all of the libraries.
add_custom_target(test_programs)

# spillway_tests(lms TESTS v1/twin ... DEPENDS spillway::lms) builds one program,
# lms_tests, of tests/lms/v1/twin_test.cc and the others, and names a CTest for
# each file: lms/v1/twin is `lms_tests --file=tests/lms/v1/twin_test.cc`. Tests
# that TSAN and SLOW name as well: see spillway_is_tested. SOURCES are files
# that all tests share.
function(spillway_tests folder)
  cmake_parse_arguments(ARG "" "" "TESTS;TSAN;SLOW;SOURCES;DEPENDS" ${ARGN})
  foreach(name ${ARG_TSAN} ${ARG_SLOW})
    if(NOT name IN_LIST ARG_TESTS)
      message(FATAL_ERROR "'${name}' of TSAN or SLOW is not among TESTS of ${folder}")
    endif()
  endforeach()
  set(target ${folder}_tests)
  set(tests_unit)
  foreach(name ${ARG_TESTS})
    set(tsan FALSE)
    set(slow FALSE)
    if(name IN_LIST ARG_TSAN)
      set(tsan TRUE)
    endif()
    if(name IN_LIST ARG_SLOW)
      set(slow TRUE)
    endif()
    spillway_is_tested(tested ${tsan} ${slow})
    if(tested)
      list(APPEND tests_unit ${CMAKE_CURRENT_SOURCE_DIR}/${name}_test.cc)
      spillway_add_ctest(${folder}/${name} ${slow}
        ${target} --file=tests/${folder}/${name}_test.cc)
    endif()
  endforeach()
  if(NOT tests_unit)
    return()
  endif()
  list(APPEND tests_unit ${ARG_SOURCES})
  spillway_unite(tests_unit)
  add_executable(${target} ${tests_unit})
  target_link_libraries(${target} PRIVATE ${ARG_DEPENDS} test_main)
  spillway_test_options(${target})
  add_dependencies(test_programs ${target})
endfunction()

# spillway_test(executor/session_allocations [TSAN] [SLOW] DEPENDS ...): a test
# that has to be a separate program, executor_session_allocations_test.
function(spillway_test path)
  cmake_parse_arguments(ARG "TSAN;SLOW" "" "SOURCES;DEPENDS" ${ARGN})
  spillway_is_tested(tested ${ARG_TSAN} ${ARG_SLOW})
  if(NOT tested)
    return()
  endif()
  string(REPLACE "/" "_" target ${path}_test)
  set(${target}_unit ${PROJECT_SOURCE_DIR}/tests/${path}_test.cc ${ARG_SOURCES})
  spillway_unite(${target}_unit)
  add_executable(${target} ${${target}_unit})
  target_link_libraries(${target} PRIVATE ${ARG_DEPENDS} test_main)
  spillway_test_options(${target})
  add_dependencies(test_programs ${target})
  spillway_add_ctest(${path} ${ARG_SLOW} ${target})
endfunction()

# spillway_test_library(test_graphs [TWINS] SOURCES ... DEPENDS ...): code that
# several tests share, compiled once, if a test needs it. TWINS: it contains
# naive twins that take most of a test's time, so it is optimised with a
# sanitizer, too; compiling then takes three times as long.
function(spillway_test_library name)
  cmake_parse_arguments(ARG "TWINS" "" "SOURCES;DEPENDS" ${ARGN})
  set(${name}_unit ${ARG_SOURCES})
  spillway_unite(${name}_unit)
  add_library(${name} STATIC EXCLUDE_FROM_ALL ${${name}_unit})
  target_link_libraries(${name} PUBLIC ${ARG_DEPENDS} GTest::gmock)
  spillway_test_options(${name})
  if(ARG_TWINS)
    target_compile_options(${name} PRIVATE $<$<CONFIG:Debug>:-O1>)
  endif()
endfunction()

function(spillway_compile_options target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_compile_options(${target} PRIVATE
    $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Werror>)
endfunction()
