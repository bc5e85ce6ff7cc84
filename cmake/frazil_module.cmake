# frazil_module(NAME [FOLDER folder] [ONLY regex] [EXCEPT regex] [DEPS modules...] [THIRD_PARTY targets...])
#
# One module of the house: static library frazil_NAME from the sources in src/frazil/<folder> (default: NAME), and the
# unit-test program frazil_NAME_test from the *_test.cc and *_test_support.cc beside them. A module can include only what
# its DEPS give, so the link line enforces the levels. ONLY and EXCEPT choose files by their path within the folder.
# A module without sources yet is an empty stand-in that passes its dependencies on. x_lives_test.cc, thousands of random
# lives of one thing, is a program of its own.
#
# frazil_test(NAME SOURCES files... [LINK targets...] [TIMEOUT seconds] [FEWER_CHECKS]): a GoogleTest program, each of its
# cases a ctest. FEWER_CHECKS: the sanitizer looks neither for leaks nor for uses of a stack frame after its end, and reports one
# frame of where memory came from; all of that takes more than half of the time.

include(GoogleTest)

function(frazil_test NAME)
  cmake_parse_arguments(arg "FEWER_CHECKS" "TIMEOUT" "SOURCES;LINK" ${ARGN})
  set(_asan_checks "detect_stack_use_after_return=1")
  if(arg_FEWER_CHECKS)
    set(_asan_checks "detect_stack_use_after_return=0:detect_leaks=0:malloc_context_size=1")
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  add_executable(${NAME} ${arg_SOURCES})
  target_link_libraries(${NAME} PRIVATE frazil_simdjson_first ${arg_LINK} frazil_warnings GTest::gmock_main)
  set_property(GLOBAL APPEND PROPERTY FRAZIL_TEST_PROGRAMS ${NAME})
  # The system pool lets the address sanitizer see overflows of Arrow's buffers.
  set(_environment ARROW_DEFAULT_MEMORY_POOL=system
    "ASAN_OPTIONS=${_asan_checks}:strict_string_checks=1:allocator_may_return_null=1"
    "LSAN_OPTIONS=suppressions=${CMAKE_SOURCE_DIR}/tests/support/leaks.supp:print_suppressions=0"
    "UBSAN_OPTIONS=print_stacktrace=1"
    "TSAN_OPTIONS=ignore_noninstrumented_modules=1:halt_on_error=1")
  gtest_discover_tests(${NAME} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
    TEST_PREFIX ${NAME}. PROPERTIES TIMEOUT ${arg_TIMEOUT} ENVIRONMENT "${_environment}")
endfunction()

function(frazil_module NAME)
  cmake_parse_arguments(arg "" "FOLDER;ONLY;EXCEPT" "DEPS;THIRD_PARTY" ${ARGN})
  if(NOT arg_FOLDER)
    set(arg_FOLDER ${NAME})
  endif()
  set(_root ${CMAKE_SOURCE_DIR}/src/frazil/${arg_FOLDER})
  file(GLOB_RECURSE _files RELATIVE ${_root} CONFIGURE_DEPENDS ${_root}/*.cc)
  if(arg_ONLY)
    list(FILTER _files INCLUDE REGEX "${arg_ONLY}")
  endif()
  if(arg_EXCEPT)
    list(FILTER _files EXCLUDE REGEX "${arg_EXCEPT}")
  endif()
  set(_sources ${_files})
  list(FILTER _sources EXCLUDE REGEX "_(test|test_support|fuzz|bench)\\.cc$")
  list(FILTER _sources EXCLUDE REGEX "(^|/)main\\.cc$")
  set(_tests ${_files})
  list(FILTER _tests INCLUDE REGEX "_(test|test_support)\\.cc$")
  set(_lives ${_tests})
  list(FILTER _tests EXCLUDE REGEX "_lives_test\\.cc$")
  list(FILTER _lives INCLUDE REGEX "_lives_test\\.cc$")
  set(_fuzzers ${_files})
  list(FILTER _fuzzers INCLUDE REGEX "_fuzz\\.cc$")
  list(TRANSFORM _sources PREPEND ${_root}/)
  list(TRANSFORM _tests PREPEND ${_root}/)
  list(TRANSFORM arg_DEPS PREPEND frazil_)

  if(_sources)
    add_library(frazil_${NAME} STATIC ${_sources})
    target_include_directories(frazil_${NAME} PUBLIC ${CMAKE_SOURCE_DIR}/src ${FRAZIL_GENERATED_DIR})
    target_link_libraries(frazil_${NAME} PUBLIC ${arg_DEPS} ${arg_THIRD_PARTY} PRIVATE frazil_warnings)
    add_dependencies(frazil_${NAME} frazil_version)
  else()
    add_library(frazil_${NAME} INTERFACE)
    target_include_directories(frazil_${NAME} INTERFACE ${CMAKE_SOURCE_DIR}/src ${FRAZIL_GENERATED_DIR})
    target_link_libraries(frazil_${NAME} INTERFACE ${arg_DEPS} ${arg_THIRD_PARTY})
  endif()

  if(FRAZIL_FUZZ)
    foreach(_file IN LISTS _fuzzers)
      cmake_path(GET _file STEM _fuzzer)
      add_executable(${_fuzzer} ${_root}/${_file})
      set_property(GLOBAL APPEND PROPERTY FRAZIL_FUZZ_TARGETS ${_fuzzer})
      target_link_libraries(${_fuzzer} PRIVATE frazil_${NAME} frazil_warnings)
      target_link_options(${_fuzzer} PRIVATE -fsanitize=fuzzer)
      set_target_properties(${_fuzzer} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzzers)
    endforeach()
  elseif(_tests)
    frazil_test(frazil_${NAME}_test SOURCES ${_tests} LINK frazil_${NAME})
    foreach(_file IN LISTS _lives)
      cmake_path(GET _file STEM _name)
      frazil_test(frazil_${_name} SOURCES ${_root}/${_file} LINK frazil_${NAME} TIMEOUT 600 FEWER_CHECKS)
    endforeach()
  endif()
endfunction()
