# The Python package (python/). Sets SPILLWAY_WITH_PYTHON, and
# SPILLWAY_PYTHON_FOUND for the summary. SPILLWAY_PYTHON_PACKAGE is AUTO (if pybind11 is
# found), ON (it must be found) or OFF. Not with sanitizers, whose libraries the
# interpreter would have to load first.
set(SPILLWAY_WITH_PYTHON OFF)
set(SPILLWAY_PYTHON_FOUND "none (pybind11-dev and python3-dev have what it needs)")
if(NOT SPILLWAY_PYTHON_PACKAGE MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "SPILLWAY_PYTHON_PACKAGE is '${SPILLWAY_PYTHON_PACKAGE}', not AUTO, ON or OFF")
endif()
if(SPILLWAY_PYTHON_PACKAGE STREQUAL "OFF" OR SPILLWAY_SANITIZE)
  set(SPILLWAY_PYTHON_FOUND "off")
else()
  # A build of pip's (SKBUILD) names the interpreter of its environment.
  if(NOT DEFINED SKBUILD AND NOT DEFINED Python_EXECUTABLE AND EXISTS /usr/bin/python3)
    set(Python_EXECUTABLE /usr/bin/python3)
  endif()
  set(PYBIND11_FINDPYTHON ON)
  find_package(Python 3.9 QUIET COMPONENTS Interpreter Development.Module)
  find_package(pybind11 2.10 QUIET CONFIG)
  if(Python_FOUND AND pybind11_FOUND)
    set(SPILLWAY_WITH_PYTHON ON)
    set(SPILLWAY_PYTHON_FOUND "Python ${Python_VERSION}, pybind11 ${pybind11_VERSION}")
  elseif(SPILLWAY_PYTHON_PACKAGE STREQUAL "ON")
    message(FATAL_ERROR "SPILLWAY_PYTHON_PACKAGE is ON, but pybind11 was not found: "
            "install pybind11-dev and python3-dev")
  endif()
endif()
