# Generates frazil/base/version.h from the file VERSION and the git commit.
#
# The commit is taken when configuring, and with FRAZIL_STAMP_COMMIT also at the start of every build.

set(FRAZIL_GENERATED_DIR ${CMAKE_BINARY_DIR}/generated)
set(_stamp ${CMAKE_COMMAND}
  -D SOURCE_DIR=${CMAKE_SOURCE_DIR} -D FRAZIL_VERSION=${FRAZIL_VERSION}
  -D OUTPUT=${FRAZIL_GENERATED_DIR}/frazil/base/version.h
  -P ${CMAKE_CURRENT_LIST_DIR}/stamp_version.cmake)

execute_process(COMMAND ${_stamp} COMMAND_ERROR_IS_FATAL ANY)
if(FRAZIL_STAMP_COMMIT)
  add_custom_target(frazil_version COMMAND ${_stamp} BYPRODUCTS ${FRAZIL_GENERATED_DIR}/frazil/base/version.h
    COMMENT "" VERBATIM)
else()
  add_custom_target(frazil_version)
endif()
