# frazil_fetch(VARIABLE NAME): the folder of a pinned dependency (dependencies/pins.toml), downloaded when needed.

find_package(Python3 3.11 REQUIRED COMPONENTS Interpreter)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
  ${CMAKE_SOURCE_DIR}/dependencies/pins.toml ${CMAKE_SOURCE_DIR}/dependencies/fetch)

function(frazil_fetch VARIABLE NAME)
  execute_process(COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/dependencies/fetch ${NAME}
    OUTPUT_VARIABLE _folder OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  set(${VARIABLE} ${_folder} PARENT_SCOPE)
endfunction()
