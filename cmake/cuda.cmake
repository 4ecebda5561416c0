# Decides whether to build the CUDA backend, by SPILLWAY_CUDA:
#   AUTO     if there are a GPU and the toolkit: its kernels take minutes
#   TOOLKIT  if there is the toolkit
#   ON       yes; CMake fails if it cannot be built
#   OFF      no
# Sets SPILLWAY_WITH_CUDA, SPILLWAY_WITH_NCCL and, in words,
# SPILLWAY_CUDA_FOUND; enables the language CUDA. SPILLWAY_CUDA_LIBRARY is the library that programs which use a
# GPU link: spillway::cuda, or empty.
set(SPILLWAY_WITH_CUDA OFF)
set(SPILLWAY_CUDA_LIBRARY)
set(SPILLWAY_CUDA_ARCHITECTURES "80;86;89;90" CACHE STRING
    "GPU architectures to compile for, as in CMAKE_CUDA_ARCHITECTURES")

# "9.19.0" from the three numbers that a header defines; "" if it does not
# exist.
function(read_version result folder header)
  set(version)
  if(EXISTS "${folder}/${header}")
    file(STRINGS "${folder}/${header}" lines REGEX "#define")
    foreach(name ${ARGN})
      if(lines MATCHES "#define ${name} +([0-9]+)")
        list(APPEND version ${CMAKE_MATCH_1})
      endif()
    endforeach()
    list(JOIN version . version)
  endif()
  set(${result} "${version}" PARENT_SCOPE)
endfunction()

# The versions of NVIDIA's libraries whose headers exist, in words. NCCL is for
# ranks with a GPU each, and optional.
function(describe_libraries result)
  find_path(SPILLWAY_CUBLAS_INCLUDE_DIR cublas_api.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
  find_path(SPILLWAY_NCCL_INCLUDE_DIR nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
  mark_as_advanced(SPILLWAY_CUBLAS_INCLUDE_DIR SPILLWAY_NCCL_INCLUDE_DIR)
  read_version(cudnn "${SPILLWAY_CUDNN_INCLUDE_DIR}" cudnn_version.h
    CUDNN_MAJOR CUDNN_MINOR CUDNN_PATCHLEVEL)
  read_version(cublas "${SPILLWAY_CUBLAS_INCLUDE_DIR}" cublas_api.h
    CUBLAS_VER_MAJOR CUBLAS_VER_MINOR CUBLAS_VER_PATCH)
  read_version(nccl "${SPILLWAY_NCCL_INCLUDE_DIR}" nccl.h
    NCCL_MAJOR NCCL_MINOR NCCL_PATCH)
  set(words "cuDNN ${cudnn}, cuBLASLt ${cublas}")
  if(nccl)
    string(APPEND words ", NCCL ${nccl}")
  else()
    string(APPEND words ", no NCCL (ranks exchange gradients through the host)")
  endif()
  set(${result} "${words}" PARENT_SCOPE)
endfunction()

function(find_cuda)
  if(SPILLWAY_CUDA STREQUAL "OFF")
    set(SPILLWAY_CUDA_FOUND "off, as asked for" PARENT_SCOPE)
    return()
  endif()
  if(NOT SPILLWAY_CUDA MATCHES "^(AUTO|TOOLKIT|ON)$")
    message(FATAL_ERROR
      "SPILLWAY_CUDA is '${SPILLWAY_CUDA}'; it must be AUTO, TOOLKIT, ON or OFF")
  endif()
  file(GLOB gpus /dev/nvidia[0-9]*)
  if(SPILLWAY_SANITIZE)
    # The driver and its libraries map memory where sanitizers keep their own.
    set(missing "none with sanitizers")
  elseif(SPILLWAY_CUDA STREQUAL "AUTO" AND NOT gpus)
    set(missing "none, no GPU here (-DSPILLWAY_CUDA=TOOLKIT builds it without one)")
  else()
    find_package(CUDAToolkit QUIET)
    if(NOT CUDAToolkit_FOUND)
      set(missing "none, no CUDA toolkit found")
    elseif(CUDAToolkit_VERSION VERSION_LESS 12)
      set(missing "none, the CUDA toolkit found is ${CUDAToolkit_VERSION}, but 12 is needed")
    elseif(NOT EXISTS "${CUDAToolkit_NVCC_EXECUTABLE}")
      set(missing "none, the CUDA toolkit found has no nvcc")
    else()
      find_path(SPILLWAY_CUDNN_INCLUDE_DIR cudnn.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
      if(NOT SPILLWAY_CUDNN_INCLUDE_DIR)
        set(missing "none, no headers of cuDNN found")
      endif()
    endif()
  endif()
  if(missing)
    if(SPILLWAY_CUDA STREQUAL "ON")
      message(FATAL_ERROR "SPILLWAY_CUDA is ON, but the CUDA backend cannot be built: ${missing}")
    endif()
    set(SPILLWAY_CUDA_FOUND "${missing}" PARENT_SCOPE)
    return()
  endif()
  set(SPILLWAY_WITH_CUDA ON PARENT_SCOPE)
  describe_libraries(libraries)
  set(SPILLWAY_CUDA_FOUND
      "toolkit ${CUDAToolkit_VERSION}, ${libraries}, for sm_${SPILLWAY_CUDA_ARCHITECTURES}"
      PARENT_SCOPE)
  set(SPILLWAY_CUDA_COMPILER ${CUDAToolkit_NVCC_EXECUTABLE} PARENT_SCOPE)
endfunction()

find_cuda()
set(SPILLWAY_WITH_NCCL OFF)
if(SPILLWAY_WITH_CUDA)
  if(SPILLWAY_NCCL_INCLUDE_DIR)
    set(SPILLWAY_WITH_NCCL ON)
  endif()
  set(SPILLWAY_CUDA_LIBRARY spillway::cuda)
  string(REPLACE ";" ", " SPILLWAY_CUDA_FOUND "${SPILLWAY_CUDA_FOUND}")
  find_package(CUDAToolkit QUIET)  # its targets, for this folder
  if(NOT CMAKE_CUDA_COMPILER)
    set(CMAKE_CUDA_COMPILER ${SPILLWAY_CUDA_COMPILER})
  endif()
  set(CMAKE_CUDA_ARCHITECTURES ${SPILLWAY_CUDA_ARCHITECTURES})
  set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
  enable_language(CUDA)
  # CMake 3.25 does not know that nvcc 12 supports C++20.
  string(APPEND CMAKE_CUDA_FLAGS " -std=c++20")
endif()
