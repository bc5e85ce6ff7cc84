# Libraries from the system (dependencies/apt.txt names their Debian packages). Debian ships CMake files for most of
# them; the others are found through pkg-config.

find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(tl-expected REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(ZLIB REQUIRED)
find_package(Snappy REQUIRED)
find_package(roaring REQUIRED)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(zstd REQUIRED IMPORTED_TARGET libzstd)
if(NOT FRAZIL_FUZZ)
  find_package(GTest REQUIRED)
  find_package(SQLite3 REQUIRED)
  find_package(simdjson REQUIRED)
  # libparquet exports the symbols of another simdjson that it contains, and the library named first on a program's link
  # line wins for the whole process: called with our headers, that other one crashes. Every program links this. An option,
  # not a library: options stand before all libraries, whose order CMake works out from what depends on what.
  add_library(frazil_simdjson_first INTERFACE)
  target_link_options(frazil_simdjson_first INTERFACE
    "LINKER:--push-state,--no-as-needed,$<TARGET_FILE:simdjson::simdjson>,--pop-state")
  find_package(pegtl REQUIRED)
  find_package(CLI11 REQUIRED)
  find_package(yaml-cpp REQUIRED)
  pkg_check_modules(libedit REQUIRED IMPORTED_TARGET libedit)
  find_package(CURL REQUIRED)
  pkg_check_modules(httplib REQUIRED IMPORTED_TARGET cpp-httplib)
  find_package(prometheus-cpp CONFIG REQUIRED COMPONENTS core)
  find_package(benchmark)
endif()
