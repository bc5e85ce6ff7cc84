# `cmake --install`: the program, and beside it in lib/frazil the libraries that no Debian package gives.

if(TARGET frazil)
  include(GNUInstallDirs)
  set_target_properties(frazil PROPERTIES INSTALL_RPATH "$ORIGIN/../lib/frazil")
  install(TARGETS frazil RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(PROGRAMS ${FRAZIL_BUNDLED_LIBRARIES} DESTINATION lib/frazil)
  install(FILES LICENSE NOTICE DESTINATION share/doc/frazil)
endif()
