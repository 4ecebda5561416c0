# Run as: cmake -DSOURCE=<repository> -DDESTINATION=<folder>
#               -P write_public_headers.cmake
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/public_headers.cmake)
write_public_headers(${SOURCE} ${DESTINATION})
