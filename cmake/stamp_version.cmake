# Script mode: writes OUTPUT from src/frazil/base/version.h.in, touching it only when something changed.

set(FRAZIL_COMMIT "unknown")
find_program(GIT git)
if(GIT AND EXISTS ${SOURCE_DIR}/.git)
  execute_process(COMMAND ${GIT} -C ${SOURCE_DIR} rev-parse --short=12 HEAD
    OUTPUT_VARIABLE _commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE _failed)
  if(NOT _failed)
    set(FRAZIL_COMMIT ${_commit})
  endif()
endif()
configure_file(${SOURCE_DIR}/src/frazil/base/version.h.in ${OUTPUT} @ONLY)
