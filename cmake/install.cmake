# What `make install` puts where: program, libraries, header, pkg-config and CMake files, man page, completion.
include(CMakePackageConfigHelpers)
add_custom_command(OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/plimsoll.1
  COMMAND plimsoll help --man > ${CMAKE_CURRENT_BINARY_DIR}/plimsoll.1 DEPENDS plimsoll VERBATIM)
add_custom_command(OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/plimsoll.bash
  COMMAND plimsoll help --completion > ${CMAKE_CURRENT_BINARY_DIR}/plimsoll.bash DEPENDS plimsoll VERBATIM)
add_custom_target(plim_manual ALL DEPENDS ${CMAKE_CURRENT_BINARY_DIR}/plimsoll.1 ${CMAKE_CURRENT_BINARY_DIR}/plimsoll.bash)

configure_file(cmake/plimsoll.pc.in plimsoll.pc @ONLY)
configure_package_config_file(cmake/plimsollConfig.cmake.in plimsollConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/plimsoll
  PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(plimsollConfigVersion.cmake COMPATIBILITY SameMinorVersion) # as long as it is 0.x

install(TARGETS plimsoll RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS plimsoll_static plimsoll_shared
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/plimsoll DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/plimsoll.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/plimsollConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/plimsollConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/plimsoll)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/plimsoll.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/plimsoll.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
  RENAME plimsoll)
