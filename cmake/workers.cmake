# The libraries of the communication backends: Gloo and MPI. Sets
# SPILLWAY_WITH_GLOO, SPILLWAY_WITH_MPI, and SPILLWAY_WORKERS for the summary.
# Each option is AUTO (if it is found), ON (must be found) or OFF.

# spillway_find_backend(GLOO Gloo libgloo-dev CONFIG): sets SPILLWAY_WITH_GLOO
# if find_package(Gloo CONFIG) finds it. (A target is no sign: CMake makes
# MPI::MPI_CXX also where there is no MPI.)
macro(spillway_find_backend option package debian_package)
  set(SPILLWAY_WITH_${option} OFF)
  if(NOT SPILLWAY_${option} MATCHES "^(AUTO|ON|OFF)$")
    message(FATAL_ERROR "SPILLWAY_${option} is '${SPILLWAY_${option}}', not AUTO, ON or OFF")
  endif()
  if(NOT SPILLWAY_${option} STREQUAL "OFF")
    find_package(${package} QUIET ${ARGN})
    if(${package}_FOUND)
      set(SPILLWAY_WITH_${option} ON)
    elseif(SPILLWAY_${option} STREQUAL "ON")
      message(FATAL_ERROR "SPILLWAY_${option} is ON, but ${package} was not found: "
              "install ${debian_package}")
    endif()
  endif()
endmacro()

spillway_find_backend(GLOO Gloo libgloo-dev CONFIG)

# Open MPI keeps memory that it does not free at its end, by intent, and is not
# compiled with a sanitizer, so a sanitizer would report MPI itself only.
if(SPILLWAY_MPI STREQUAL "AUTO" AND SPILLWAY_SANITIZE)
  set(SPILLWAY_MPI OFF)
endif()
set(MPI_CXX_SKIP_MPICXX ON)  # the removed C++ interface, a library of its own
spillway_find_backend(MPI MPI libopenmpi-dev COMPONENTS CXX)

set(SPILLWAY_WORKERS thread)
if(SPILLWAY_WITH_GLOO)
  string(APPEND SPILLWAY_WORKERS ", gloo")
endif()
if(SPILLWAY_WITH_MPI)
  string(APPEND SPILLWAY_WORKERS ", mpi")
endif()
