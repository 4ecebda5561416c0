# Defines the installed headers, and how an installed tree writes an include of
# one.
#
# Public is every header of the library folders, except those below a private
# folder. In the repository they include each other as "graph/graph.h". An
# installed header includes "spillway/graph/graph.h", so that only include/ is
# on a user's path and a user's own graph/graph.h is never mistaken for ours.

set(spillway_public_folders
    base graph comm lms executor ops simulator tuner models training onnx_model)
# The internals of kernels and devices; they may need headers of other libraries
# (oneDNN, CUDA) that a user does not have.
set(spillway_private_folders
    executor/device/cpu executor/device/cuda executor/device/inline
    ops/cpu ops/gpu
    onnx_model/convert onnx_model/file onnx_model/fold onnx_model/layout
    onnx_model/op_family)
# The umbrella header: installed as spillway/spillway.h.
set(spillway_umbrella_header cmake/spillway.h)

# The public headers below `source`, relative to it and sorted, without the
# umbrella header.
function(list_public_headers source result)
  list(TRANSFORM spillway_public_folders REPLACE "^(.+)$" "${source}/\\1/*.h"
       OUTPUT_VARIABLE patterns)
  file(GLOB_RECURSE headers RELATIVE ${source} ${patterns})
  foreach(folder IN LISTS spillway_private_folders)
    list(FILTER headers EXCLUDE REGEX "^${folder}/")
  endforeach()
  list(SORT headers)
  set(${result} ${headers} PARENT_SCOPE)
endfunction()

# The text of `header` with its includes of public headers below "spillway/".
# Fails if it includes a header of this repository that is not public.
function(rewrite_includes source header public_headers result)
  file(READ ${source}/${header} text)
  string(REGEX MATCHALL "#[ \t]*include[ \t]*\"[^\"\n]*\"" includes "${text}")
  list(REMOVE_DUPLICATES includes)
  foreach(include IN LISTS includes)
    string(REGEX REPLACE "^[^\"]*\"(.*)\"$" "\\1" path "${include}")
    if(path IN_LIST public_headers)
      string(REPLACE "\"${path}\"" "\"spillway/${path}\"" rewritten "${include}")
      string(REPLACE "${include}" "${rewritten}" text "${text}")
    elseif(EXISTS ${source}/${path})
      message(FATAL_ERROR
        "${header} is installed but includes \"${path}\", which is not: "
        "see cmake/public_headers.cmake")
    endif()
  endforeach()
  set(${result} "${text}" PARENT_SCOPE)
endfunction()

# Empties `destination`, then writes the public headers of `source` and the
# umbrella header there.
function(write_public_headers source destination)
  list_public_headers(${source} headers)
  file(REMOVE_RECURSE ${destination})
  foreach(header IN LISTS headers)
    rewrite_includes(${source} ${header} "${headers}" text)
    file(WRITE ${destination}/${header} "${text}")
  endforeach()
  rewrite_includes(${source} ${spillway_umbrella_header} "${headers}" text)
  file(WRITE ${destination}/spillway.h "${text}")
endfunction()
