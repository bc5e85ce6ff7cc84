# Headers for one source file, from the pinned source distribution: frazil_use_datasketches(SOURCE).

include(fetch)
frazil_fetch(FRAZIL_DATASKETCHES_DIR datasketches)

function(frazil_use_datasketches SOURCE)
  set_property(SOURCE ${SOURCE} APPEND PROPERTY COMPILE_OPTIONS -isystem ${FRAZIL_DATASKETCHES_DIR}/include)
endfunction()
