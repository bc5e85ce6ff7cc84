# Generates frazil/base/version.h from the file VERSION and the git commit.
#
# The commit is taken when configuring; with FRAZIL_STAMP_COMMIT also by the first build after each commit.

set(FRAZIL_GENERATED_DIR ${CMAKE_BINARY_DIR}/generated)
set(_stamp ${CMAKE_COMMAND}
  -D SOURCE_DIR=${CMAKE_SOURCE_DIR} -D FRAZIL_VERSION=${FRAZIL_VERSION}
  -D OUTPUT=${FRAZIL_GENERATED_DIR}/frazil/base/version.h
  -P ${CMAKE_CURRENT_LIST_DIR}/stamp_version.cmake)

execute_process(COMMAND ${_stamp} COMMAND_ERROR_IS_FATAL ANY)
set(_log)
if(FRAZIL_STAMP_COMMIT)
  # This file of git's grows with every commit and checkout.
  execute_process(COMMAND git -C ${CMAKE_SOURCE_DIR} rev-parse --path-format=absolute --git-path logs/HEAD
    OUTPUT_VARIABLE _log OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(_log AND EXISTS ${_log})
  add_custom_command(OUTPUT ${FRAZIL_GENERATED_DIR}/version.stamp
    COMMAND ${_stamp}
    COMMAND ${CMAKE_COMMAND} -E touch ${FRAZIL_GENERATED_DIR}/version.stamp
    BYPRODUCTS ${FRAZIL_GENERATED_DIR}/frazil/base/version.h
    DEPENDS ${_log} ${CMAKE_SOURCE_DIR}/src/frazil/base/version.h.in ${CMAKE_SOURCE_DIR}/VERSION
    COMMENT "" VERBATIM)
  add_custom_target(frazil_version DEPENDS ${FRAZIL_GENERATED_DIR}/version.stamp)
else()
  add_custom_target(frazil_version)
endif()
