# Includes go downwards only. Reads every #include "..." of the layer folders
# under ROOT and fails with a list of those that go upwards or sideways, and of
# those by which an installed header needs one that is not installed.
# Run as: cmake -DROOT=<repository> -P check_layers.cmake
cmake_minimum_required(VERSION 3.25)

# A box is a folder, or a part of executor/ (lowest first: memory, plan, device,
# then executor/*.h). May_include lists the boxes below it; a box may include
# itself. tests/, benchmarks/, tools/ and examples/ may include everything.
set(inside_executor executor/memory executor/plan executor/kernel.h
    executor/device executor)
set(base_may_include)
set(graph_may_include base)
set(comm_may_include base graph)
set(lms_may_include base graph)
set(executor/memory_may_include base graph)
set(executor/plan_may_include base graph executor/memory)
set(executor/kernel.h_may_include base comm graph executor/plan)
set(executor/device_may_include base graph executor/memory executor/plan
    executor/kernel.h)
set(executor_may_include base comm graph ${inside_executor})
set(ops_may_include base comm graph ${inside_executor})
set(simulator_may_include base graph lms executor/memory executor/plan)
set(models_may_include base graph)
set(training_may_include base comm graph ${inside_executor})
set(tuner_may_include base comm graph lms ${inside_executor} ops simulator)
set(onnx_model_may_include base graph ${inside_executor} models training)
set(layers base graph comm lms executor ops simulator models training tuner onnx_model)
set(programs tests benchmarks tools examples)

# The box of a path, or "" for a header of another project.
function(find_box path box)
  set(${box} "" PARENT_SCOPE)
  foreach(candidate IN LISTS inside_executor layers programs)
    if(path MATCHES "^${candidate}(/|$)")
      set(${box} ${candidate} PARENT_SCOPE)
      return()
    endif()
  endforeach()
endfunction()

# Headers that stay behind when the others are installed (cmake/package.cmake).
set(private_header "(_cpu\\.h|\\.cuh)$|^ops/gpu/|^onnx_model/(convert|file|fold|layout|op_family)/")

set(upward)
set(private)
set(include_count 0)
foreach(layer IN LISTS layers)
  file(GLOB_RECURSE files RELATIVE ${ROOT}
       ${ROOT}/${layer}/*.h ${ROOT}/${layer}/*.cc ${ROOT}/${layer}/*.cu
       ${ROOT}/${layer}/*.cuh)
  foreach(file IN LISTS files)
    find_box(${file} from)
    file(STRINGS ${ROOT}/${file} lines REGEX "^[ \t]*#[ \t]*include[ \t]*\"")
    foreach(line IN LISTS lines)
      string(REGEX REPLACE "^[^\"]*\"([^\"]*)\".*$" "\\1" included "${line}")
      math(EXPR include_count "${include_count} + 1")
      find_box(${included} to)
      if(NOT included MATCHES "/")
        string(APPEND upward
          "  ${file}: \"${included}\": write the path from the top folder\n")
      elseif(to AND NOT to IN_LIST ${from}_may_include AND NOT to STREQUAL from)
        string(APPEND upward "  ${file} (${from}) includes ${included} (${to})\n")
      endif()
      if(file MATCHES "\\.h$" AND NOT file MATCHES "${private_header}"
         AND included MATCHES "${private_header}")
        string(APPEND private "  ${file} includes ${included}\n")
      endif()
    endforeach()
  endforeach()
endforeach()

if(include_count EQUAL 0)
  message(FATAL_ERROR "no include found under ${ROOT}")
elseif(upward)
  message(FATAL_ERROR "includes must go downwards (docs/style.md):\n${upward}")
elseif(private)
  message(FATAL_ERROR "installed headers need private ones:\n${private}")
endif()
message(STATUS "${include_count} includes, all downwards, none of an installed header private")
